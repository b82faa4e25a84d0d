#include "rows/memory/secret_memory.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>

#include "cleave/error.h"

namespace cleave {
namespace {

// For example "cannot lock 4096 bytes of memory for keys (limit of locked memory, RLIMIT_MEMLOCK: 8388608 bytes)".
std::string describe_lock(std::size_t size) {
    std::string text = "cannot lock " + std::to_string(size) + " bytes of memory for keys";
    rlimit limit;
    if (::getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return text;
    return text + " (limit of locked memory, RLIMIT_MEMLOCK: " + std::to_string(limit.rlim_cur) + " bytes)";
}

}  // namespace

SecretMemory::SecretMemory(std::size_t size) {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const std::size_t whole = (size + page - 1) / page * page;
    if (whole == 0) return;
    void* const address = ::mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (address == MAP_FAILED) throw SystemError(errno, std::generic_category(), "memory for keys");
    bytes_ = {static_cast<std::uint8_t*>(address), whole};
    try {
        protect();
    } catch (const std::system_error&) {
        release();
        throw;
    }
}

void SecretMemory::protect() {
    for (const int advice : {MADV_DONTDUMP, MADV_WIPEONFORK}) {
        if (::madvise(bytes_.data(), bytes_.size(), advice) != 0) {
            throw SystemError(errno, std::generic_category(), "memory for keys");
        }
    }
    if (::mlock(bytes_.data(), bytes_.size()) != 0) {
        const int error = errno;
        throw SystemError(error, std::generic_category(), describe_lock(bytes_.size()));
    }
}

void SecretMemory::release() noexcept {
    if (bytes_.empty()) return;
    ::explicit_bzero(bytes_.data(), bytes_.size());
    ::munmap(bytes_.data(), bytes_.size());
    bytes_ = {};
}

SecretMemory::SecretMemory(SecretMemory&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

SecretMemory& SecretMemory::operator=(SecretMemory&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
}

SecretMemory::~SecretMemory() { release(); }

// Not inlined, so that its array occupies the stack where the previously called functions had their frames.
[[gnu::noinline]] void wipe_stack() noexcept {
    std::array<std::uint8_t, 4096> below;
    ::explicit_bzero(below.data(), below.size());
}

}  // namespace cleave
