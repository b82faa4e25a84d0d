#include "io/read_ahead.h"

#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <system_error>

namespace cleave {
namespace {

constexpr std::uint64_t kChunk = std::uint64_t{8} << 20;
constexpr std::uint64_t kWindow = std::uint64_t{32} << 20;
// How often the thread looks whether the readers have come nearer: at 10 GB/s they read 1 MB in that time.
constexpr std::chrono::microseconds kPause{100};

}  // namespace

ReadAhead::ReadAhead(std::span<const std::uint8_t> bytes) : bytes_(bytes), file_(file_behind(bytes)) {
    std::uint64_t there = 0;
    if (bytes_.size() <= kChunk || file_.descriptor < 0) there = bytes_.size();
    while (there < bytes_.size() && is_cached(there)) there += kChunk;
    there_ = there;
    if (there >= bytes_.size()) return;
    try {
        thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
    } catch (const std::system_error&) {  // a limit on address space or threads is no reason to fail
        there_ = bytes_.size();
    }
}

// Whether the chunk's last byte can be read without waiting for the disk. True where the file system cannot tell.
bool ReadAhead::is_cached(std::uint64_t chunk) const noexcept {
    std::uint8_t byte = 0;
    iovec target{&byte, 1};
    const std::uint64_t last = std::min(chunk + kChunk, bytes_.size()) - 1;
    return ::preadv2(file_.descriptor, &target, 1, static_cast<off_t>(file_.offset + last), RWF_NOWAIT) >= 0 ||
           errno != EAGAIN;
}

// Reads the chunk, all of it over the same small buffer, which stays in the processor's cache. False if the file has
// become shorter or cannot be read.
bool ReadAhead::read(std::uint64_t chunk) const noexcept {
    constexpr std::size_t kBufferSize = std::size_t{64} << 10;
    std::array<std::uint8_t, kBufferSize> buffer{};
    std::array<iovec, kChunk / kBufferSize> targets{};
    targets.fill({buffer.data(), buffer.size()});
    const ssize_t size =
        ::preadv(file_.descriptor, targets.data(), targets.size(), static_cast<off_t>(file_.offset + chunk));
    return size > 0;
}

void ReadAhead::run(const std::stop_token& stop) {
    std::uint64_t chunk = there_;
    std::uint64_t kept = chunk;  // up to here the readers' pages are unmapped
    while (chunk < bytes_.size() && !stop.stop_requested()) {
        const std::uint64_t reached = reached_.load();
        if (reached >= kept + kWindow + kChunk) {
            let_go(kept, reached - kWindow);
            kept = reached - kWindow;
        }
        if (chunk >= reached + kWindow) {
            std::this_thread::sleep_for(kPause);
        } else if (read(chunk)) {
            chunk += kChunk;
            advance(chunk);
        } else {
            chunk = bytes_.size();  // the readers find out by themselves
        }
    }
    advance(bytes_.size());
}

// Unmaps the pages that lie between the offsets. A reader that is still there faults them in again.
void ReadAhead::let_go(std::uint64_t begin, std::uint64_t end) const noexcept {
    const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    const auto base = reinterpret_cast<std::uintptr_t>(bytes_.data());
    const std::uintptr_t first = (base + begin + page - 1) / page * page;
    const std::uintptr_t last = (base + end) / page * page;
    if (first < last) ::madvise(const_cast<std::uint8_t*>(bytes_.data()) + (first - base), last - first, MADV_DONTNEED);
}

void ReadAhead::advance(std::uint64_t there) {
    {
        const std::lock_guard lock(mutex_);
        there_ = there;
    }
    moved_.notify_all();
}

void ReadAhead::wait(std::uint64_t end) {
    std::uint64_t reached = reached_.load();
    while (reached < end && !reached_.compare_exchange_weak(reached, end)) {
    }
    if (there_.load() >= end) return;
    std::unique_lock lock(mutex_);
    moved_.wait(lock, [&] { return there_.load() >= end; });
}

}  // namespace cleave
