// Inputs as one: the bytes of the first, and of each other those behind its header.
//
//     read the head of each input: compare its header, note where its records begin and which version of it that is
//     a blob:   check how each input ends, with all threads; then it is known where the bytes of each begin
//     a stream: check it on the way
//
// An input that ends where a record does cannot move the records of the next one, so everything else reads the joined
// input like any other. Few inputs are open at a time; one that is opened again must be the same version.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <initializer_list>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/parallel.h"
#include "base/text_bytes.h"
#include "core/offsets/input_head.h"
#include "core/reader/copy.h"
#include "core/reader/fd.h"
#include "core/reader/file_blob.h"
#include "core/reader/input_parts.h"
#include "core/reader/location.h"
#include "core/scan/check_arguments.h"
#include "core/scan/walker.h"
#include "engine/joined.h"
#include "features/inputs/run/columns.h"
#include "rows/values/index_columns.h"

namespace cleave {
namespace {

// How many inputs stay open.
constexpr std::size_t kMostOpen = 64;
// How much is read at once.
constexpr std::size_t kInputBlockSize = std::size_t{1} << 20;
// All threads together check an input with more bytes than this.
constexpr std::uint64_t kLargeInput = std::uint64_t{64} << 20;

using Octets = std::span<const std::uint8_t>;

struct LineEnd {
    bool has_cr : 1 = false;
    bool has_lf : 1 = false;

    Octets bytes() const {
        static constexpr std::array<std::uint8_t, 2> kBoth = {'\r', '\n'};
        return Octets(kBoth).subspan(has_cr ? 0 : 1, std::size_t{has_cr} + std::size_t{has_lf});
    }
};

LineEnd line_end_of(Octets record) {
    const bool has_lf = !record.empty() && record.back() == '\n';
    const Octets rest = record.first(record.size() - std::size_t{has_lf});
    return {!rest.empty() && rest.back() == '\r', has_lf};
}

std::uint64_t digest_of(std::initializer_list<std::uint64_t> words) {
    std::uint64_t digest = 0;
    for (const std::uint64_t word : words) {
        digest = (digest ^ word) * 0x9E3779B97F4A7C15U;
        digest ^= digest >> 32U;
    }
    return digest;
}

// Tells a version of a file from others. Nobody gains from two that look alike.
std::uint64_t digest_of(const FileIdentity& file) {
    return digest_of({file.device, file.inode, file.size, static_cast<std::uint64_t>(file.mtime_ns),
                      static_cast<std::uint64_t>(file.ctime_ns)});
}

// An input, and what is taken of it. There may be very many.
struct Part {
    std::uint64_t begin = 0;    // in the joined input
    std::uint64_t records = 0;  // of the joined input before it; while a blob is checked, those that are taken of it
    std::uint64_t size = 0;     // of all of it; of a stream, once it has been read
    std::uint64_t version = 0;  // a digest
    std::int64_t mtime_ns = 0;
    std::uint32_t skipped = 0;        // bytes before its records; 0 for the first input
    std::uint32_t head_records = 0;   // before its first data record
    std::uint32_t order = 0;          // which of Joined::orders_, from 1; 0: columns as they are
    LineEnd line_end;                 // of its first record
    LineEnd added;                    // at its end; while a blob is checked, what its last record lacks
    bool begins_with_lf : 1 = false;  // its records
    bool ends_with_cr : 1 = false;
};

class Joined final : public JoinedInputs {
public:
    Joined(Input& first, const JoinOptions& options)
        : options_(options),
          kernel_(checked_kernel(options.execution)),
          start_(options.dialect, kernel_),
          cancellation_(first.cancellation()),
          is_stream_(options.is_read_in_order),
          parts_(options.inputs->size() + 1) {}

    // Call this first. `self` owns this object.
    void join(Input& first, const std::shared_ptr<Joined>& self);

