#include "core/reader/read_ahead.h"

#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <system_error>

#include "core/reader/page_cache.h"

namespace cleave {
namespace {

// How often the thread checks whether the readers have come closer: at 10 GB/s they read 1 MB in that time.
constexpr std::chrono::microseconds kPause{100};

}  // namespace

ReadAhead::ReadAhead(const Blob& blob, std::uint64_t begin, std::uint64_t end)
    : bytes_(blob.mapped(begin, end - begin)), file_(blob.backing()) {
    file_.offset += begin;
    blob.will_read({begin, end - begin});
    std::uint64_t there = bytes_.size() <= kChunk ? bytes_.size() : 0;
    while (there < bytes_.size() && is_chunk_cached(there)) there += kChunk;
    there_ = found_ = std::min(there, bytes_.size());
    if (there >= bytes_.size()) return;
    advise(0, bytes_.size(), MADV_SEQUENTIAL);
    try {
        thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
    } catch (const std::system_error&) {  // a limit on address space or threads is no reason to fail
        there_ = bytes_.size();
    }
}

bool ReadAhead::is_chunk_cached(std::uint64_t chunk) const noexcept {
    return is_cached(file_.descriptor, file_.offset + std::min(chunk + kChunk, bytes_.size()) - 1);
}

// Reads the entire chunk through one small buffer, which stays in the processor's cache. Returns false if the file has
// become shorter or cannot be read.
bool ReadAhead::read(std::uint64_t chunk) const noexcept {
    constexpr std::size_t kScratchSize = std::size_t{64} << 10;
    std::array<std::uint8_t, kScratchSize> buffer{};
    std::array<iovec, kChunk / kScratchSize> targets{};
    targets.fill({buffer.data(), buffer.size()});
    const ssize_t size =
        ::preadv(file_.descriptor, targets.data(), targets.size(), static_cast<off_t>(file_.offset + chunk));
    ::explicit_bzero(buffer.data(), buffer.size());  // the bytes may be values that must not stay in memory
    return size > 0;
}

void ReadAhead::run(const std::stop_token& stop) {
    std::uint64_t chunk = there_;
    std::uint64_t kept = chunk;  // the readers' pages are unmapped up to here
    while (chunk < bytes_.size() && !stop.stop_requested()) {
        const std::uint64_t reached = reached_.load();
        if (reached >= kept + kWindow + kChunk) {
            advise(kept, reached - kWindow, MADV_DONTNEED);
            kept = reached - kWindow;
        }
        if (chunk >= reached + kWindow) {
            idle_at_ = reached;
            std::this_thread::sleep_for(kPause);
        } else if (read(chunk)) {
            chunk += kChunk;
            advance(chunk);
        } else {
            chunk = bytes_.size();  // the readers will notice for themselves
        }
    }
    advance(bytes_.size());
}

// Calls madvise() for the pages between the offsets. MADV_DONTNEED unmaps them; a reader that is still there faults
// them in again. Without MADV_SEQUENTIAL, unmapping pages would mark them as in use: if memory is short, the system
// would keep these pages and drop others that are yet to be scanned.
void ReadAhead::advise(std::uint64_t begin, std::uint64_t end, int advice) const noexcept {
    const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    const auto base = reinterpret_cast<std::uintptr_t>(bytes_.data());
    const std::uintptr_t first = (base + begin + page - 1) / page * page;
    const std::uintptr_t last = (base + end) / page * page;
    if (first < last) ::madvise(const_cast<std::uint8_t*>(bytes_.data()) + (first - base), last - first, advice);
}

void ReadAhead::advance(std::uint64_t there) {
    {
        const MutexLock lock(mutex_);
        there_ = there;
    }
    moved_.notify_all();
}

void ReadAhead::wait(std::uint64_t end) {
    std::uint64_t reached = reached_.load();
    while (reached < end && !reached_.compare_exchange_weak(reached, end)) {
    }
    if (there_.load() >= end) return;
    MutexLock lock(mutex_);
    while (there_.load() < end) moved_.wait(lock);
}

}  // namespace cleave
