// memory_conformance NAME|/PATH[:CONFIG] [--device[=/HOOKS.so]] [--only=CHECK] [--limit=SECONDS]
//
// Tests a memory manager. Prints a line for each check, "ok NAME", "FAIL NAME: why" or "skip NAME: why", and then "N
// passed, M failed, K skipped". The exit status is 0 if none failed. --device also tests pinned, mapped and device
// memory, on device 0; the library provides the functions of device_hooks.h. --only runs only the checks whose names
// begin with CHECK; it may be repeated. A check that takes longer than --limit, by default 120 seconds, fails.
#include "conformance.h"

#include <dlfcn.h>
#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <iostream>
#include <string_view>

// The suite makes managers run out of memory on purpose.
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): names of the sanitizers
extern "C" [[gnu::visibility("default")]] const char* __asan_default_options() { return "allocator_may_return_null=1"; }
extern "C" [[gnu::visibility("default")]] const char* __tsan_default_options() { return "allocator_may_return_null=1"; }
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

namespace cleave::conformance {
namespace {

// "ok", or "FAIL: why" or "skip: why".
std::string result_of(const NamedCheck& check, const Options& options) {
    try {
        check.run(options);
        return "ok";
    } catch (const Failure& failure) {
        return std::string("FAIL: ") + failure.what();
    } catch (const Skip& reason) {
        return std::string("skip: ") + reason.what();
    } catch (const std::exception& error) {
        return std::string("FAIL: ") + error.what();
    }
}

// The same, but in a separate process.
std::string result_apart(const NamedCheck& check, const Options& options) {
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0) return "FAIL: pipe: " + std::string(std::strerror(errno));
    const pid_t child = ::fork();
    if (child < 0) return "FAIL: fork: " + std::string(std::strerror(errno));
    if (child == 0) {
        ::close(ends[0]);
        ::alarm(options.limit);
        const std::string result = result_of(check, options);
        if (::write(ends[1], result.data(), result.size()) < 0) std::abort();
        std::exit(0);  // exits as a program that uses the manager would; a sanitizer looks for leaks here
    }
    ::close(ends[1]);
    std::string result;
    std::array<char, 4096> part;
    for (ssize_t size = 0; (size = ::read(ends[0], part.data(), part.size())) > 0;) {
        result.append(part.data(), static_cast<std::size_t>(size));
    }
    ::close(ends[0]);
    int status = 0;
    ::waitpid(child, &status, 0);
    const std::string before = result.empty() ? "" : " after \"" + result + "\"";
    if (WIFSIGNALED(status)) return "FAIL: ended by signal " + std::to_string(WTERMSIG(status)) + before;
    if (WEXITSTATUS(status) != 0) return "FAIL: ended with exit code " + std::to_string(WEXITSTATUS(status)) + before;
    return result;
}

int run_all(const Options& options) {
    std::size_t passed = 0;
    std::size_t failed = 0;
    std::size_t skipped = 0;
    for (const auto checks : {interface_checks(), allocation_checks(), secret_checks(), exhaustion_checks(),
                              thread_checks(), lifetime_checks(), device_checks()}) {
        for (const NamedCheck& check : checks) {
            const auto begins_name = [&](const std::string& word) {
                return std::string_view(check.name).starts_with(word);
            };
            if (!options.only.empty() && std::ranges::none_of(options.only, begins_name)) continue;
            const std::string result = result_apart(check, options);
            ++(result.starts_with("ok") ? passed : result.starts_with("skip") ? skipped : failed);
            const std::size_t end = result.find(':');
            std::cout << result.substr(0, end) << ' ' << check.name
                      << (end == std::string::npos ? "" : result.substr(end)) << '\n'
                      << std::flush;
        }
    }
    std::cout << passed << " passed, " << failed << " failed, " << skipped << " skipped\n";
    return failed == 0 && passed + skipped > 0 ? 0 : 1;
}

int fail(const std::string& why) {
    std::cerr << "memory_conformance: " << why << '\n';
    return 2;
}

int run(int count, char** words) {
    Options options;
    for (int i = 1; i < count; ++i) {
        const std::string_view word = words[i];
        if (word.starts_with("--device")) {
            options.has_device = true;
            if (word.size() <= sizeof "--device=" - 1) continue;
            void* const library = ::dlopen(words[i] + sizeof "--device=" - 1, RTLD_NOW | RTLD_LOCAL);
            if (library == nullptr) return fail(::dlerror());
            const auto open =
                reinterpret_cast<cleave_device_hooks_function>(::dlsym(library, CLEAVE_DEVICE_HOOKS_SYMBOL));
            if (open == nullptr) return fail("the library has no function " CLEAVE_DEVICE_HOOKS_SYMBOL);
            options.hooks = open();
        } else if (word.starts_with("--only=")) {
            options.only.emplace_back(word.substr(sizeof "--only=" - 1));
        } else if (word.starts_with("--limit=")) {
            options.limit = static_cast<unsigned>(std::strtoul(words[i] + sizeof "--limit=" - 1, nullptr, 10));
        } else {
            options.name = word;
        }
    }
    if (options.name.empty()) {
        return fail(
            "usage: memory_conformance NAME|/PATH[:CONFIG] [--device[=/HOOKS.so]] [--only=CHECK] [--limit=SECONDS]");
    }
    // The C library raises this threshold by itself, and then keeps large blocks that are freed.
    ::mallopt(M_MMAP_THRESHOLD, 64 << 10);
    return run_all(options);
}

}  // namespace
}  // namespace cleave::conformance

int main(int count, char** words) { return cleave::conformance::run(count, words); }
