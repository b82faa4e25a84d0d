// An open input: a file with random access, bytes in memory, or a stream. Knows nothing about CSV.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "cleave/blob.h"
#include "cleave/cancel.h"
#include "cleave/compression.h"
#include "cleave/encoding.h"
#include "cleave/meter.h"
#include "cleave/stream.h"

namespace cleave {

class RemoteFile;
struct InputParts;

// Enough information to recognise a file, and to tell whether it has been written to.
struct FileIdentity {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::uint64_t size = 0;
    std::int64_t mtime_ns = 0;
    // The lower nine bits of the mode of a regular file: no set-id bits, no sticky bit. 0666 for pipes, devices, and
    // files in /proc.
    std::uint32_t permissions = 0666;
    std::int64_t ctime_ns = 0;  // of the last status change
    std::uint32_t owner = 0;    // the user ID

    bool is_same_file(const FileIdentity& other) const { return device == other.device && inode == other.inode; }
};

// How the bytes of a regular file are read.
enum class Access : std::uint8_t {
    kRead,    // with pread(), block by block: no change to the file can raise SIGBUS
    kMapped,  // through a mapping, without copying, if a MappingGuard exists when the file is opened; otherwise as
              // kRead
};

// An open input, which this object owns: a Blob or a Stream. A regular file is a blob, even an empty one. Streams are
// pipes, devices, files that report size 0 but have content (as in /proc), files that should be mapped but cannot be,
// and compressed data, which is recognised by its first bytes: see Compression, but also read_by_index() in
// index_file.h. Everything below counts decompressed
// bytes unless it says otherwise. Offsets count from where reading begins: standard input may be in the middle of a
// file. For use by one thread at a time, but several threads may read the blob.
//
// A stream is read once: with read() until the end, with spool(), or in one of the functions that read an input
// (scan(), examine(), cut_stream(), run_job()). All members and those functions throw ArgumentError for an
// Input that was moved from, or if the input is in the wrong state.
//
// If another process changes a file while it is read, the lent bytes change too. If the file becomes shorter after
// the MappingGuard is gone, reading a view of a mapping can end the process with SIGBUS. Results are undefined but
// safe. Call throw_if_changed() before using a result, and after a call has thrown: the change may be the cause.
class Input {
public:
    // Opens the file at `path`, or standard input for "-". `cancellation`, if not null, must outlive the input; when it
    // is requested, waits for a stream end with Cancelled. Text that is not kBytes, compressed or not, is converted to
    // UTF-8 as it is read: the input is a stream, everything counts bytes of the UTF-8, and reading throws InputError
    // for text that is not valid. Throws SystemError, and ArgumentError for a path with a NUL byte.
    static Input open(const std::string& path, const Cancellation* cancellation = nullptr,
                      Access access = Access::kRead, Encoding encoding = Encoding::kBytes);

    // The same for an open descriptor, which the input owns from then on, even if this throws. `path` is only a name.
    static Input of_descriptor(int descriptor, const std::string& path, const Cancellation* cancellation = nullptr,
                               Access access = Access::kRead, Encoding encoding = Encoding::kBytes);

    // Opens a file that other processes append to, such as a log, to read it as it is now. The input is a blob with the
    // size that the file has at this moment, even if that is 0. throw_if_changed() accepts new times and a larger size,
    // and throws only if the file is shorter, so it does not notice a write to the middle of the file. The last record
    // may be half written: index_records() and the functions that call it (scan(), examine(), plan()) leave out an
    // incomplete last record. Throws what open() throws, and SnapshotError for a pipe, a device, a compressed file, a
    // file that does not report its size, and a file that cannot be mapped.
    static Input open_snapshot(const std::string& path, const Cancellation* cancellation = nullptr,
                               Access access = Access::kRead);

    // Bytes in memory, which must outlive the input, as a mapped blob. They never count as changed. Compressed bytes
    // are not decompressed. `path` is only a name.
    static Input of_memory(std::span<const std::uint8_t> bytes, const std::string& path,
                           const Cancellation* cancellation = nullptr);
    static Input of_memory(TemporaryBytes auto&& bytes, const std::string& path,
                           const Cancellation* cancellation = nullptr) = delete;

    Input(Input&&) noexcept;
    Input& operator=(Input&&) noexcept;
    ~Input();

