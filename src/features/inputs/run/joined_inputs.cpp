// Inputs as one: the bytes of the first, and of each other those behind its header.
//
//     read the head of each input: compare its header, note where its records begin and which version of it that is
//     a blob:   check how each input ends, with all threads; then it is known where the bytes of each begin
//     a stream: check it on the way
//
// An input that ends where a record does cannot move the records of the next one, so everything else reads the joined
// input like any other. Few inputs are open at a time; one that is opened again must be the same version.
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/parallel.h"
#include "base/text_bytes.h"
#include "base/too_long.h"
#include "cleave/fields.h"
#include "core/offsets/input_head.h"
#include "core/reader/fd.h"
#include "core/reader/file_blob.h"
#include "core/reader/input_parts.h"
#include "core/reader/location.h"
#include "core/scan/check_arguments.h"
#include "core/scan/walker.h"
#include "engine/joined.h"
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

std::uint64_t mixed(std::uint64_t digest, std::uint64_t word) {
    digest = (digest ^ word) * 0x9E3779B97F4A7C15U;
    return digest ^ digest >> 32U;
}

// Tells a version of a file from others. Nobody gains from two that look alike.
std::uint64_t digest_of(const FileIdentity& file) {
    const auto times = mixed(static_cast<std::uint64_t>(file.mtime_ns), static_cast<std::uint64_t>(file.ctime_ns));
    return mixed(mixed(mixed(mixed(0, file.device), file.inode), file.size), times);
}

// The bytes of a blob from `offset` on, not too many at once.
Octets block_of(const Blob& blob, std::uint64_t offset, std::vector<std::uint8_t>& buffer) {
    const std::uint64_t left = blob.size() - offset;
    return blob.lend(offset, static_cast<std::size_t>(std::min<std::uint64_t>(left, kInputBlockSize)), buffer);
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

// How the columns of an input become those of the first one.
struct Order {
    static constexpr std::size_t kMissing = SIZE_MAX;
    std::size_t count = 0;            // of fields in a record
    std::vector<std::size_t> fields;  // for each field to write, its number in a record, or kMissing

    bool operator==(const Order&) const = default;
};

// Puts the fields of records into another order. For one thread.
class Rearranger {
public:
    Rearranger(const Dialect& dialect, const Kernel& kernel, const Order& order, Place place)
        : dialect_(dialect),
          order_(order),
          place_(place),
          reader_(dialect, kernel, Reading::kUnambiguous, order.count) {}

    // The records that end in the bytes so far; valid until the next call. Throws InputError for a record with another
    // number of fields, for one that readers may read differently, and for one that is too long.
    Octets add(Octets bytes, bool at_end) {
        waiting_.insert(waiting_.end(), bytes.begin(), bytes.end());
        out_.clear();
        if (!at_end && waiting_.size() < least_) return out_;
        if (waiting_.size() > kMaxRecordLimit + bytes.size()) throw_too_long(kMaxRecordLimit, place_);
        const RecordBlock block = reader_.read(Octets(waiting_), place_, at_end);
        for (std::size_t r = 0; r < block.record_count(); ++r) write(block, r);
        place_.offset += block.bytes.size();
        place_.record += block.record_count();
        least_ = block.bytes.empty() ? 2 * waiting_.size() : 0;  // so that a long record is not read again and again
        waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(block.bytes.size()));
        return out_;
    }

private:
    void write(const RecordBlock& block, std::size_t r) {
        const std::size_t begin = block.rows[r].begin;
        const auto ends = block.ends.subspan(block.rows[r].first, block.rows[r + 1].first - block.rows[r].first);
        const std::size_t content = content_end(block.bytes, block.rows[r].begin, ends.back(), dialect_);
        const auto append = [&](std::size_t from, std::size_t to) {
            const Octets bytes = block.bytes.subspan(from, to - from);
            out_.insert(out_.end(), bytes.begin(), bytes.end());
        };
        const std::size_t before = out_.size();
        for (std::size_t i = 0; content > begin && i < order_.fields.size(); ++i) {
            const std::size_t field = order_.fields[i];
            if (i > 0) out_.push_back(dialect_.delimiter);
            if (field == Order::kMissing) continue;
            append(field == 0 ? begin : ends[field - 1] + 1, field + 1 == ends.size() ? content : ends[field]);
        }
        if (content > begin && out_.size() == before) {  // without quotes, the record would be empty
            if (!dialect_.quote)
                throw InputError("the only column of a record is empty, which cannot be written without quotes",
                                 Place{place_.offset + begin, place_.record + r});
            out_.insert(out_.end(), 2, *dialect_.quote);
        }
        append(content, block.rows[r + 1].begin);
    }

    const Dialect dialect_;
    const Order& order_;
    Place place_;  // of what waits
    FieldReader reader_;
    std::size_t least_ = 0;  // how much must wait before it is read
    std::vector<std::uint8_t> waiting_;
    std::vector<std::uint8_t> out_;
};