    void for_each(FunctionRef<void(const InputPart&)> take) const override {
        std::uint64_t unused = 0;  // line ends
        for (std::size_t number = 0; number < count(); ++number) {
            const Part& part = parts_[number];
            const Part& next = parts_[number + 1];
            InputPart one{number, part.size, part.mtime_ns, part.begin - unused, 0, next.records - part.records};
            if (number == unused_) unused = part.added.bytes().size();
            one.length = next.begin - unused - one.start;
            if (number == 0) one.records -= std::min<std::uint64_t>(one.records, part.head_records);
            take(one);
        }
    }

    void for_each_range(BlobRange range, FunctionRef<void(const InputRange&)> take) const override {
        std::size_t number = part_at(range.offset);
        for (const std::uint64_t end = range.offset + range.size; range.offset < end; ++number) {
            const Part& part = parts_[number];
            const bool is_last = number + 1 == known_;
            const std::uint64_t own = is_last ? UINT64_MAX : parts_[number + 1].begin - part.added.bytes().size();
            const std::uint64_t to = std::min(end, own);
            if (range.offset < to) take({number, range.offset - part.begin + part.skipped, to - range.offset});
            range.offset = is_last ? end : parts_[number + 1].begin;
        }
    }

    InputPlace find(const Place& place) const override {
        const std::size_t number = part_at(place.offset);
        const Part& part = parts_[number];
        const std::uint64_t head = number == 0 ? 0 : part.head_records;
        return {number,
                {place.offset - part.begin + part.skipped, place.record - std::min(place.record, part.records) + head},
                part.head_records,
                part.order > 0};
    }

    std::optional<InputPlace> faulty() const override {
        const std::size_t input = faulty_;
        if (input == SIZE_MAX) return std::nullopt;
        return InputPlace{input, {}, parts_[input].head_records};
    }
    Location location(std::size_t input) const override { return (*options_.inputs)[input]; }
    void go_on(std::uint64_t records, bool lacks_line_end, bool has_line_end) override {
        for (; noted_ <= at_; ++noted_) parts_[noted_].records = records;
        unused_ = has_line_end ? ended_ : SIZE_MAX;
        if (lacks_line_end) lacking_ = parts_[known_ - 1].line_end;
        is_paused_ = false;
    }

    bool has_ranges() const override { return orders_.empty(); }

    std::uint64_t size() const { return parts_.back().begin; }
    void read(std::uint64_t offset, std::span<std::uint8_t> into) {
        for (std::size_t number = part_at(offset); !into.empty(); ++number) {
            const Part& part = parts_[number];
            const std::uint64_t end = parts_[number + 1].begin;
            const std::uint64_t end_of_file = part.begin + taken(number);
            if (offset < end_of_file) {
                const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(into.size(), end_of_file - offset));
                about(number,
                      [&] { opened(number)->blob().read(offset - part.begin + part.skipped, into.first(size)); });
                into = into.subspan(size);
                offset += size;
            }
            for (; offset < end && !into.empty(); ++offset, into = into.subspan(1))
                into.front() = part.added.bytes()[static_cast<std::size_t>(offset - end_of_file)];
        }
    }

