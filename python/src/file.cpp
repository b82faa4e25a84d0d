#include "file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <system_error>
#include <utility>

#include "buffer.h"
#include "cleave/error.h"
#include "cleave/index_file.h"
#include "errors.h"
#include "guarded.h"

namespace nb = nanobind;

namespace cleave::python {
namespace {

constexpr std::size_t kPart = std::size_t{1} << 20;

// The smallest unit in which the system reads a file.
constexpr std::uint64_t kPage = 4096;

// An input of bytes that a Python object owns.
struct HeldInput {
    HeldInput(nb::handle object, const std::string& name)
        : buffer(object), input(Input::of_memory(buffer.bytes(), name)) {}

    Buffer buffer;
    Input input;
};

void append(Pieces& pieces, const Piece& piece) {
    pieces.starts.push_back(piece.start);
    pieces.lengths.push_back(piece.length);
    pieces.first_records.push_back(piece.first_record);
    pieces.records.push_back(piece.records);
}

bool is_same(const FileIdentity& a, const FileIdentity& b) {
    return a.is_same_file(b) && a.size == b.size && a.mtime_ns == b.mtime_ns && a.ctime_ns == b.ctime_ns;
}

// The file at `path`, called `name`.
Input open_as(const std::string& path, const std::string& name, Access access, Encoding encoding) {
    if (name == path) return Input::open(path, nullptr, access, encoding);
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) throw SystemError(errno, std::generic_category(), name);
    return Input::of_descriptor(descriptor, name, nullptr, access, encoding);
}

// Only a limited number of files can be mapped at once; the rest are read with pread().
Input open_input(const std::string& path, const std::string& name, Encoding encoding) {
    struct stat status;
    const bool is_file = ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
    Input input = open_as(path, name, Access::kMapped, encoding);
    if (is_file && input.is_stream()) input = open_as(path, name, Access::kRead, encoding);
    return input;
}

}  // namespace

File::File(std::shared_ptr<Input> input, const Settings& settings, bool is_path)
    : input_(std::move(input)),
      settings_(settings),
      identity_(input_->identity()),
      is_regular_(is_path && input_->path() != "-" && identity_.mtime_ns != 0),
      was_stream_(input_->is_stream()),
      process_(::getpid()) {
    input_->set_cancellation(cancellation_.get());
    run([&] {
        sniffed_ = settle_dialect(settings_.dialect, *input_);
        if (sniffed_.dialect.header == HeaderRecord::kNone) settings_.has_header = false;
        refuse_foreign(input_->peek(kSniffSize));
    });
}

std::unique_ptr<File> File::of_path(const std::string& path, const Settings& settings, const std::string& name) {
    auto input = [&] {
        const nb::gil_scoped_release unlocked;  // opening a FIFO waits for its writer
        const Guarded guarded;
        return std::make_shared<Input>(open_input(path, name.empty() ? path : name, settings.encoding));
    }();
    return std::unique_ptr<File>(new File(std::move(input), settings, name.empty()));
}

std::unique_ptr<File> File::of_buffer(nb::handle object, const std::string& name, const Settings& settings) {
    if (settings.encoding != Encoding::kBytes) throw ArgumentError("encoding: only a file or a pipe is converted");
    const auto held = std::make_shared<HeldInput>(object, name);
    return std::unique_ptr<File>(new File(std::shared_ptr<Input>(held, &held->input), settings, false));
}

Execution File::execution() const {
    Execution execution;
    execution.threads = settings_.threads;
    execution.index = index_file_;
    return execution;
}

void File::run(FunctionRef<void()> work, Length length) { run_locked(work, length, true, nullptr); }

void File::run_job(FunctionRef<void()> work, Watch& watch) { run_locked(work, Length::kLong, false, &watch); }

// Calls work() without the GIL, one call at a time. If the work is short and does not wait for a stream, this thread
// does it itself: starting a second thread, so that this one can check for signals, takes a tenth of a millisecond.
void File::run_locked(FunctionRef<void()> work, Length length, bool is_checked, Watch* watch) {
    std::unique_lock lock(lock_, std::defer_lock);
    {
        const nb::gil_scoped_release unlocked;
        lock.lock();
    }
    const auto checked_work = [&] {
        const Guarded guarded;
        try {
            if (process_ != ::getpid()) reopen_after_fork();
            work();
            if (is_checked) input_->throw_if_changed();
        } catch (const std::exception&) {
            input_->rethrow();  // a change to the input may be the cause
        }
    };
    try {
        if (length == Length::kShort && !input_->is_stream()) {
            const nb::gil_scoped_release unlocked;
            checked_work();
        } else {
            run_interruptible(*cancellation_, checked_work, watch);
        }
    } catch (const OpenQuoteError& error) {
        throw PlacedError{error, true, header_records()};
    } catch (const InputError& error) {
        throw PlacedError{error, false, header_records()};
    } catch (const nb::python_error&) {
        // A request to cancel cannot be withdrawn, and the index refers to this Cancellation.
        index_.reset();
        input_->set_cancellation(nullptr);
        cancellation_ = std::make_unique<Cancellation>();
        input_->set_cancellation(cancellation_.get());
        scanned_.reset();
        copied_.reset();
        throw;
    }
    const std::string warning = std::exchange(warning_, {});
    lock.unlock();
    if (!warning.empty()) warn(warning);
}

