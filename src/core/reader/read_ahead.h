// Brings the bytes of a mapped file into the page cache before they are read, and announces those of a remote file.
// Knows nothing about CSV.
//
// Threads that scan a mapping take page faults in several parts of the file at once. In each part, the system reads
// ahead only as far as the device's setting says, 128 KiB on most machines, so the disk waits for the threads and the
// threads wait for the disk. Here one thread reads the file from the front, in chunks, and discards the bytes, which
// stay in the page cache. The threads that read the mapping follow, and wait for it. It stays at most a window ahead of
// them, so little memory is enough:
//
//     file   | done | being scanned |  in the page cache  |   on the disk   |
//                                   ^ reached_            ^ there_ < reached_ + kWindow + kChunk
//
// Reads this large make the system read ahead according to its own rules, whatever the device's setting: several MiB at
// once, into large folios. madvise(WILLNEED) and posix_fadvise() fill the cache one page at a time, and were slower.
//
// Chunks at the front that are already cached are skipped; reading their last byte without waiting shows whether they
// are. If the entire file is cached, no thread is started. Pages that the readers have left behind are unmapped so that
// the system can reclaim their memory at once. No page is dropped from the cache, because it may have been there
// before.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <stop_token>
#include <thread>

#include "base/mutex.h"
#include "cleave/blob.h"

namespace cleave {

class ReadAhead {
public:
    static constexpr std::uint64_t kChunk = std::uint64_t{8} << 20;
    static constexpr std::uint64_t kWindow = std::uint64_t{32} << 20;

    // The bytes [begin, end) of `blob` are about to be lent in ascending order. `blob` must outlive this object. Only a
    // range of a mapped file is read ahead, and only if it is larger than kChunk. If no thread can be started, nothing
    // is read ahead. Throws std::bad_alloc.
    ReadAhead(const Blob& blob, std::uint64_t begin, std::uint64_t end);

    // How many of `threads` threads are left to read the mapping while one of them reads ahead. With two readers on
    // two cores, the thread that reads ahead often waited for a core, and the disk for that thread: a run took up to
    // twice as long.
    unsigned readers(unsigned threads) const noexcept {
        return thread_.joinable() && threads > 1 ? threads - 1 : threads;
    }

    // Call this before reading the first `end` bytes from `begin` on. Waits until they are in the page cache or cannot
    // be read. Thread-safe.
    void wait_for(std::uint64_t end) {
        if (there_.load(std::memory_order_relaxed) < bytes_.size()) wait(end);
    }

    // How many bytes from `begin` on seemed to be in the page cache when this object was created. Checking starts a
    // read, so a chunk of a cold file counts if its read ends before the check does.
    std::uint64_t found() const noexcept { return found_; }
    // How many bytes from `begin` on can be read without waiting.
    std::uint64_t there() const noexcept { return there_.load(); }
    // Whether nothing more will be read until wait_for() is called with a larger `end` than before. Thread-safe.
    bool is_idle() const noexcept { return there_.load() >= bytes_.size() || idle_at_.load() == reached_.load(); }

private:
    bool is_chunk_cached(std::uint64_t chunk) const noexcept;
    bool read(std::uint64_t chunk) const noexcept;
    void run(const std::stop_token& stop);
    void advise(std::uint64_t begin, std::uint64_t end, int advice) const noexcept;
    void advance(std::uint64_t there);
    void wait(std::uint64_t end);

    std::span<const std::uint8_t> bytes_;
    BlobBacking file_;
    std::uint64_t found_ = 0;
    std::atomic<std::uint64_t> reached_{0};           // the furthest `end` that was waited for
    std::atomic<std::uint64_t> there_{0};             // no need to wait up to here
    std::atomic<std::uint64_t> idle_at_{UINT64_MAX};  // the reached_ for which the whole window has been read
    Mutex mutex_;              // guards no data; held while there_ changes, so that wait() does not miss a change
    ConditionVariable moved_;  // signalled when there_ changes
    std::jthread thread_;      // last: it uses the other members
};

}  // namespace cleave
