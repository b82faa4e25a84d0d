// Access to the inside of Input, for code that adds a way to open one or watches what is read.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "cleave/cancel.h"
#include "cleave/error.h"
#include "cleave/function_ref.h"
#include "cleave/input.h"
#include "core/reader/file_blob.h"
#include "core/reader/file_stream.h"
#include "core/reader/remote_file.h"
#include "core/reader/source.h"

namespace cleave {

// The friend of Input; defined in input.cpp.
struct InputParts {
    // A file elsewhere: a blob that is not mapped, or a stream if it is compressed or converted. `inode` stands for its
    // version in FileIdentity.
    static Input of_remote(std::shared_ptr<const RemoteFile> file, std::uint64_t inode, const std::string& path,
                           const Cancellation* cancellation, Encoding encoding);

    // Valid until Input::spool() is called.
    static const Source& source(const Input& input);
    // Null if it is a blob.
    static FileStream* stream(const Input& input);

    // Whether it is a gzip file that is read from its first byte, as a stream of bytes. Once peek() was called.
    static bool is_gzip_file(const Input& input) {
        const Source& from = source(input);
        return input.is_stream() && input.compression() == Compression::kGzip && from.is_file() && from.size() > 0 &&
               from.offset == 0 && input.encoding() == Encoding::kBytes;
    }

    // Of a stream of which nothing was read; `call` is for the ArgumentError otherwise. restart() starts to read it
    // again, from its beginning, and throws SystemError. become_blob() puts a blob of what it decodes to in its place.
    static void restart(Input& input, const char* call, std::shared_ptr<DecodeObserver> observer);
    static void become_blob(Input& input, const char* call, std::unique_ptr<FileBlob> blob);

    // The input stands for several files from now on: `identity` is that of all of them, `is_one` says whether a file
    // is one of them, and `check`, unless empty, throws if one has changed.
    static void join(Input& input, const FileIdentity& identity, std::function<bool(const FileIdentity&)> is_one,
                     std::function<void()> check);
    // Whether the file is what the input reads.
    static bool is_of_file(const Input& input, const FileIdentity& file);
    // Makes a stream of a blob that is the file. Does nothing to a stream.
    static FileStream& become_stream(Input& input);

    // Puts what `replace` makes of the blob in its place.
    static void replace_blob(Input& input, FunctionRef<std::unique_ptr<FileBlob>(std::unique_ptr<FileBlob>)> replace);

    // mend() calls `mender`, once, with where the record begins in which a reader has met a fault; nothing before it
    // changes. Returns false if there is none.
    static void set_mender(Input& input, std::function<void(const Place& begin)> mender);
    static bool mend(Input& input, const Place& begin);
};

// While this object exists, `cancellation`, unless null, ends waits for the input. The destructor restores the previous
// Cancellation, unless a different one has been set since. The input must not be moved from in the meantime.
class InputCancellation {
public:
    InputCancellation(Input& input, const Cancellation* cancellation)
        : input_(input), cancellation_(cancellation), before_(input.cancellation()) {
        input.set_cancellation(cancellation);
    }
    InputCancellation(const InputCancellation&) = delete;
    InputCancellation& operator=(const InputCancellation&) = delete;
    ~InputCancellation() {  // NOLINT(bugprone-exception-escape): the input is not moved from
        if (input_.cancellation() == cancellation_) input_.set_cancellation(before_);
    }

private:
    Input& input_;
    const Cancellation* cancellation_;
    const Cancellation* before_;
};

}  // namespace cleave