std::optional<std::pair<std::uint64_t, std::int64_t>> File::version() const {
    if (!is_regular_) return std::nullopt;
    return std::pair(identity_.size, identity_.mtime_ns);
}

std::uint64_t File::header_records() const {
    if (index_) return index_->findings().records_before_data(settings_.has_header);
    return (sniffed_.dialect.preamble > 0 ? 1U : 0U) + (settings_.has_header ? 1U : 0U);
}

// A stream shares its place in the file with the parent process; and what a stream or the index of a gzip file locks
// may be locked by threads that do not exist here. Nothing else has such a state.
void File::reopen_after_fork() {
    const bool is_file = identity_.mtime_ns != 0;
    if (is_file && (input_->is_stream() || is_gzip_by_index_)) {
        if (!is_regular_) throw ArgumentError("the input is a stream of the parent process; open it again here");
        std::shared_ptr<Input> input = reopened();
        input->peek(1);
        input_.swap(input);
        // Nothing waits for its locks, as it is never destroyed. NOLINTNEXTLINE(cppcoreguidelines-owning-memory)
        static_cast<void>(new std::shared_ptr<Input>(std::move(input)));
        index_.reset();
        index_file_.reset();
        is_read_ = is_gzip_by_index_ = has_looked_ = false;
    }
    process_ = ::getpid();
}

// Looks for an index, under the same rules as the command. It is read into memory, because a ColumnStream reads without
// a guard.
void File::look_for_index() {
    if (has_looked_) return;
    has_looked_ = true;
    if (!settings_.uses_index || !is_regular_) return;
    try {
        // With any dialect, a gzip file can be decoded from where the index says; the records are those of one dialect.
        is_gzip_by_index_ = input_->is_stream() && read_by_index(*input_, Access::kRead);
        if (input_->is_stream()) return;
        index_file_ = IndexFile::open(*input_, sniffed_.dialect, IndexMatch::kSameFile, Access::kRead);
    } catch (const IndexError& error) {
        if (!is_gzip_by_index_) warning_ = index_path(input_->path()) + ": not used: " + error.what();
    } catch (const std::system_error& error) {
        warning_ = std::string(error.what()) + ": not used";
    }
}

void File::need_blob() {
    if (is_read_) throw ArgumentError("the input is a stream that has already been read; open it again");
    look_for_index();
    input_->spool();
}

// The same file, from its beginning.
std::shared_ptr<Input> File::reopened() const {
    auto input = std::make_shared<Input>(Input::open(input_->path(), nullptr, Access::kRead, settings_.encoding));
    if (!is_same(input->identity(), input_->identity())) throw InputChangedError();
    input->set_cancellation(cancellation_.get());
    return input;
}

// Rules do not believe an index: a scan must find the same records. Throws IndexError.
void File::require_records(Input& input, const RecordRange& range) {
    if (!scanned_) {
        Execution execution = this->execution();
        execution.index = nullptr;
        scanned_.emplace(index_records(input, sniffed_.dialect, execution));
    }
    Locator locator(*scanned_);
    const std::uint64_t end = range.begin.offset + range.size;
    const Boundary begin{range.begin.offset, range.begin.record};
    if (locator.at_or_after(begin.offset) != begin || locator.at_or_after(end).offset != end) {
        throw IndexError("it does not say where the records are");
    }
}

// The input to read columns from. All columns of a gzip file are read from the beginning, which is faster, and nothing
// is decoded by an index under rules.
std::shared_ptr<Input> File::input_for(const ColumnStreamOptions& options) {
    if (is_read_ || options.range) {
        need_blob();
    } else if (input_->is_stream()) {
        look_for_index();
    }
    const bool has_rules = !options.rules.rules.empty();
    std::shared_ptr<Input> input = input_;
    if (is_gzip_by_index_ && !options.range) input = reopened();
    if (is_gzip_by_index_ && options.range && has_rules) {
        if (!copied_) {
            input = reopened();
            input->spool();
            copied_ = input;
        }
        input = copied_;
    }
    if (index_file_ && options.range && has_rules) require_records(*input, *options.range);
    return input;
}

// Also with an open quote.
const RecordIndex& File::index_of_any() {
    need_blob();
    if (!index_) {
        index_.emplace(index_records(*input_, sniffed_.dialect, execution()));
    }
    input_->throw_if_changed();
    return *index_;
}

const RecordIndex& File::index() {
    const RecordIndex& index = index_of_any();
    const std::optional<Place>& open = index.findings().open_quote;
    if (open && !settings_.allow_open_quote) throw OpenQuoteError(*open);
    return index;
}