    void throw_if_changed() {
        for (std::size_t number = 0; number < count(); ++number) {
            const Location place = location(number);
            if (place.is_url()) continue;  // reading notices a new version of a remote file
            about(number, [&] {
                struct stat status;
                const int result =
                    place.is_stream() ? ::fstat(STDIN_FILENO, &status) : ::stat(place.name().c_str(), &status);
                if (result != 0) throw_errno(place.shown());
                if (digest_of(identity_of(status)) != parts_[number].version) throw InputChangedError();
            });
        }
    }

private:
    // Finds where the records of an input begin, and compares its columns.
    void add_part(std::size_t number, Input& input) {
        if (cancellation_ != nullptr) cancellation_->throw_if_requested();
        Part& part = parts_[number];
        Dialect dialect = options_.dialect;
        if (number > 0) {
            const SniffedDialect sniffed = settle_dialect(options_.of_others, input);
            options_.examine(number, input, sniffed);
            dialect = sniffed.dialect;
        }
        const InputHead head = read_head(input, dialect, options_.header, kMaxRecordLimit);
        const bool is_empty = std::ranges::all_of(head.sample, is_line_break);  // it has no record, or only empty ones
        const auto size = static_cast<std::size_t>(head.size);
        const Octets bytes = input.peek(size + 1);
        part.head_records = static_cast<std::uint32_t>(head.records);
        part.begins_with_lf = bytes.size() > size && bytes[size] == '\n';
        part.line_end = line_end_of(head.sample);
        if (part.line_end.bytes().empty()) {
            const bool is_cr = options_.dialect.terminator == Terminator::kCr;
            part.line_end = number == 0 ? LineEnd{is_cr, !is_cr} : parts_[number - 1].line_end;
        }
        if (number == 0) {
            lead_ = lead_of(bytes.first(size), dialect);
            lead_.size = std::min(lead_.size, head.size);
        } else {
            const std::uint64_t skipped = is_empty && head.has_header ? input.peek(SIZE_MAX).size() : head.size;
            part.skipped = static_cast<std::uint32_t>(std::min<std::uint64_t>(skipped, UINT32_MAX));
        }
        const FileIdentity file = input.identity();
        permissions_ &= file.permissions;
        part.version = digest_of(file);
        part.mtime_ns = file.mtime_ns;
        is_stream_ = is_stream_ || input.is_stream();
        if (!input.is_stream()) part.size = input.blob().size();

        if (is_empty) return;
        const InputColumns columns = columns_of_record(head.sample, dialect, head.has_header);
        if (number == 0 || (columns_.count == 0 && !head.has_header)) columns_ = columns;
        if (is_json_lines(options_.dialect)) return;
        const std::optional<Order> order = order_of(columns, columns_, options_);
        if (!order) return;
        const auto same = std::ranges::find(orders_, *order);
        part.order = static_cast<std::uint32_t>(same - orders_.begin()) + 1;
        if (same == orders_.end()) orders_.push_back(*order);
        is_stream_ = true;
    }

    void refuse_same_files() const {
        std::vector<std::pair<std::uint64_t, std::size_t>> files;
        files.reserve(count());
        for (std::size_t number = 0; number < count(); ++number) files.emplace_back(parts_[number].version, number);
        std::ranges::sort(files);
        const auto same = std::ranges::adjacent_find(files, {}, [](const auto& file) { return file.first; });
        if (same == files.end()) return;
        throw ArgumentError("'" + location(same[0].second).shown() + "' and '" + location(same[1].second).shown() +
                            "' are the same file");
    }

    // Of all inputs together.
    FileIdentity identity(const Input& first) const {
        FileIdentity file = first.identity();
        file.permissions = permissions_;
        file.inode = 0;
        for (const Part& part : parts_) {
            file.inode = digest_of({file.inode, part.version});
            file.mtime_ns = std::max(file.mtime_ns, part.mtime_ns);
        }
        return file;
    }

    bool has(const FileIdentity& file) const {
        return std::ranges::find(parts_, digest_of(file), &Part::version) != parts_.end();
    }

    std::size_t count() const { return options_.inputs->size(); }
    std::uint64_t taken(std::size_t number) const { return parts_[number].size - parts_[number].skipped; }
    Dialect dialect_of(std::size_t number, Input& input) const {
        return number == 0 ? options_.dialect : settle_dialect(options_.of_others, input).dialect;
    }
    // Where records of an input are scanned from.
    std::uint64_t scan_begin(std::size_t number) const { return number == 0 ? lead_.size : parts_[number].skipped; }
    Walker walker_of(std::size_t number) const {
        Walker walker = start_;
        const std::uint64_t before = number == 0 ? lead_.records() : parts_[number].head_records;
        walker.seek(scan_begin(number), before, State::kRecordStart);
        return walker;
    }

    std::uint64_t records_taken(std::size_t number, const Walker& walker) const {
        return walker.records() - (number == 0 ? 0 : parts_[number].head_records);
    }
    Input open(std::size_t number) const {
        Input input = options_.open(number);
        if (digest_of(input.identity()) != parts_[number].version) throw InputChangedError();
        return input;
    }