// For each column of the first input, its number in another one. Throws InputError.
Order order_by_name(const std::vector<std::string>& wanted, const InputColumns& there, const JoinOptions& options) {
    const auto shown = [&](const std::string& name, std::size_t number) {
        return options.shows_names && is_for_messages(name) ? "column '" + name + "'"
                                                            : "column " + std::to_string(number + 1);
    };
    Order order{there.count, std::vector<std::size_t>(wanted.size(), Order::kMissing)};
    for (std::size_t i = 0; i < there.names.size(); ++i) {
        const std::string& name = there.names[i];
        const auto found = std::ranges::find(wanted, name);
        if (found == wanted.end()) {
            if (options.drops_unknown) continue;
            throw InputError(shown(name, i) + " is not in the first input; --drop-unknown leaves it out");
        }
        std::size_t& number = order.fields[static_cast<std::size_t>(found - wanted.begin())];
        if (number != Order::kMissing || std::ranges::count(wanted, name) > 1)
            throw InputError(shown(name, i) + " is there twice, so its name does not say which is meant");
        number = i;
    }
    if (std::ranges::count(order.fields, Order::kMissing) == std::ssize(order.fields))
        throw InputError("none of its columns is in the first input; do its delimiter and line ends differ?");
    return order;
}

// Throws InputError if they differ. Names may be values, of a file without a header.
void compare_columns(const InputColumns& wanted, const InputColumns& there, bool shows_names) {
    const auto is_common = [&](const std::string& name) {
        return std::ranges::find(wanted.names, name) != wanted.names.end();
    };
    const bool has_common = std::ranges::any_of(there.names, is_common);
    const char* const hint = has_common ? "; --columns-by-name puts columns in its order" : "";
    if (there.count != wanted.count) {
        throw InputError("its " + std::string(there.names.empty() ? "first record" : "header") + " has " +
                         std::to_string(there.count) + (there.count == 1 ? " field" : " fields") + ", not " +
                         std::to_string(wanted.count) + " as in the first input" + hint);
    }
    const auto [name, expected] = std::ranges::mismatch(there.names, wanted.names);
    if (name == there.names.end()) return;
    const bool are_shown = shows_names && is_for_messages(*name) && is_for_messages(*expected);
    throw InputError("column " + std::to_string(name - there.names.begin() + 1) +
                     (are_shown ? " is '" + *name + "', not '" + *expected + "' as" : " has another name than") +
                     " in the first input" + hint);
}

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

    void for_each(FunctionRef<void(const InputPart&)> take) const override;
    void for_each_range(BlobRange range, FunctionRef<void(const InputRange&)> take) const override;
    InputPlace find(const Place& place) const override;
    std::optional<InputPlace> faulty() const override {
        const std::size_t input = faulty_;
        if (input == SIZE_MAX) return std::nullopt;
        return InputPlace{input, {}, parts_[input].head_records};
    }
    Location location(std::size_t input) const override { return (*options_.inputs)[input]; }
    void go_on(std::uint64_t records, bool lacks_line_end) override;
    bool has_ranges() const override { return orders_.empty(); }

    std::uint64_t size() const { return parts_.back().begin; }
    void read(std::uint64_t offset, std::span<std::uint8_t> into);
    void throw_if_changed();

private:
    void add_part(std::size_t number, Input& input);
    void refuse_same_files() const;
    FileIdentity identity(const Input& first) const;
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
    Walker walker_of(std::size_t number) const;
    std::uint64_t records_taken(std::size_t number, const Walker& walker) const {
        return walker.records() - (number == 0 ? 0 : parts_[number].head_records);
    }
    Input open(std::size_t number) const;
    std::shared_ptr<const Input> opened(std::size_t number);
    std::size_t part_at(std::uint64_t offset) const;

    bool is_ended(std::size_t number, const Walker& walker, std::uint8_t last) const;
    void check_end(std::size_t number, unsigned threads);
    void check_ends(unsigned threads);
    Octets begin_part(std::size_t number);
    void end_part(std::size_t number, bool is_ended);

    Octets next();
    Octets next_taken();
    Octets read_current();
    void end_current();

    // Remembers that what `work` throws is about an input: the first one, if there are several.
    template <class Work>
    decltype(auto) about(std::size_t number, const Work& work) {
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

    std::span<const std::uint8_t> lend(std::uint64_t offset, std::size_t size,
                                       std::vector<std::uint8_t>& buffer) const override {
        check_range(offset, size);
        if (buffer.size() < size) buffer.resize(size);
        const auto bytes = std::span(buffer).first(size);
        joined_->read(offset, bytes);
        return bytes;
    }
    void read(std::uint64_t offset, std::span<std::uint8_t> into) const override { joined_->read(offset, into); }
    BlobBacking backing() const noexcept override { return {}; }
    void will_read(BlobRange /*range*/) const noexcept override {}
    void throw_if_changed() const override { joined_->throw_if_changed(); }

private:
    const std::shared_ptr<Joined> joined_;
};

