// An open input: a file with random access, bytes in memory, or a stream. Knows no CSV.
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

// Enough to recognise a file, and to see whether it was written to.
struct FileIdentity {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::uint64_t size = 0;
    std::int64_t mtime_ns = 0;
    // The lower nine bits of the mode of a regular file: no set-id bits, no sticky bit. 0666 for pipes, devices, and
    // files in /proc.
    std::uint32_t permissions = 0666;
    std::int64_t ctime_ns = 0;  // of the last status change
    std::uint32_t owner = 0;    // the number of the user

    bool is_same_file(const FileIdentity& other) const { return device == other.device && inode == other.inode; }
};

// How the bytes of a regular file are read.
enum class Access : std::uint8_t {
    kMapped,  // in a mapping, without a copy
    kRead,    // by pread(), block by block: slower, but no change of the file can raise SIGBUS
};

// An open input, owned: a Blob or a Stream. A regular file is a blob, an empty one too. Streams are: pipes; devices;
// files that report size 0 and have bytes, as those in /proc do; files that are to be mapped and cannot be; and data
// compressed by gzip or zstd, recognised by the first bytes. Everything below counts decompressed bytes unless it says
// otherwise. Offsets count from where reading begins: standard input may stand in the middle of a file. For one thread
// at a time, but several threads may read the blob.
//
// A stream is read once: by read() until the end, by spool(), or by one of the functions that read an input (scan(),
// examine(), cut_stream(), run_job()). All members, and those functions, throw std::invalid_argument for an Input
// that was moved from, and where a member is called in the wrong state.
//
// If others change a file while it is read, the lent bytes change too. If the file becomes shorter and there is no
// MappingGuard, reading a view of a mapping can end the process by SIGBUS. Results are undefined but safe. Call
// throw_if_changed() before using a result, and when a call has thrown: the change may be the cause.
class Input {
public:
    // Opens the file at `path`, or standard input for "-". `cancellation`, if any, must outlive the input and ends
    // waits for a stream by Cancelled. Throws std::system_error, and std::invalid_argument for a path with a NUL byte.
    static Input open(const std::string& path, const Cancellation* cancellation = nullptr,
                      Access access = Access::kMapped);

    // The same for an open descriptor, which the input owns from here on, even if this throws. `path` is a name.
    static Input of_descriptor(int descriptor, const std::string& path, const Cancellation* cancellation = nullptr,
                               Access access = Access::kMapped);

    // Opens a file that others append to, such as a log, to read it as it is now. The input is a blob of the size that
    // the file has at this moment, also if that is 0. throw_if_changed() accepts new times and a larger size, and
    // throws if the file is shorter. So a write into the middle of the file is not noticed. The last record may be half
    // written: index_records() and the functions that call it (scan(), examine(), plan()) leave out an incomplete last
    // record. Throws as open(), and SnapshotError for a pipe, a device, a compressed file, a file that does not report
    // its size, and a file that cannot be mapped.
    static Input open_snapshot(const std::string& path, const Cancellation* cancellation = nullptr,
                               Access access = Access::kMapped);

    // Bytes in memory, which must outlive the input, as a blob that is mapped. They never count as changed. Compressed
    // bytes are not decompressed. `path` is a name.
    static Input of_memory(std::span<const std::uint8_t> bytes, const std::string& path,
                           const Cancellation* cancellation = nullptr);
    static Input of_memory(TemporaryBytes auto&& bytes, const std::string& path,
                           const Cancellation* cancellation = nullptr) = delete;

    Input(Input&&) noexcept;
    Input& operator=(Input&&) noexcept;
    ~Input();

    // As given, "-" included.
    const std::string& path() const;
    // Of the opened file, compressed or not. mtime_ns is 0 unless it is a regular file.
    FileIdentity identity() const;
    // How the input is compressed. For a stream: known after the first peek(), read() or spool().
    Compression compression() const;
    // How many bytes a stream has read from its file, before decompression. Kept by spool().
    std::uint64_t consumed() const;
    // Where in the file reading began; 0 for a spooled input.
    std::uint64_t offset_in_file() const;
    const Cancellation* cancellation() const;
    // Replaces the Cancellation that ends waits for a stream; null for none. It must live as long as the input, or
    // until the next call. Does nothing for an input that was moved from.
    void set_cancellation(const Cancellation* cancellation) noexcept;

    // How many threads may decompress a stream, that of the reader among them. 1 at first. They help where a file
    // consists of parts that can be decompressed alone: blocks of BGZF. The bytes are the same. The functions that take
    // an Execution set this to its threads. Does nothing for other inputs.
    void set_threads(unsigned threads) noexcept;

    // For a reader that needs the input for itself. claim() returns false if another one has it. Any thread.
    bool claim() noexcept;
    void release_claim() noexcept;

    bool is_snapshot() const;
    // Snapshots only: removes the last `size` bytes from the blob, at most its size. Throws std::invalid_argument
    // otherwise. Not while another thread uses the input.
    void leave_out(std::uint64_t size);
    // How many bytes leave_out() has removed, in all.
    std::uint64_t left_out() const;

    // Whether the input is a stream. Otherwise it is a blob.
    bool is_stream() const;
    // The whole input, without the bytes that were left out. Not for a stream: see spool(). Valid as long as the input.
    const Blob& blob() const;
    // Streams only. Valid until spool(), or as long as the input.
    Stream& stream();

    // Whether the blob is a mapping in memory. Then bytes() is a view of the whole blob.
    bool is_mapped() const;
    std::span<const std::uint8_t> bytes() const;

    // The first `size` bytes of the input, or all of a shorter one. read() returns them again. Before any read(). Valid
    // until the next call. A copy, which does not change with the file. Throws as Stream::peek() and Blob::lend().
    std::span<const std::uint8_t> peek(std::size_t size);

    // Streams only: as Stream::read().
    std::span<const std::uint8_t> read();

    // Copies a stream to an unlinked temporary file (in $TMPDIR, else /var/tmp). The input is a blob from then on. Does
    // nothing if it is a blob already. Before any read(). `meter`, if not null, receives the progress. Throws as
    // Stream::read().
    void spool(Meter* meter = nullptr);

    // Throws InputChangedError if a regular file has become shorter or longer, or was written to, since it was opened,
    // as far as size and times tell. Throws std::system_error if the medium could not be read. Replacing, renaming or
    // removing the file is no change. A file that reported size 0 and had bytes is not checked. A snapshot may become
    // longer and have other times. Any thread.
    void throw_if_changed() const;
    // The same, but returns true if only the time of the last status change is new, as after `touch -a`. From then on
    // changes are judged against the file as it is now. A writer may have reset the time of the last write: scan again
    // and compare. Never true for a stream. Not while another thread uses the input.
    bool accept_touch() const;
    bool is_unchanged() const;

    // For exception handlers: throws what throw_if_changed() throws, or else the current exception. EFAULT becomes EIO:
    // the system reports EFAULT if a system call could not read a mapping.
    [[noreturn]] void rethrow() const;

private:
    struct Impl;
    explicit Input(std::unique_ptr<Impl> impl);
    Impl& opened() const;
    std::unique_ptr<Impl> impl_;
};

}  // namespace cleave