    std::shared_ptr<const Input> opened(std::size_t number) {
        const std::size_t slot = number % kMostOpen;
        {
            const MutexLock lock(mutex_);
            if (open_[slot].second && open_[slot].first == number) return open_[slot].second;
        }
        auto input = std::make_shared<const Input>(open(number));
        const MutexLock lock(mutex_);
        open_[slot] = {number, input};
        return input;
    }

    // The part that the byte belongs to.
    std::size_t part_at(std::uint64_t offset) const {
        const auto known = std::span(parts_).first(known_);
        const auto after = std::ranges::upper_bound(known, offset, {}, &Part::begin);
        return static_cast<std::size_t>(std::max<std::ptrdiff_t>(after - known.begin(), 1)) - 1;
    }

    // Whether an input, whose bytes the walker has passed, ends with a line end.
    bool is_ended(std::size_t number, const Walker& walker, std::uint8_t last) const {
        if (number + 1 == count()) return is_past_record(walker.state());
        if (const auto quote = walker.open_quote())
            throw InputError("a quote is not closed at its end, and would go on in the next input", quote);
        if (is_escape(walker.state())) throw InputError("it ends with an escape, which would act in the next input");
        if (number == 0 && walker.offset() == lead_.size) return !lead_.is_preamble || is_line_break(last);
        return is_past_record(walker.state());
    }

    void check_end(std::size_t number, unsigned threads) {
        if (taken(number) == 0) return;
        about(number, [&] {
            const auto input = opened(number);
            const Blob& blob = input->blob();
            Walker walker = walker_of(number);
            if (threads > 1) {  // they find its last record
                Input again = open(number);
                const RecordIndex index(blob, dialect_of(number, again), options_.execution, cancellation_,
                                        LastRecord::kKept, FirstBytes::kMarked);
                const Boundary last = Locator(index).at_or_before(blob.size() - 1);
                if (last.offset > walker.offset()) walker.seek(last.offset, last.record, State::kRecordStart);
            }
            std::uint8_t last = 0;
            for_each_part(blob, {walker.offset(), blob.size() - walker.offset()}, cancellation_, [&](Octets bytes) {
                walker.pass(bytes);
                last = bytes.back();
                if (Meter* const meter = options_.execution.meter) meter->scanned += bytes.size();
            });
            Part& part = parts_[number];
            part.records = records_taken(number, walker);
            part.ends_with_cr = last == '\r';
            if (!is_ended(number, walker, last)) part.added = part.line_end;
        });
    }

    // Checks how the inputs end, and finds where each begins.
    void check_ends(unsigned threads) {
        const auto is_large = [&](std::size_t number) { return taken(number) > kLargeInput; };
        parallel_for(count(), threads, [&](std::size_t number) {
            if (number > faulty_ || is_large(number)) return;
            try {
                check_end(number, 1);
            } catch (const InputError& error) {  // an input before this one may have a fault, too
                std::ignore = error;
            }
        });
        if (const auto first = faulty()) check_end(first->input, 1);
        for (std::size_t number = 0; number < count(); ++number) {
            if (is_large(number)) check_end(number, threads);
        }
        std::uint64_t records = 0;
        for (std::size_t number = 0; number < count(); ++number) {
            Part& part = parts_[number];
            const bool is_ended = std::exchange(part.added, {}).bytes().empty();
            const std::uint64_t own = std::exchange(part.records, records);
            if (taken(number) > 0) begin_part(number);
            size_ += taken(number);
            end_part(number, is_ended);
            records += own;
        }
        parts_.back().records = records;
        known_ = count();
    }