    // The path as given, even if it is "-".
    const std::string& path() const&;
    const std::string& path() const&& = delete;
    // The name that decides the dialect and the names of pieces: the path, but for a zip archive without another
    // suffix, that of the file in it takes the place of .zip, as in q.jsonl for q.zip. For a stream, this is not known
    // until the first peek(), read() or spool().
    std::string path_with_suffix() const;
    // Identifies the opened file, compressed or not. mtime_ns is 0 unless it is a regular file. The inode of a remote
    // file is a digest of its version.
    FileIdentity identity() const;
    // The file elsewhere, or null.
    const RemoteFile* remote() const;
    // What tells a file elsewhere from every other, whatever it is called; empty for every other input.
    const std::string& remote_place() const&;
    const std::string& remote_place() const&& = delete;
    // How the input is compressed. For a stream, this is not known until the first peek(), read() or spool().
    Compression compression() const;
    // As given to open(). For a stream, kAuto and kUtf16 become what was found with the first peek(), read() or
    // spool().
    Encoding encoding() const;
    // How many bytes a stream has read from its file, before decompression. spool() keeps this number.
    std::uint64_t consumed() const;
    // Where in the file reading began; 0 for a spooled input.
    std::uint64_t offset_in_file() const;
    const Cancellation* cancellation() const;
    // Replaces the Cancellation that ends waits for a stream; null for none. It must live until the next call, or for
    // as long as the input. Does nothing for an input that was moved from.
    void set_cancellation(const Cancellation* cancellation) noexcept;

    // How many threads may decompress a stream, including the reader's, or read what read_by_index() (see index_file.h)
    // has made a blob; initially 1. More threads help with gzip in a file, and with the blocks of BGZF and xz. The
    // bytes and the errors are the same however many there are. Functions that take an Execution set this to its number
    // of threads. For xz, the number counts when the first byte is read. Does nothing for other inputs.
    void set_threads(unsigned threads) noexcept;

    // For a reader that needs the input to itself. claim() returns false if another reader has claimed it. Any thread
    // may call these.
    bool claim() noexcept;
    void release_claim() noexcept;

    bool is_snapshot() const;
    // Snapshots only: removes the last `size` bytes from the blob; `size` is at most the blob's size. Throws
    // ArgumentError otherwise. Do not call it while another thread uses the input.
    void leave_out(std::uint64_t size);
    // How many bytes leave_out() has removed in all.
    std::uint64_t left_out() const;

    // Whether the input is a stream. Otherwise it is a blob.
    bool is_stream() const;
    // The whole input, without the bytes that were left out. Not available for a stream: see spool(). Valid for as long
    // as the input exists.
    const Blob& blob() const&;
    const Blob& blob() const&& = delete;
    // Streams only. Valid until spool() is called or the input is destroyed.
    Stream& stream() &;

    // Whether the blob is a mapping in memory. Then bytes() is a view of the whole blob.
    bool is_mapped() const;
    std::span<const std::uint8_t> bytes() const&;
    std::span<const std::uint8_t> bytes() const&& = delete;

    // The first `size` bytes of the input, or all of it if it is shorter. read() returns them again. Call it before any
    // read(). The result is a copy, which does not change with the file, and is valid until the next call. Throws what
    // Stream::peek() and Blob::lend() throw.
    std::span<const std::uint8_t> peek(std::size_t size) &;

    // Streams only: see Stream::read().
    std::span<const std::uint8_t> read() &;

    // Copies a stream to an unlinked temporary file (in $TMPDIR, or else /var/tmp). The input is a blob from then on.
    // Does nothing if it is a blob already. Call it before any read(). `meter`, if not null, receives the progress.
    // Throws what Stream::read() throws.
    void spool(Meter* meter = nullptr);

    // Throws InputChangedError if a regular file has become shorter or longer, or has been written to, since it was
    // opened, as far as size and times show. Throws SystemError if the storage device could not be read.
    // Replacing, renaming or removing the file does not count as a change. A file that reported size 0 but had content
    // is not checked. A snapshot's file may grow, and its timestamps may change. Any thread may call it.
    void throw_if_changed() const;
    // The same, but returns true if only the time of the last status change is new, as after `touch -a`. From then on
    // the file is compared with its present state. A writer may have reset the modification time, so scan again and
    // compare. Never true for a stream. Do not call it while another thread uses the input.
    bool accept_touch() const;
    bool is_unchanged() const;

    // For exception handlers: throws what throw_if_changed() throws, or else rethrows the current exception. EFAULT
    // becomes EIO, because the system reports EFAULT when a system call cannot read a mapping.
    [[noreturn]] void rethrow() const;

private:
    struct Impl;
    friend class RecordIndex;
    friend struct InputParts;

    explicit Input(std::shared_ptr<Impl> impl);
    Impl& opened() const;
    std::shared_ptr<const Blob> shared_blob() const;

    std::shared_ptr<Impl> impl_;  // shared with the indices of its records
};

}  // namespace cleave
