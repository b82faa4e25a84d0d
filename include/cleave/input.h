// Where the bytes come from: an open file whose bytes are all there, or a stream. Knows no CSV.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "cleave/blob.h"
#include "cleave/cancel.h"
#include "cleave/compression.h"
#include "cleave/meter.h"
#include "cleave/stream.h"

namespace cleave {

// Enough to know a file again, and to tell whether it was written to.
struct FileIdentity {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::uint64_t size = 0;
    std::int64_t mtime_ns = 0;
    // The lower nine bits of the mode of a regular file: no set-id bits, no sticky bit. 0666 for pipes, devices, and
    // files in /proc. Input::identity() alone fills it in.
    std::uint32_t permissions = 0666;

    bool is_same_file(const FileIdentity& other) const { return device == other.device && inode == other.inode; }
};

// How the bytes of a regular file are read.
enum class Access : std::uint8_t {
    kMapped,  // in a mapping, without a copy
    kRead,    // by pread(), block by block: slower, but no change of the file can raise SIGBUS
};

// An open input, owned: a Blob or a Stream. A regular file that has a size is a blob. Pipes, devices and files that
// only pretend to be empty are streams, and so is what is compressed by gzip or zstd, known by its first bytes:
// everything below speaks of the plain bytes unless it says otherwise. Where the system cannot map a file, that file is
// a stream too. Offsets count from where reading begins: standard input may stand in the middle of a file. For one
// thread at a time, but the blob may be read by many.
//
// A stream is read once: by read() until the end, by spool(), or by one of the functions that read an input (scan(),
// examine(), cut_stream(), run_job()). All members, and those functions, throw std::invalid_argument for an Input
// that was moved from, and where a member is called in the wrong state.
//
// If others change a file while it is read, what is lent of the blob changes too. Reading a view of a mapping can then
// end the process by SIGBUS if the file has become shorter and there is no MappingGuard. Results are undefined but
// safe. Call throw_if_changed() before using a result, and when a call has thrown: the change may be the cause.
class Input {
public:
    // Opens the file at `path`, or standard input for "-". `cancellation`, if any, must outlive the input and ends
    // waits for a stream by Cancelled. Throws std::system_error, and std::invalid_argument for a path with a NUL byte.
    static Input open(const std::string& path, const Cancellation* cancellation = nullptr,
                      Access access = Access::kMapped);

    // Opens a file that others append to, such as a log, to read it as it is now. The input is a blob of the size that
    // the file has at this moment, be it 0. Growth is then no change: throw_if_changed() accepts new times and a larger
    // size, and throws if the file is shorter than it was. So a write into the middle of the file is not noticed. The
    // last record may be half written: index_records() and the functions that call it (scan(), examine(), plan()) leave
    // out an incomplete last record. Throws as open(), and SnapshotError for a pipe, a device, a compressed file, a
    // file that only pretends to be empty, and a file that cannot be mapped.
    static Input open_snapshot(const std::string& path, const Cancellation* cancellation = nullptr,
                               Access access = Access::kMapped);

    Input(Input&&) noexcept;
    Input& operator=(Input&&) noexcept;
    ~Input();

    // As given, "-" included.
    const std::string& path() const;
    // Of what was opened, compressed or not; mtime_ns is 0 but for regular files.
    FileIdentity identity() const;
    // How the input is compressed. Of a stream it is known from the first peek(), read() or spool() on.
    Compression compression() const;
    // How many bytes were read of the file by a stream, spooled or not; compressed ones if it is compressed.
    std::uint64_t consumed() const;
    // Where in the file reading began; 0 of a spooled input.
    std::uint64_t offset_in_file() const;
    const Cancellation* cancellation() const;
    // From here on waits for a stream end by this one, or by none if null. It must outlive the input or the next call.
    // An input that was moved from ignores it.
    void set_cancellation(const Cancellation* cancellation) noexcept;

    bool is_snapshot() const;
    // Snapshots only: takes the last `size` bytes away from the blob, at most its size. Throws std::invalid_argument
    // otherwise. Not while another thread uses the input.
    void leave_out(std::uint64_t size);
    // How many bytes leave_out() has taken away, in all.
    std::uint64_t left_out() const;

    // Whether the bytes come one after another. If not, they are all there.
    bool is_stream() const;
    // The whole input, less what was left out. Not of a stream: see spool(). Valid as long as the input.
    const Blob& blob() const;
    // Streams only. Valid as long as the input is one.
    Stream& stream();

    // Whether the bytes are all there in memory, as a mapping. Then this is the same as blob(), as one view.
    bool is_mapped() const;
    std::span<const std::uint8_t> bytes() const;

    // The first bytes of the input, `size` of them unless it is shorter, without taking them from a stream. Before any
    // read(). Valid until the next call. Throws as Stream::peek() and Blob::lend().
    std::span<const std::uint8_t> peek(std::size_t size);

    // Streams only: as Stream::read().
    std::span<const std::uint8_t> read();

    // Copies what is left of a stream to an unlinked temporary file (in $TMPDIR, else /var/tmp). The input is a blob
    // from then on. Nothing to do for an input that is no stream. Before any read(). `meter`, if not null, receives the
    // progress. Throws as Stream::read().
    void spool(Meter* meter = nullptr);

    // Throws if what was read of a regular file may not be what was in it when it was opened: InputChangedError if the
    // file has been made shorter or longer, or written to since, as far as size and times tell; std::system_error if
    // the medium could not be read. A file that is replaced, renamed or removed is as good as before, and so is one
    // that pretends to be empty. A snapshot may be longer and have other times. Any thread.
    void throw_if_changed() const;
    // Whether nothing has changed since the input was opened but the time of the last status change, as `touch -a`
    // does. Then the file as it is now counts from here on. It may have been written to all the same, by somebody who
    // put the time of the last write back: scan again and compare. False for a stream. Throws std::system_error.
    // Not while another thread uses the input.
    bool accept_touch() const;
    bool is_unchanged() const;

    // For handlers of exceptions: throws what throw_if_changed() does if that throws, else the current exception. That
    // the system could not read a mapping for itself, EFAULT, becomes an error of the medium.
    [[noreturn]] void rethrow() const;

private:
    struct Impl;
    explicit Input(std::unique_ptr<Impl> impl);
    Impl& opened() const;
    std::unique_ptr<Impl> impl_;
};

}  // namespace cleave