    // The bytes that are taken of an input begin. Returns the line end that those before them lack.
    Octets begin_part(std::size_t number) {
        const LineEnd lacking = std::exchange(lacking_, {});
        const Octets end = lacking.bytes();
        const std::size_t known = known_;
        const bool is_behind_cr =
            !options_.pauses && known > 0 && (end.empty() ? parts_[known - 1].ends_with_cr : end.back() == '\r');
        if (is_behind_cr && parts_[number].begins_with_lf && options_.dialect.terminator == Terminator::kAny) {
            about(number, [] {
                throw InputError(
                    "its records begin with an LF, which would complete the CR at the end of the input before");
            });
        }
        if (!end.empty()) {
            ended_ = known - 1;
            parts_[ended_].added = lacking;
            for (std::size_t n = known; n <= number; ++n) parts_[n].begin += end.size();
            size_ += end.size();
        }
        known_ = number + 1;
        return end;
    }

    void end_part(std::size_t number, bool is_ended) {
        if (known_ == number + 1) lacking_ = is_ended ? LineEnd() : parts_[number].line_end;
        parts_[number + 1].begin = size_;
    }

    // The next bytes of the joined input.
    Octets next() {
        for (; at_ < count() && !is_paused_; about(at_, [&] { end_current(); })) {
            if (held_.empty()) held_ = about(at_, [&] { return next_taken(); });
            if (held_.empty()) continue;
            is_paused_ = options_.pauses && known_ > 0 && noted_ <= at_;
            if (is_paused_) break;
            const Octets end = known_ <= at_ ? begin_part(at_) : Octets();
            if (!end.empty()) return end;
            last_ = held_.back();
            size_ += held_.size();
            return std::exchange(held_, {});
        }
        return {};
    }

    // The next bytes that are taken of it; none at its end. Bytes before records are not scanned.
    Octets next_taken() {
        const Part& part = parts_[at_];
        const std::uint64_t begin = scan_begin(at_);
        for (Octets bytes = read_current(); !bytes.empty(); bytes = read_current()) {
            const std::uint64_t before = begin - std::min(begin, offset_);
            offset_ += bytes.size();
            const Octets records =
                bytes.subspan(static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), before)));
            if (!options_.pauses) walker_->pass(records);
            if (at_ > 0) bytes = records;
            if (part.order > 0) {
                if (!rearranger_)
                    rearranger_.emplace(options_.dialect, kernel_, orders_[part.order - 1],
                                        Place{part.skipped, part.head_records});
                bytes = rearranger_->add(bytes, false);
            }
            if (!bytes.empty()) return bytes;
        }
        return rearranger_ ? rearranger_->add({}, true) : Octets();
    }

    // The next bytes of the current input; none at its end.
    Octets read_current() {
        if (at_ == 0) return reader_();
        if (!current_) {
            const auto pipe = pipes_.find(at_);
            current_.emplace(pipe != pipes_.end() ? std::move(pipe->second) : open(at_));
            current_->set_threads(options_.execution.thread_count());
        }
        if (current_->is_stream()) return current_->read();
        const Blob& blob = current_->blob();
        const std::uint64_t left = blob.size() - offset_;
        return blob.lend(offset_, static_cast<std::size_t>(std::min<std::uint64_t>(left, kInputBlockSize)), buffer_);
    }

    void end_current() {
        Part& part = parts_[at_];
        if (at_ > 0) current_->throw_if_changed();
        const bool has_line_end = options_.pauses || is_ended(at_, *walker_, last_);  // or go_on() says
        part.size = offset_;
        part.ends_with_cr = last_ == '\r';
        end_part(at_, has_line_end);
        parts_[at_ + 1].records = part.records + records_taken(at_, *walker_);
        if (at_ > 0) stream_->count_other(current_->is_stream() ? current_->consumed() : offset_);
        current_.reset();
        rearranger_.reset();
        offset_ = 0;
        walker_.emplace(walker_of(++at_));
    }

    // Remembers that what `work` throws is about an input: the first one, if there are several.
    template <class Work>
    auto about(std::size_t number, const Work& work) -> decltype(work()) {
        try {
            return work();
        } catch (const Cancelled&) {
            throw;
        } catch (...) {
            std::size_t before = faulty_;
            while (number < before && !faulty_.compare_exchange_weak(before, number)) {
            }
            throw;
        }
    }

    const JoinOptions options_;
    const Kernel& kernel_;
    const Walker start_;  // to copy: a new one is expensive
    const Cancellation* const cancellation_;
    bool is_stream_;
    std::vector<Part> parts_;  // one for each input, and the end of the last one
    InputColumns columns_;     // of the first input
    std::vector<Order> orders_;
    Lead lead_;                                   // of the first input
    std::atomic<std::size_t> known_ = 0;          // of how many it is known where they begin: up to the last that did
    std::atomic<std::size_t> faulty_ = SIZE_MAX;  // an input
    std::uint64_t size_ = 0;                      // of the joined input so far
    std::uint32_t permissions_ = 0777;            // what all inputs allow
    std::map<std::size_t, Input> pipes_;          // pipes and standard input, by their numbers
    LineEnd lacking_;                             // behind the last input with bytes that are taken
    std::size_t ended_ = 0;                       // the last input that got a line end
    std::size_t unused_ = SIZE_MAX;               // the input whose line end nothing follows

    Mutex mutex_;
    std::array<std::pair<std::size_t, std::shared_ptr<const Input>>, kMostOpen> open_ CLEAVE_GUARDED_BY(mutex_);

    // Of a stream:
    FileStream* stream_ = nullptr;  // of the first input
    FileStream::Reader reader_;     // likewise
    std::size_t at_ = 0;            // the current input
    std::optional<Input> current_;  // unless it is the first
    std::optional<Rearranger> rearranger_;
    std::uint64_t offset_ = 0;      // there
    std::optional<Walker> walker_;  // there, unless another reader finds the records
    std::uint8_t last_ = 0;         // byte
    Octets held_;                   // the next bytes
    bool is_paused_ = false;        // before them
    std::size_t noted_ = 1;         // the first input that go_on() has not told about
    std::vector<std::uint8_t> buffer_;
};

