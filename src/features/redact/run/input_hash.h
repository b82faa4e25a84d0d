// The SHA-256 of an input as it is stored, before it is decompressed or converted. SHA-256 needs the bytes in order,
// but a run reads a file in several places at once. A regular file is therefore hashed by a thread of its own, which
// reads it again, mostly from the page cache. Anything else is hashed as it arrives.
#pragma once

#include <exception>
#include <memory>
#include <stop_token>
#include <thread>

#include "base/content_hash.h"
#include "cleave/input.h"
#include "core/reader/source.h"

namespace cleave {

// For one thread.
class InputHash {
public:
    // Call this before anything is read. The input comes from Input::open(), without a snapshot, and must outlive this
    // object, as must its Cancellation. If no thread can be started, finish() does the work. Throws SystemError.
    explicit InputHash(Input& input);
    InputHash(const InputHash&) = delete;
    InputHash& operator=(const InputHash&) = delete;
    ~InputHash() = default;

    // Call this once the input has been read to its end. Waits for the thread. Throws InputChangedError if the file has
    // changed since it was opened, SystemError and Cancelled.
    ContentDigest finish();

private:
    void hash_file(const std::stop_token& stop);

    const Cancellation* cancellation_;
    Source source_;                      // a regular file; without a descriptor for anything else
    std::shared_ptr<ContentHash> hash_;  // shared with the stream that fills it
    std::exception_ptr error_;           // of the thread
    std::jthread thread_;                // last: it uses the other members
};

}  // namespace cleave
