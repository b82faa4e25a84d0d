// Reads an input once, from the front: a stream as it arrives, a blob in parts. Knows nothing about CSV.
//
// A file that does not fit into memory is best read in small parts, each of which is written out while it is still in
// the processor's cache. A thread reads the parts into a ring of buffers, so that the disk does not wait for the scan
// and the writes:
//
//     parts  | being scanned and written | read | read | being read |
//            ^ taken_                                  ^ filled_
//
// Writing from the mapping while a thread reads ahead took twice as long in a control group limited to 256 MiB, because
// the system has to find and unmap pages that are in use.
#pragma once

#include <array>
#include <cstdint>
#include <exception>
#include <span>
#include <stop_token>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "cleave/input.h"
#include "cleave/meter.h"

namespace cleave {

// For one thread. The input must outlive the reader.
class SequentialReader {
public:
    // `meter`, if not null, gets the number of bytes handed out. If no thread can be started, a blob is read without
    // one. Throws std::bad_alloc.
    SequentialReader(Input& input, Meter* meter);

    // The next bytes, valid until the next call; none at the end. Throws what Input::read() throws or, for a blob,
    // Cancelled, SystemError, and InputChangedError if the file has become shorter.
    std::span<const std::uint8_t> read();

private:
    std::span<std::uint8_t> buffer_of(std::uint64_t part) noexcept;
    void read_part(std::uint64_t part);
    void run(const std::stop_token& stop);
    std::span<const std::uint8_t> read_blob();

    Input& input_;
    Meter* meter_;
    std::array<std::vector<std::uint8_t>, 4> ring_;  // for a blob: part n is in ring_[n % 4]
    std::uint64_t parts_ = 0;                        // of the blob
    bool has_part_ = false;                          // the caller holds part taken_
    std::uint64_t handed_out_ = 0;                   // bytes of the blob
    Mutex mutex_;
    StoppableConditionVariable moved_;                    // a member below has changed
    std::uint64_t taken_ CLEAVE_GUARDED_BY(mutex_) = 0;   // parts that the caller is done with
    std::uint64_t filled_ CLEAVE_GUARDED_BY(mutex_) = 0;  // parts that have been read
    std::exception_ptr error_ CLEAVE_GUARDED_BY(mutex_);  // why part filled_ could not be read
    std::jthread thread_;                                 // last: it uses the other members
};

}  // namespace cleave
