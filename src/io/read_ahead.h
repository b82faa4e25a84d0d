// Brings the bytes of a mapped file into the page cache before they are read. Knows no CSV.
//
// Several threads that scan a mapping take page faults all over a stretch of the file, and the system reads no further
// ahead of a fault than the device's setting, 128 KiB on most machines. So the disk waits for the threads and the
// threads for the disk. Here one thread reads the file as cat does, from the front, in chunks, and throws away what it
// reads: the bytes are in the page cache then. The readers of the mapping follow it and wait for it. It never goes
// further than a window ahead of them, so that little memory is enough:
//
//     file   | done | being scanned |  in the page cache  |   on the disk   |
//                                   ^ reached_            ^ there_ < reached_ + kWindow + kChunk
//
// Reads this large make the system read ahead by its own rules whatever the device's setting: several MiB at once, into
// large folios. Asking by madvise(WILLNEED) or posix_fadvise() fills the cache a page at a time, and was slower.
//
// A chunk that is in the cache when the reading begins is passed over for the price of one read of a byte that may not
// wait; a file that is in the cache as a whole needs no thread. What the readers have left behind is unmapped, so that
// the system can take its memory back at once. Nothing is dropped from the cache: it may have been there before.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <stop_token>
#include <thread>

#include "cleave/blob.h"
#include "io/file_blob.h"

namespace cleave {

class ReadAhead {
public:
    // The bytes [begin, end) of `blob` are about to be lent in ascending order; it must outlive this object. Only a
    // range of a mapped file is read ahead, and only if it is larger than a few MiB. Throws std::bad_alloc. Where the
    // system refuses a thread, nothing is read ahead.
    ReadAhead(const Blob& blob, std::uint64_t begin, std::uint64_t end);

    // How many of `threads` threads are left to read the mapping: one of them reads ahead. On two cores, with two
    // threads beside it, it was often kept waiting by them, and the disk by it: a run took up to twice as long.
    unsigned readers(unsigned threads) const noexcept {
        return thread_.joinable() && threads > 1 ? threads - 1 : threads;
    }

    // To be called before the first `end` bytes from `begin` on are read. Waits until they are in the page cache, or
    // cannot be brought there. Any thread.
    void wait_for(std::uint64_t end) {
        if (there_.load(std::memory_order_relaxed) < bytes_.size()) wait(end);
    }

private:
    bool is_chunk_cached(std::uint64_t chunk) const noexcept;
    bool read(std::uint64_t chunk) const noexcept;
    void run(const std::stop_token& stop);
    void advise(std::uint64_t begin, std::uint64_t end, int advice) const noexcept;
    void advance(std::uint64_t there);
    void wait(std::uint64_t end);

    std::span<const std::uint8_t> bytes_;
    FileBehind file_;
    std::atomic<std::uint64_t> reached_{0};  // the furthest `end` that was waited for
    std::atomic<std::uint64_t> there_{0};    // up to here there is nothing to wait for
    std::mutex mutex_;
    std::condition_variable moved_;  // there_
    std::jthread thread_;            // last: it uses the other members
};

}  // namespace cleave