bool File::is_gzip_by_index() {
    run([&] { look_for_index(); });
    return is_gzip_by_index_;
}

std::uint64_t File::size() {
    std::uint64_t size = 0;
    const auto find = [&] {
        need_blob();
        size = input_->blob().size();
    };
    run(find, Length::kShort);
    return size;
}

Findings File::findings() {
    Findings findings;
    run([&] { findings = index().findings(); });
    return findings;
}

std::uint64_t File::header_size() {
    std::uint64_t size = 0;
    run([&] {
        Policy policy;
        policy.pieces = 1;
        policy.header = settings_.has_header ? HeaderMode::kDrop : HeaderMode::kNone;
        size = cleave::header_size(index(), policy);
    });
    return size;
}

std::uint64_t File::start_of(std::uint64_t record) {
    std::uint64_t start = 0;
    run([&] {
        const RecordIndex& index = index_of_any();
        const std::uint64_t header_records = index.findings().records_before_data(settings_.has_header);
        start = Locator(index).start_of(header_records + record).offset;
    });
    return start;
}

Examination File::examine(std::uint64_t max_listed) {
    Examination examination;
    run([&] {
        need_blob();
        Execution execution = this->execution();
        execution.index = nullptr;
        examination = cleave::examine(*input_, sniffed_.dialect, execution, max_listed);
    });
    return examination;
}

Pieces File::split(const Policy& policy) {
    Pieces pieces;
    run([&] { pieces.header_size = plan_pieces(index(), policy, [&](const Piece& piece) { append(pieces, piece); }); });
    return pieces;
}

std::unique_ptr<PiecesByValue> File::split_by_value(const Policy& policy) {
    std::unique_ptr<PiecesByValue> pieces;
    run([&] {
        pieces = std::make_unique<PiecesByValue>(cleave::PiecesByValue(index(), policy));
        pieces->header_size = pieces->plan.header_size();
        for (const Piece& piece : pieces->plan.pieces()) append(*pieces, piece);
    });
    return pieces;
}

nb::bytes File::read(std::uint64_t start, std::uint64_t length, std::uint64_t header_size) {
    const BlobRange range{start, length};
    return gather({&range, 1}, header_size);
}

nb::bytes File::gather(std::span<const BlobRange> ranges, std::uint64_t header_size) {
    const std::uint64_t size = this->size();
    const BlobRange header{0, header_size};
    std::uint64_t length = 0;
    const auto add = [&](const BlobRange& range) {
        const bool is_inside = range.offset <= size && range.size <= size - range.offset;
        if (!is_inside) throw ArgumentError("the range is not within the input");
        length += range.size;
    };
    add(header);
    for (const BlobRange& range : ranges) add(range);
    auto bytes = nb::steal<nb::bytes>(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(length)));
    if (!bytes.is_valid()) throw nb::python_error();
    // Nothing else refers to the object yet.
    char* out = PyBytes_AsString(bytes.ptr());
    const bool is_short = length <= kPart && ranges.size() <= kPart / kPage;
    const auto copy = [&] {
        std::vector<std::uint8_t> buffer;
        const auto append = [&](const BlobRange& range) {
            for (std::uint64_t done = 0; done < range.size;) {
                cancellation_->throw_if_requested();
                const auto part = static_cast<std::size_t>(std::min<std::uint64_t>(kPart, range.size - done));
                const auto lent = input_->blob().lend(range.offset + done, part, buffer);
                out = std::copy(lent.begin(), lent.end(), out);
                done += part;
            }
        };
        append(header);
        for (const BlobRange& range : ranges) append(range);
    };
    run(copy, is_short ? Length::kShort : Length::kLong);
    return bytes;
}

ColumnStream File::select(const Selection& selection) {
    ColumnStreamOptions options;
    options.has_header = settings_.has_header;
    if (selection.columns) options.columns.emplace(*selection.columns);
    for (const auto& [text, origin] : selection.rules) options.rules.rules.push_back({text, origin});
    options.rules.files = files_of_rules(options.rules.rules);
    options.rules.is_escape_given = settings_.is_escape_given;
    options.rules.is_delimiter_given = options.rules.is_header_given = true;  // the numbers refer to names()
    options.keys = selection.keys;
    options.layout.empty_is_null = selection.empty_is_null;
    options.layout.missing_is_null = selection.missing_is_null;
    options.is_text = selection.is_text;
    options.allow_open_quote = settings_.allow_open_quote;
    options.page_size = selection.page_size;
    options.range = selection.range;
    std::optional<ColumnStream> stream;
    run([&] {
        if (options.range) options.range->begin.record += header_records();
        stream.emplace(input_for(options), sniffed_.dialect, options, execution());
        is_read_ = input_->is_stream();
    });
    return std::move(*stream);
}

std::vector<std::string> File::names() {
    std::vector<std::string> names;
    const auto find = [&] {
        if (is_read_) need_blob();
        names = column_names(*input_, sniffed_.dialect, settings_.has_header);
    };
    run(find, Length::kShort);
    return names;
}

}  // namespace cleave::python
