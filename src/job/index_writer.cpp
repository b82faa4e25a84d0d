// Creates the index of a file and writes it next to the file.
//
//   wait until the clock has passed the time of the file's last change
//   scan the file; while each MiB is in the cache, walk to its first record start (scan/first_starts.h)
//   write the bytes to a file without a name; sync it; give it the name, in exchange for any older index
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
#include <thread>

#include "cleave/error.h"
#include "cleave/index_file.h"
#include "cleave/names.h"
#include "cleave/output.h"
#include "dialect/check_arguments.h"
#include "io/fd.h"
#include "scan/check_arguments.h"
#include "scan/first_starts.h"
#include "write/piece_store.h"

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
    throw OutputError(path, "exists and is not an index made by cleave");
}

// The template that yields exactly this path.
std::string literal(const std::string& path) {
    std::string text;
    for (const char c : path) text.append(c == '{' || c == '}' ? 2 : 1, c);
    return text;
}

// Gives the index the permissions of the file, but lets no other user write to it: such an index would not be trusted.
void set_permissions(const TemporaryFile& file) {
    constexpr mode_t kMost = S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH;
    const mode_t mode = stat_of(file.descriptor(), file.path()).st_mode & kMost;
    if (::fchmod(file.descriptor(), mode) != 0) throw_errno(file.path());
}

}  // namespace

void write_index(const Input& input, const IndexContents& contents) {
    const std::string path = index_path(input.path());
    const std::vector<std::uint8_t> bytes = encode_index(contents);
    const Piece whole;
    const PieceNamer namer(literal(path), input.path(), 1, 1);
    OutputOptions options;
    options.replace = is_index_there(path);
    PieceStore store(input, namer, options, false);
    store.begin();
    store.check(path);
    TemporaryFile file = store.create(path);
    set_permissions(file);
    write_all(file.descriptor(), bytes, path, input.cancellation());
    // Sync first: after a power failure, the named file might otherwise not be an index, and could not be replaced.
    file.sync();
    store.publish(whole, std::move(file), false);
    store.seal("", "");
    store.commit();
}

IndexContents make_index(Input& input, const Dialect& dialect, const Execution& execution,
                         FunctionRef<void(const Findings&)> found) {
    checked(dialect);
    checked_kernel(execution);
    if (input.is_stream()) throw ArgumentError("index: the input is a stream");
    if (input.is_snapshot()) throw ArgumentError("index: the input is a snapshot");
    wait_for_next_tick(input);
    Execution by_step = execution;
    by_step.block_size = kIndexStep;
    by_step.index = nullptr;
    FirstStarts starts;
    const bool finds_starts = by_step.summariser == nullptr;
    if (finds_starts) by_step.summariser = &starts;
    const RecordIndex index = index_records(input, dialect, by_step);
    const Findings& findings = index.findings();
    if (found) found(findings);
    if (findings.open_quote) throw OpenQuoteError(*findings.open_quote);

    IndexContents contents;
    const FileIdentity file = input.identity();
    IndexHead& head = contents.head;
    head.dialect_digest = dialect_digest(dialect);
    head.size = findings.size;
    head.mtime_ns = file.mtime_ns;
    head.ctime_ns = file.ctime_ns;
    head.inode = file.inode;
    head.header_size = Locator(index).start_of(findings.header_records).offset;
    head.header_records = findings.header_records;
    head.records = findings.records;
    head.divergence = findings.divergence;
    contents.entries = index.first_boundaries(input.cancellation(), finds_starts ? &starts : nullptr);
    rescan_if_touched(input, index, dialect, by_step);
    return contents;
}

void write_index(Input& input, const Dialect& dialect, const Execution& execution,
                 FunctionRef<void(const Findings&)> found) {
    is_index_there(index_path(input.path()));  // now rather than after the scan
    write_index(input, make_index(input, dialect, execution, found));
}

}  // namespace cleave