// The bytes of several files. Lends copies: views of mappings would live too long, and a process has 65,530 of them.
class JoinedBlob final : public FileBlob {
public:
    JoinedBlob(const Source& source, std::shared_ptr<Joined> joined)
        : FileBlob(source, joined->size()), joined_(std::move(joined)) {}

    void read(std::uint64_t offset, std::span<std::uint8_t> into) const override { joined_->read(offset, into); }
    BlobBacking backing() const noexcept override { return {}; }
    void will_read(BlobRange /*range*/) const noexcept override {}
    void throw_if_changed() const override { joined_->throw_if_changed(); }

private:
    const std::shared_ptr<Joined> joined_;
};

void Joined::join(Input& first, const std::shared_ptr<Joined>& self) {
    about(0, [&] { add_part(0, first); });
    for (std::size_t number = 1; number < count(); ++number) {
        about(number, [&] {
            Input input = options_.open(number);
            add_part(number, input);
            const bool is_read_once = location(number).is_stream() || !InputParts::source(input).is_file();
            if (is_read_once) pipes_.emplace(number, std::move(input));
        });
    }
    refuse_same_files();
    const auto is_one = [self](const FileIdentity& file) { return self->has(file); };
    if (is_stream_) {
        walker_.emplace(walker_of(0));
        InputParts::join(first, identity(first), is_one, {});
        stream_ = &InputParts::become_stream(first);
        reader_ = stream_->set_filter([self] { return self->next(); });
    } else {
        check_ends(options_.execution.thread_count());
        InputParts::join(first, identity(first), is_one, [self] { self->throw_if_changed(); });
        InputParts::replace_blob(first, [&](const std::unique_ptr<FileBlob>& blob) {
            return std::make_unique<JoinedBlob>(blob->source(), self);
        });
    }
}

}  // namespace

void join_inputs(Input& first, const JoinOptions& options, std::shared_ptr<JoinedInputs>& joined) {
    const auto self = std::make_shared<Joined>(first, options);
    joined = self;
    self->join(first, self);
}

}  // namespace cleave