// Finds where the records of an input begin, and compares its columns.
void Joined::add_part(std::size_t number, Input& input) {
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
    if (!options_.by_name || columns.names == columns_.names) {
        return compare_columns(columns_, columns, options_.shows_names);
    }
    Order order = order_by_name(columns_.names, columns, options_);
    const auto same = std::ranges::find(orders_, order);
    part.order = static_cast<std::uint32_t>(same - orders_.begin()) + 1;
    if (same == orders_.end()) orders_.push_back(std::move(order));
    is_stream_ = true;
}

void Joined::refuse_same_files() const {
    std::vector<std::uint32_t> numbers(count());
    std::iota(numbers.begin(), numbers.end(), 0U);
    const auto version = [this](std::uint32_t number) { return std::pair(parts_[number].version, number); };
    std::ranges::sort(numbers, {}, version);
    const auto same = std::ranges::adjacent_find(
        numbers, [&](std::uint32_t one, std::uint32_t next) { return version(one).first == version(next).first; });
    if (same == numbers.end()) return;
    throw ArgumentError("'" + location(same[0]).shown() + "' and '" + location(same[1]).shown() +
                        "' are the same file");
}

// Of all inputs together.
FileIdentity Joined::identity(const Input& first) const {
    FileIdentity file = first.identity();
    file.permissions = permissions_;
    file.inode = 0;
    for (const Part& part : parts_) {
        file.inode = mixed(file.inode, part.version);
        file.mtime_ns = std::max(file.mtime_ns, part.mtime_ns);
    }
    return file;
}

void Joined::join(Input& first, const std::shared_ptr<Joined>& self) {
    add_part(0, first);
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

Input Joined::open(std::size_t number) const {
    Input input = options_.open(number);
    if (digest_of(input.identity()) != parts_[number].version) throw InputChangedError();
    return input;
}

std::shared_ptr<const Input> Joined::opened(std::size_t number) {
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

void Joined::throw_if_changed() {
    for (std::size_t number = 0; number < count(); ++number) {
        const Location place = location(number);
        if (place.is_url()) continue;  // reading notices a new version of a remote file
        about(number, [&] {
            if (place.is_stream()) {  // a file behind standard input
                open(number);
                return;
            }
            struct stat status;
            if (::stat(place.name().c_str(), &status) != 0) throw_errno(place.name());
            if (digest_of(identity_of(status)) != parts_[number].version) throw InputChangedError();
        });
    }
}

// The part that the byte belongs to.
std::size_t Joined::part_at(std::uint64_t offset) const {
    const auto known = std::span(parts_).first(known_);
    const auto after = std::ranges::upper_bound(known, offset, {}, &Part::begin);
    return static_cast<std::size_t>(std::max<std::ptrdiff_t>(after - known.begin(), 1)) - 1;
}

InputPlace Joined::find(const Place& place) const {
    const std::size_t number = part_at(place.offset);
    const Part& part = parts_[number];
    const std::uint64_t head = number == 0 ? 0 : part.head_records;
    return {number,
            {place.offset - part.begin + part.skipped, place.record - std::min(place.record, part.records) + head},
            part.head_records,
            part.order > 0};
}

void Joined::for_each(FunctionRef<void(const InputPart&)> take) const {
    for (std::size_t number = 0; number < count(); ++number) {
        const Part& part = parts_[number];
        const Part& next = parts_[number + 1];
        InputPart one{
            number, part.size, part.mtime_ns, part.begin, next.begin - part.begin, next.records - part.records};
        if (number == 0) one.records -= std::min<std::uint64_t>(one.records, part.head_records);
        take(one);
    }
}

void Joined::for_each_range(BlobRange range, FunctionRef<void(const InputRange&)> take) const {
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

void Joined::read(std::uint64_t offset, std::span<std::uint8_t> into) {
    for (std::size_t number = part_at(offset); !into.empty(); ++number) {
        const Part& part = parts_[number];
        const std::uint64_t end = parts_[number + 1].begin;
        const std::uint64_t end_of_file = part.begin + taken(number);
        if (offset < end_of_file) {
            const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(into.size(), end_of_file - offset));
            about(number, [&] { opened(number)->blob().read(offset - part.begin + part.skipped, into.first(size)); });
            into = into.subspan(size);
            offset += size;
        }
        for (; offset < end && !into.empty(); ++offset, into = into.subspan(1))
            into.front() = part.added.bytes()[static_cast<std::size_t>(offset - end_of_file)];
    }
}

Walker Joined::walker_of(std::size_t number) const {
    Walker walker = start_;
    const std::uint64_t before = number == 0 ? lead_.records() : parts_[number].head_records;
    walker.seek(scan_begin(number), before, State::kRecordStart);
    return walker;
}

// Whether an input, whose bytes the walker has passed, ends with a line end.
bool Joined::is_ended(std::size_t number, const Walker& walker, std::uint8_t last) const {
    if (number + 1 == count()) return is_past_record(walker.state());
    if (const auto quote = walker.open_quote())
        throw InputError("a quote is not closed at its end, and would go on in the next input", quote);
    if (is_escape(walker.state())) throw InputError("it ends with an escape, which would act in the next input");
    if (number == 0 && walker.offset() == lead_.size) return !lead_.is_preamble || is_line_break(last);
    return is_past_record(walker.state());
}

void Joined::check_end(std::size_t number, unsigned threads) {
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
        std::vector<std::uint8_t> buffer;
        std::uint8_t last = 0;
        while (walker.offset() < blob.size()) {
            if (cancellation_ != nullptr) cancellation_->throw_if_requested();
            const auto bytes = block_of(blob, walker.offset(), buffer);
            walker.pass(bytes);
            last = bytes.back();
            if (Meter* const meter = options_.execution.meter) meter->scanned += bytes.size();
        }
        Part& part = parts_[number];
        part.records = records_taken(number, walker);
        part.ends_with_cr = last == '\r';
        if (!is_ended(number, walker, last)) part.added = part.line_end;
    });
}

