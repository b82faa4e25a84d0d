// The interface of the module: see store_module.h. Exceptions end here.

#include <algorithm>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "failure.h"
#include "features/stores/store_module.h"
#include "store.h"
#include "upload.h"

namespace {

using cleave::store::Failure;
using cleave::store::Object;
using cleave::store::Store;
using cleave::store::Upload;

void explain(cleave_store_call* call, std::string_view message) noexcept {
    if (call->message == nullptr || call->message_size == 0) return;
    const std::size_t size = std::min(message.size(), call->message_size - 1);
    std::memcpy(call->message, message.data(), size);
    call->message[size] = 0;
}

template <class Work>
cleave_store_result guarded(cleave_store_call* call, Work work) noexcept {
    try {
        work();
        return CLEAVE_STORE_DONE;
    } catch (const Failure& failure) {
        explain(call, failure.what());
        return failure.result();
    } catch (const std::bad_alloc&) {
        explain(call, "there is not enough memory");
        return CLEAVE_STORE_FAILED;
    } catch (const std::exception& error) {
        explain(call, error.what());
        return CLEAVE_STORE_FAILED;
    }
}

cleave_store_result open_store(const char* url, void** store, cleave_store_call* call) {
    return guarded(call, [&] { *store = new Store(cleave::store::parse_location(url), *call); });
}

void close_store(void* store) { delete static_cast<Store*>(store); }

size_t ports_of(const void* store, uint16_t* into) {
    const std::vector<std::uint16_t> ports = static_cast<const Store*>(store)->ports();
    std::copy_n(ports.begin(), ports.size(), into);
    return ports.size();
}

cleave_store_result find_object(void* store, const char* url, void** object, cleave_store_call* call) {
    return guarded(call, [&] { *object = static_cast<Store*>(store)->find(url, *call).release(); });
}

const cleave_store_facts* facts_of(const void* object) { return &static_cast<const Object*>(object)->facts(); }

void release_object(void* object) { delete static_cast<Object*>(object); }

cleave_store_result read_object(void* object, uint64_t offset, void* into, size_t size, cleave_store_call* call) {
    return guarded(call, [&] {
        static_cast<const Object*>(object)->read(offset, {static_cast<std::uint8_t*>(into), size}, *call);
    });
}

cleave_store_result begin_upload(void* store, const char* url, void** upload, cleave_store_call* call) {
    return guarded(call, [&] { *upload = Upload::begin(*static_cast<Store*>(store), url, *call).release(); });
}

void release_upload(void* upload) { delete static_cast<Upload*>(upload); }

cleave_store_result upload_part(void* upload, uint32_t number, const void* bytes, size_t size,
                                cleave_store_call* call) {
    return guarded(call, [&] {
        static_cast<Upload*>(upload)->send(number, {static_cast<const std::uint8_t*>(bytes), size}, *call);
    });
}

cleave_store_result copy_part(void* upload, uint32_t number, const void* object, uint64_t offset, uint64_t size,
                              cleave_store_call* call) {
    return guarded(call, [&] {
        static_cast<Upload*>(upload)->copy(number, *static_cast<const Object*>(object), offset, size, *call);
    });
}

cleave_store_result complete_upload(void* upload, int replaces, cleave_store_call* call) {
    return guarded(call, [&] { static_cast<Upload*>(upload)->complete(replaces != 0, *call); });
}

cleave_store_result abort_upload(void* upload, cleave_store_call* call) {
    return guarded(call, [&] { static_cast<Upload*>(upload)->abort(*call); });
}

cleave_store_result remove_object(void* store, const char* url, cleave_store_call* call) {
    return guarded(call, [&] { static_cast<Store*>(store)->remove(url, *call); });
}

cleave_store_result abort_uploads(void* store, const char* url, cleave_store_call* call) {
    return guarded(call, [&] { Upload::abort_all(*static_cast<Store*>(store), url, *call); });
}

cleave_store_result place_of(const void* store, const char* url, char* into, cleave_store_call* call) {
    return guarded(call, [&] {
        const std::string place = static_cast<const Store*>(store)->place_of(url);
        std::memcpy(into, place.c_str(), std::min<std::size_t>(place.size() + 1, CLEAVE_STORE_PLACE));
    });
}

constexpr cleave_store_module kModule{CLEAVE_STORE_VERSION,
                                      sizeof(cleave_store_module),
                                      open_store,
                                      close_store,
                                      ports_of,
                                      find_object,
                                      facts_of,
                                      release_object,
                                      read_object,
                                      begin_upload,
                                      release_upload,
                                      upload_part,
                                      copy_part,
                                      complete_upload,
                                      abort_upload,
                                      remove_object,
                                      abort_uploads,
                                      place_of};

}  // namespace

extern "C" __attribute__((visibility("default"))) const cleave_store_module* cleave_store_open() { return &kModule; }
