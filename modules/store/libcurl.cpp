#include "libcurl.h"

#include <dlfcn.h>

#include <type_traits>

#include "failure.h"

namespace cleave::store {
namespace {

// Debian's variant with GnuTLS has the same interface, and is often there when the other one is not: git needs it.
void* load_library() {
    for (const char* const name : {"libcurl.so.4", "libcurl-gnutls.so.4"}) {
        if (void* const library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)) return library;
    }
    throw Failure(
        CLEAVE_STORE_FAILED,
        "libcurl.so.4 cannot be loaded: install the package libcurl4 of Debian or Ubuntu, or libcurl of Fedora");
}

Libcurl load() {
    void* const library = load_library();
    const auto find = [&](auto& function, const char* name) {
        function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, name));
        if (function == nullptr) throw Failure(CLEAVE_STORE_FAILED, "libcurl lacks a function");
    };
    Libcurl found{};
    find(found.global_init, "curl_global_init");
    find(found.global_cleanup, "curl_global_cleanup");
    find(found.easy_init, "curl_easy_init");
    find(found.easy_cleanup, "curl_easy_cleanup");
    find(found.easy_reset, "curl_easy_reset");
    find(found.easy_setopt, "curl_easy_setopt");
    find(found.easy_perform, "curl_easy_perform");
    find(found.easy_strerror, "curl_easy_strerror");
    find(found.slist_append, "curl_slist_append");
    find(found.slist_free_all, "curl_slist_free_all");
    find(found.getdate, "curl_getdate");
    return found;
}

}  // namespace

const Libcurl& libcurl() {
    static const Libcurl kFunctions = load();
    return kFunctions;
}

}  // namespace cleave::store