// Checks how the inputs end, and finds where each begins.
void Joined::check_ends(unsigned threads) {
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
Octets Joined::begin_part(std::size_t number) {
    const LineEnd lacking = std::exchange(lacking_, {});
    const Octets end = lacking.bytes();
    const std::size_t known = known_;
    const bool is_behind_cr = known > 0 && (end.empty() ? parts_[known - 1].ends_with_cr : end.back() == '\r');
    if (is_behind_cr && parts_[number].begins_with_lf && options_.dialect.terminator == Terminator::kAny) {
        about(number, [] {
            throw InputError(
                "its records begin with an LF, which would complete the CR at the end of the input before");
        });
    }
    if (!end.empty()) {
        parts_[known - 1].added = lacking;
        for (std::size_t n = known; n <= number; ++n) parts_[n].begin += end.size();
        size_ += end.size();
    }
    known_ = number + 1;
    return end;
}

void Joined::end_part(std::size_t number, bool is_ended) {
    if (known_ == number + 1) lacking_ = is_ended ? LineEnd() : parts_[number].line_end;
    parts_[number + 1].begin = size_;
}

// The next bytes of the current input; none at its end.
Octets Joined::read_current() {
    if (at_ == 0) return reader_();
    if (!current_) {
        const auto pipe = pipes_.find(at_);
        current_.emplace(pipe != pipes_.end() ? std::move(pipe->second) : open(at_));
        current_->set_threads(options_.execution.thread_count());
    }
    if (current_->is_stream()) return current_->read();
    return block_of(current_->blob(), offset_, buffer_);
}

// The next bytes that are taken of it; none at its end. Bytes before records are not scanned.
Octets Joined::next_taken() {
    const Part& part = parts_[at_];
    const std::uint64_t begin = scan_begin(at_);
    for (Octets bytes = read_current(); !bytes.empty(); bytes = read_current()) {
        const std::uint64_t before = begin - std::min(begin, offset_);
        offset_ += bytes.size();
        const Octets records = bytes.subspan(static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), before)));
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

void Joined::end_current() {
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

// The next bytes of the joined input.
Octets Joined::next() {
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

void Joined::go_on(std::uint64_t records, bool lacks_line_end) {
    for (; noted_ <= at_; ++noted_) parts_[noted_].records = records;
    if (lacks_line_end) lacking_ = parts_[known_ - 1].line_end;
    is_paused_ = false;
}

}  // namespace

void join_inputs(Input& first, const JoinOptions& options, std::shared_ptr<JoinedInputs>& joined) {
    const auto self = std::make_shared<Joined>(first, options);
    joined = self;
    self->join(first, self);
}

}  // namespace cleave
