// Creates the index of a file and writes it next to the file.
//
//   wait until the clock has passed the time of the file's last change
//   scan the file; while each MiB is in the cache, walk to its first record start (scan/block_summariser.h); or, a gzip
//       file: scan it in order (scan/stream_starts.h), and note from where it can be decoded
//       (features/index/gzip_notes.h)
//   write the bytes to a file without a name; sync it; give it the name, in exchange for any older index; or, if the
//       file is in a store: write them as an object
//
// The wait protects against edits right after the scan. A file's times advance in ticks of some milliseconds. A second
// change within the same tick leaves the times as they are, so an index created in between would look valid. Once that
// tick is over, every change sets a different time.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "cleave/error.h"
#include "cleave/index_file.h"
#include "cleave/output.h"
#include "core/dialect/check_arguments.h"
#include "core/reader/fd.h"
#include "core/reader/input_parts.h"
#include "core/reader/remote_file.h"
#include "core/scan/block_summariser.h"
#include "core/scan/check_arguments.h"
#include "core/scan/stream_starts.h"
#include "core/writer/lone_file.h"
#include "features/index/gzip_notes.h"

namespace cleave {
namespace {

// The time that a file would get if it were changed now, in nanoseconds since 1970.
std::int64_t file_time() {
    constexpr std::int64_t kNsPerSecond = 1'000'000'000;
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME_COARSE, &now);
    return now.tv_sec * kNsPerSecond + now.tv_nsec;
}

// Gives up after about 50 ms if that time is in the future: a server's clock may differ, or someone may have set the
// time.
void wait_for_next_tick(const Input& input) {
    constexpr int kMostWaits = 50;
    for (int i = 0; i < kMostWaits && file_time() <= input.identity().ctime_ns; ++i) {
        if (input.cancellation() != nullptr) input.cancellation()->throw_if_requested();
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

[[noreturn]] void refuse_other(const std::string& path) {
    throw OutputError(path, "exists and is not an index made by cleave");
}

// Throws OutputError if there is anything but an index beside the file.
void require_index_or_nothing(const RemoteFile& remote, const std::string& path) {
    const auto there = remote.find_beside(kIndexSuffix);
    if (!there) return;
    std::array<std::uint8_t, 8> bytes{};
    if (there->size() < bytes.size()) refuse_other(path);
    there->read(0, bytes);
    if (!IndexView::begins_as_index(bytes)) refuse_other(path);
}

// Whether there is an index at `path`, which may be replaced. Throws OutputError if there is anything else.
bool is_index_there(const std::string& path) {
    const Fd fd(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!fd.is_open() && errno == ENOENT) return false;
    if (!fd.is_open() && errno != ELOOP) throw_errno(path);
    std::array<std::uint8_t, 8> bytes{};
    if (fd.is_open() && S_ISREG(stat_of(fd.get(), path).st_mode)) {
        const std::size_t size = read_at(fd.get(), 0, bytes, path);
        if (IndexView::begins_as_index(std::span(bytes).first(size))) return true;
    }
    refuse_other(path);
}

// What the scan of an input finds for its index.
struct Scanned {
    Findings findings;
    std::uint64_t header_size = 0;
    std::vector<Boundary> entries;
    std::optional<GzipIndex> gzip;
};

using Found = FunctionRef<void(const Findings&)>;

void report(const Findings& findings, const Found& found) {
    if (found) found(findings);
    if (findings.open_quote) throw OpenQuoteError(*findings.open_quote);
}

Scanned scan_blob(Input& input, const Dialect& dialect, Execution execution, const Found& found) {
    execution.block_size = kIndexStep;
    execution.index = nullptr;
    FirstStarts starts;
    const bool finds_starts = execution.summariser == nullptr;
    if (finds_starts) execution.summariser = &starts;
    const RecordIndex index = index_records(input, dialect, execution);
    Scanned scanned{index.findings(), 0, {}, {}};
    report(scanned.findings, found);
    scanned.header_size = Locator(index).start_of(scanned.findings.header_records).offset;
    scanned.entries = index.first_boundaries(input.cancellation(), finds_starts ? &starts : nullptr);
    rescan_if_touched(input, index, dialect, execution);
    return scanned;
}

Scanned scan_gzip(Input& input, const Dialect& dialect, const Execution& execution, const Found& found) {
    const auto notes = std::make_shared<GzipNotes>(execution.thread_count());
    InputParts::restart(input, "make_index()", notes);
    StreamStarts starts(kIndexStep);
    Scanned scanned{scan_stream(input, dialect, execution, &starts), starts.header_size(), starts.boundaries(),
                    notes->take()};
    report(scanned.findings, found);
    scanned.gzip->file_size = input.identity().size;
    return scanned;
}

}  // namespace

void write_index(const Input& input, const IndexContents& contents) {
    const std::string path = index_path(input.path());
    const std::vector<std::uint8_t> bytes = encode_index(contents);
    if (const RemoteFile* const remote = input.remote()) {
        require_index_or_nothing(*remote, path);
        remote->write_beside(kIndexSuffix, bytes);
        return;
    }
    // No other user may write to the index, which would not be trusted then. Windows are parts of the text, which
    // somebody who may read the compressed file must not get unasked: other users cannot read them, whatever the mode
    // of the file.
    constexpr mode_t kOwn = S_IRUSR | S_IWUSR;
    const bool has_text = contents.gzip.has_value();
    LoneFile file(path, input, is_index_there(path), has_text ? kOwn : kOwn | S_IRGRP | S_IROTH);
    if (has_text && ::fchmod(file.descriptor(), kOwn) != 0) throw_errno(path);
    write_all(file.descriptor(), bytes, path, input.cancellation());
    // Sync first: after a power failure, the named file might otherwise not be an index, and could not be replaced.
    if (::fsync(file.descriptor()) != 0) throw_errno(path);
    file.publish();
    file.commit();
}

IndexContents make_index(Input& input, const Dialect& dialect, const Execution& execution,
                         FunctionRef<void(const Findings&)> found) {
    checked(dialect);
    checked_kernel(execution);
    if (input.is_stream()) {
        input.peek(1);  // detects the compression
        if (!InputParts::is_gzip_file(input)) throw ArgumentError("index: the input is a stream");
    }
    if (input.is_snapshot()) throw ArgumentError("index: the input is a snapshot");
    wait_for_next_tick(input);
    Scanned scanned =
        input.is_stream() ? scan_gzip(input, dialect, execution, found) : scan_blob(input, dialect, execution, found);
    const Findings& findings = scanned.findings;
    const FileIdentity file = input.identity();
    IndexContents contents;
    IndexHead& head = contents.head;
    head.dialect_digest = dialect_digest(dialect);
    head.size = findings.size;
    head.mtime_ns = file.mtime_ns;
    head.ctime_ns = file.ctime_ns;
    head.inode = file.inode;
    head.header_size = scanned.header_size;
    head.header_records = findings.header_records;
    head.records = findings.records;
    head.divergence = findings.divergence;
    contents.entries = std::move(scanned.entries);
    contents.gzip = std::move(scanned.gzip);
    return contents;
}

void write_index(Input& input, const Dialect& dialect, const Execution& execution,
                 FunctionRef<void(const Findings&)> found) {
    const std::string path = index_path(input.path());
    if (const RemoteFile* const remote = input.remote()) {  // now rather than after the scan
        require_index_or_nothing(*remote, path);
    } else {
        is_index_there(path);
    }
    write_index(input, make_index(input, dialect, execution, found));
}

}  // namespace cleave
