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
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/parallel.h"
#include "base/text_bytes.h"
#include "base/too_long.h"
#include "cleave/cleave_scan.h"
#include "cleave/fields.h"
#include "core/offsets/input_head.h"
#include "core/reader/fd.h"
#include "core/reader/file_blob.h"
#include "core/reader/input_parts.h"
#include "core/reader/location.h"
#include "core/scan/boundary.h"
#include "core/scan/check_arguments.h"
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

enum class LineEnd : std::uint8_t { kNone, kLf, kCr, kCrLf };

Octets bytes_of(LineEnd end) {
    static constexpr std::array<std::uint8_t, 2> kCrLf = {'\r', '\n'};
    const Octets both(kCrLf);
    switch (end) {
        case LineEnd::kNone: break;
        case LineEnd::kLf: return both.last(1);
        case LineEnd::kCr: return both.first(1);
        case LineEnd::kCrLf: return both;
    }
    return {};
}

LineEnd line_end_of(Octets record) {
    if (record.empty() || !is_line_break(record.back())) return LineEnd::kNone;
    if (record.back() == '\r') return LineEnd::kCr;
    return record.size() > 1 && record[record.size() - 2] == '\r' ? LineEnd::kCrLf : LineEnd::kLf;
}

// Tells a version of a file from others. Nobody gains from two that look alike.
std::uint64_t digest_of(const FileIdentity& file) {
    std::uint64_t digest = 0;
    for (const std::uint64_t word : {file.device, file.inode, file.size, static_cast<std::uint64_t>(file.mtime_ns),
                                     static_cast<std::uint64_t>(file.ctime_ns)}) {
        digest = (digest ^ word) * 0x9E3779B97F4A7C15U;
        digest ^= digest >> 32U;
    }
    return digest;
}

cleave_scan_dialect scan_dialect(const Dialect& dialect) {
    const auto byte = [](std::optional<std::uint8_t> of) { return static_cast<std::int16_t>(of ? *of : -1); };
    return {byte(dialect.quote),
            byte(dialect.escape),
            dialect.delimiter,
            static_cast<std::uint8_t>(dialect.terminator),
            static_cast<std::uint8_t>(dialect.quoting),
            static_cast<std::uint8_t>(dialect.escape_scope)};
}

// Where a record begins.
cleave_scan_state state_at(std::uint64_t offset) {
    const std::uint32_t state = offset == 0 ? CLEAVE_SCAN_START : CLEAVE_SCAN_RECORD_START;
    return {CLEAVE_SCAN_VERSION, state, offset, CLEAVE_SCAN_NONE};
}

// An input, and what is taken of it.
struct Part {
    std::uint64_t begin = 0;    // in the joined input; until that is known, how many bytes are taken
    std::uint64_t records = 0;  // of the joined input before it; until that is known, its own, without its head
    std::uint64_t size = 0;     // of all of it; of a stream, once it has been read
    std::uint64_t version = 0;  // a digest
    std::int64_t mtime_ns = 0;
    std::uint32_t skipped = 0;          // bytes before its records; 0 for the first input
    std::uint32_t head_records = 0;     // before its first data record
    LineEnd line_end = LineEnd::kNone;  // of its first record
    LineEnd added = LineEnd::kNone;     // at its end
    bool begins_with_lf = false;        // its records
    bool ends_with_cr = false;
    std::uint32_t columns = 0;  // which of Joined::orders_, from 1; 0: as they are
};

// The fields of records, in the order of the columns of the first input.
struct Order {
    std::size_t count = 0;  // of fields in the input
    std::vector<std::size_t> fields;
};

// Puts the fields of records into another order. For one thread.
class Rearranger {
public:
    // `order` has, for each field to write, its number in a record, or kMissing. Records have `count` fields.
    static constexpr std::size_t kMissing = SIZE_MAX;
    Rearranger(const Dialect& dialect, const Kernel& kernel, std::size_t count, const std::vector<std::size_t>& order,
               Place place)
        : dialect_(dialect), order_(order), place_(place), reader_(dialect, kernel, Reading::kUnambiguous, count) {}

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
        const std::uint32_t begin = block.rows[r].begin;
        const auto ends = block.ends.subspan(block.rows[r].first, block.rows[r + 1].first - block.rows[r].first);
        const std::uint32_t content = content_end(block.bytes, begin, ends.back(), dialect_);
        for (std::size_t i = 0; content > begin && i < order_.size(); ++i) {
            if (i > 0) out_.push_back(dialect_.delimiter);
            if (order_[i] == kMissing) continue;
            const std::size_t from = order_[i] == 0 ? begin : ends[order_[i] - 1] + 1;
            const std::size_t to = order_[i] + 1 == ends.size() ? content : ends[order_[i]];
            out_.insert(out_.end(), block.bytes.begin() + static_cast<std::ptrdiff_t>(from),
                        block.bytes.begin() + static_cast<std::ptrdiff_t>(to));
        }
        out_.insert(out_.end(), block.bytes.begin() + content, block.bytes.begin() + block.rows[r + 1].begin);
    }

    const Dialect dialect_;
    const std::vector<std::size_t>& order_;
    Place place_;  // of what waits
    FieldReader reader_;
    std::size_t least_ = 0;  // how much must wait before it is read
    std::vector<std::uint8_t> waiting_;
    std::vector<std::uint8_t> out_;
};

class Joined final : public JoinedInputs {
public:
    Joined(Input& first, const JoinOptions& options)
        : options_(options),
          kernel_(checked_kernel(options.execution)),
          scan_dialect_(scan_dialect(options.dialect)),
          cancellation_(first.cancellation()),
          is_stream_(options.is_read_in_order) {}

    // Call this first. Returns whether the input becomes a stream.
    bool read_heads(Input& first);
    static void become_blob(const std::shared_ptr<Joined>& self, Input& first);
    static void become_stream(const std::shared_ptr<Joined>& self, Input& first);

    void for_each(FunctionRef<void(const InputPart&)> take) const override;
    void for_each_range(BlobRange range, FunctionRef<void(const InputRange&)> take) const override;
    InputPlace find(const Place& place) const override;
    std::optional<InputPlace> faulty() const override {
        const std::size_t input = faulty_;
        if (input == SIZE_MAX) return std::nullopt;
        return InputPlace{input, {}, input < parts_.size() ? parts_[input].head_records : 0};
    }

    const Location& location(std::size_t input) const override { return options_.inputs[input]; }
    void go_on(std::uint64_t records) override;

    bool has_ranges() const override { return orders_.empty(); }

    std::uint64_t size() const { return parts_.back().begin; }
    void read(std::uint64_t offset, std::span<std::uint8_t> into);
    void throw_if_changed();

private:
    struct Open {
        std::size_t number = 0;
        std::shared_ptr<const Input> input;
    };

    std::optional<InputColumns> take_head(Part& part, Input& input, bool is_first);
    void add_part(Input& input, bool is_first);
    void compare_columns(Part& part, const InputColumns& there);
    std::vector<std::size_t> order_of(const InputColumns& there) const;
    void refuse_same_files(std::vector<std::array<std::uint64_t, 3>> files);
    FileIdentity identity(const Input& first) const;

    Input open(std::size_t number) const;
    std::shared_ptr<const Input> opened(std::size_t number);
    std::size_t part_at(std::uint64_t offset) const;

    void check_ends(unsigned threads);
    void check_end(std::size_t number, unsigned threads);
    std::uint64_t pass_over(const Blob& blob, cleave_scan_state& state, unsigned threads) const;
    bool is_ended(std::size_t number, const cleave_scan_state& state, std::uint64_t records);
    void require_no_crlf(std::size_t number, bool begins_with_lf);

    Octets next();
    Octets next_taken();
    Octets next_of_part();
    Octets begin_part(std::uint8_t first);
    void end_part();

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
    const cleave_scan_dialect scan_dialect_;
    const Cancellation* const cancellation_;
    std::vector<Part> parts_;  // one for each input, and the end of the last one
    InputColumns columns_;     // of the first input
    std::vector<Order> orders_;
    std::atomic<std::size_t> known_ = 0;  // how many of them have begun
    std::uint64_t lead_size_ = 0;         // of the first input: bytes that belong to no record
    std::uint64_t lead_records_ = 0;
    bool is_lead_ended_ = true;  // with a line end
    bool is_stream_;
    std::atomic<std::size_t> faulty_ = SIZE_MAX;
    std::uint8_t last_ = 0;  // the byte before the next part

    Mutex mutex_;
    std::vector<Open> open_ CLEAVE_GUARDED_BY(mutex_);  // the last used comes last

    // Of a stream:
    FileStream* stream_ = nullptr;  // of the first input
    FileStream::Reader reader_;     // likewise
    std::size_t at_ = 0;            // the current input
    std::optional<Input> current_;  // unless it is the first
    std::optional<Rearranger> rearranger_;
    std::uint64_t offset_ = 0;       // there
    std::uint64_t passed_ = 0;       // of the joined input
    std::uint64_t own_records_ = 0;  // of the current input
    cleave_scan_state state_{};
    LineEnd lacking_ = LineEnd::kNone;  // before the next byte
    Octets held_;
    bool is_paused_ = false;  // before them
    std::size_t noted_ = 0;   // how many inputs go_on() has told about
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

// Finds where the records of an input begin. Returns its columns, if it has a record.
std::optional<InputColumns> Joined::take_head(Part& part, Input& input, bool is_first) {
    const Dialect dialect = is_first ? options_.dialect : settle_dialect(options_.of_others, input).dialect;
    const InputHead head = read_head(input, dialect, options_.header, kMaxRecordLimit);
    part.head_records = static_cast<std::uint32_t>(head.records);
    part.line_end = line_end_of(head.sample);
    if (is_first) {
        const auto bytes = input.peek(static_cast<std::size_t>(head.size)).first(static_cast<std::size_t>(head.size));
        const Lead lead = lead_of(bytes, dialect);
        lead_size_ = std::min<std::uint64_t>(lead.size, bytes.size());
        lead_records_ = lead.records();
        is_lead_ended_ = !lead.is_preamble || is_line_break(bytes[static_cast<std::size_t>(lead_size_) - 1]);
    } else {
        part.skipped = static_cast<std::uint32_t>(head.size);
    }
    if (std::ranges::all_of(head.sample, is_line_break)) return std::nullopt;
    return columns_of_record(head.sample, dialect, head.has_header);
}

// For each column of the first input, its number in another one. Throws InputError.
std::vector<std::size_t> Joined::order_of(const InputColumns& there) const {
    const std::vector<std::string>& wanted = columns_.names;
    const auto shown = [](const std::string& name, std::size_t number) {
        return is_for_messages(name) ? "column '" + name + "'" : "column " + std::to_string(number + 1);
    };
    std::vector<std::size_t> order(wanted.size(), Rearranger::kMissing);
    for (std::size_t i = 0; i < there.names.size(); ++i) {
        const std::string& name = there.names[i];
        const auto found = std::ranges::find(wanted, name);
        if (found == wanted.end()) {
            if (options_.drops_unknown) continue;
            throw InputError(shown(name, i) + " is not in the first input; --drop-unknown leaves it out");
        }
        std::size_t& number = order[static_cast<std::size_t>(found - wanted.begin())];
        if (number != Rearranger::kMissing || std::ranges::count(wanted, name) > 1)
            throw InputError(shown(name, i) + " is there twice, so its name does not say which is meant");
        number = i;
    }
    return order;
}

void Joined::compare_columns(Part& part, const InputColumns& there) {
    const InputColumns& wanted = columns_;
    if (is_json_lines(options_.dialect)) return;
    if (options_.by_name && there.names != wanted.names) {
        Order order{there.count, order_of(there)};
        const auto same = std::ranges::find_if(
            orders_, [&](const Order& one) { return one.count == order.count && one.fields == order.fields; });
        part.columns = static_cast<std::uint32_t>(same - orders_.begin()) + 1;
        if (same == orders_.end()) orders_.push_back(std::move(order));
        is_stream_ = true;
        return;
    }
    const char* const hint = there.names.empty() ? "" : "; --columns-by-name puts columns in its order";
    if (there.count != wanted.count) {
        throw InputError("its " + std::string(there.names.empty() ? "first record" : "header") + " has " +
                         std::to_string(there.count) + (there.count == 1 ? " field" : " fields") + ", not " +
                         std::to_string(wanted.count) + " as in the first input" + hint);
    }
    const auto [name, expected] = std::ranges::mismatch(there.names, wanted.names);
    if (name == there.names.end()) return;
    const std::string column = "column " + std::to_string(name - there.names.begin() + 1);
    const bool are_shown = is_for_messages(*name) && is_for_messages(*expected);
    throw InputError(column +
                     (are_shown ? " is '" + *name + "', not '" + *expected + "' as" : " has not the name that it has") +
                     " in the first input" + hint);
}

void Joined::refuse_same_files(std::vector<std::array<std::uint64_t, 3>> files) {
    std::ranges::sort(files);
    const auto same =
        std::ranges::adjacent_find(files, [](const auto& a, const auto& b) { return a[0] == b[0] && a[1] == b[1]; });
    if (same == files.end()) return;
    throw ArgumentError("'" + options_.inputs[(*same)[2]].shown() + "' and '" +
                        options_.inputs[(*(same + 1))[2]].shown() + "' are the same file");
}

void Joined::add_part(Input& input, bool is_first) {
    Part part;
    const auto columns = take_head(part, input, is_first);
    if (is_first) columns_ = columns.value_or(InputColumns());
    if (columns) compare_columns(part, *columns);
    const FileIdentity file = input.identity();
    part.version = digest_of(file);
    part.mtime_ns = file.mtime_ns;
    if (input.is_stream()) {
        is_stream_ = true;
    } else {
        part.size = input.blob().size();
        part.begin = part.size - part.skipped;
    }
    const LineEnd usual = options_.dialect.terminator == Terminator::kCr ? LineEnd::kCr : LineEnd::kLf;
    if (part.line_end == LineEnd::kNone) part.line_end = is_first ? usual : parts_.back().line_end;
    parts_.push_back(part);
}

bool Joined::read_heads(Input& first) {
    parts_.reserve(options_.inputs.size() + 1);
    std::vector<std::array<std::uint64_t, 3>> files;  // device, inode, number
    files.reserve(options_.inputs.size());
    const auto add = [&](std::size_t number, Input& input) {
        if (cancellation_ != nullptr) cancellation_->throw_if_requested();
        files.push_back({input.identity().device, input.identity().inode, number});
        add_part(input, number == 0);
    };
    add(0, first);
    for (std::size_t number = 1; number < options_.inputs.size(); ++number) {
        about(number, [&] {
            Input input = options_.open(number);
            options_.examine(number, input);
            add(number, input);
        });
    }
    parts_.emplace_back();
    refuse_same_files(std::move(files));
    return is_stream_;
}

// Of all inputs together.
FileIdentity Joined::identity(const Input& first) const {
    FileIdentity file = first.identity();
    file.inode = 0;
    for (const Part& part : parts_) {
        file.inode = (file.inode ^ part.version) * 0x9E3779B97F4A7C15U;
        file.mtime_ns = std::max(file.mtime_ns, part.mtime_ns);
    }
    return file;
}

Input Joined::open(std::size_t number) const {
    Input input = options_.open(number);
    if (digest_of(input.identity()) != parts_[number].version) throw InputChangedError();
    return input;
}

std::shared_ptr<const Input> Joined::opened(std::size_t number) {
    {
        const MutexLock lock(mutex_);
        const auto found = std::ranges::find(open_, number, &Open::number);
        if (found != open_.end()) {
            std::rotate(found, found + 1, open_.end());
            return open_.back().input;
        }
    }
    auto input = std::make_shared<const Input>(open(number));
    const MutexLock lock(mutex_);
    if (open_.size() == kMostOpen) open_.erase(open_.begin());
    open_.push_back({number, input});
    return input;
}

void Joined::throw_if_changed() {
    for (std::size_t number = 0; number + 1 < parts_.size(); ++number) {
        const Location& location = options_.inputs[number];
        if (location.is_url()) continue;  // reading notices a new version of a remote file
        about(number, [&] {
            struct stat status;
            if (::stat(location.name().c_str(), &status) != 0) throw_errno(location.name());
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
            part.columns > 0};
}

void Joined::for_each(FunctionRef<void(const InputPart&)> take) const {
    for (std::size_t number = 0; number + 1 < parts_.size(); ++number) {
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
        const std::uint64_t own = is_last ? UINT64_MAX : parts_[number + 1].begin - bytes_of(part.added).size();
        const std::uint64_t to = std::min(end, own);
        if (range.offset < to) take({number, range.offset - part.begin + part.skipped, to - range.offset});
        range.offset = is_last ? end : parts_[number + 1].begin;
    }
}

void Joined::read(std::uint64_t offset, std::span<std::uint8_t> into) {
    for (std::size_t number = part_at(offset); !into.empty(); ++number) {
        const Part& part = parts_[number];
        const auto added = bytes_of(part.added);
        const std::uint64_t end = parts_[number + 1].begin;
        const std::uint64_t end_of_file = end - added.size();
        if (offset < end_of_file) {
            const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(into.size(), end_of_file - offset));
            about(number, [&] { opened(number)->blob().read(offset - part.begin + part.skipped, into.first(size)); });
            into = into.subspan(size);
            offset += size;
        }
        for (; offset < end && !into.empty(); ++offset, into = into.subspan(1))
            into.front() = added[static_cast<std::size_t>(offset - end_of_file)];
    }
}

// Whether an input, whose last byte the state has passed, ends with a line end. `records`: its own.
bool Joined::is_ended(std::size_t number, const cleave_scan_state& state, std::uint64_t records) {
    cleave_scan_counts counts{};
    cleave_scan_end(&scan_dialect_, &state, &counts);
    const Place last{state.open_quote, (number == 0 ? lead_records_ : parts_[number].head_records) + records - 1};
    if ((counts.ending & CLEAVE_SCAN_OPEN_QUOTE) != 0)
        throw InputError("a quote is not closed at its end, and would go on in the next input", last);
    if ((counts.ending & CLEAVE_SCAN_OPEN_ESCAPE) != 0)
        throw InputError("it ends with an escape, which would act in the next input");
    if (number == 0 && state.offset == lead_size_) return is_lead_ended_;
    return (counts.ending & CLEAVE_SCAN_UNTERMINATED) == 0;
}

// Before an input that has records.
void Joined::require_no_crlf(std::size_t number, bool begins_with_lf) {
    if (last_ != '\r' || !begins_with_lf || options_.dialect.terminator != Terminator::kAny) return;
    about(number, [] {
        throw InputError("its records begin with an LF, which would complete the CR at the end of the input before");
    });
}

// Takes the state over the rest of a blob, and returns how many records start there.
std::uint64_t Joined::pass_over(const Blob& blob, cleave_scan_state& state, unsigned threads) const {
    const std::uint64_t from = state.offset;
    const auto blocks = static_cast<std::size_t>((blob.size() - from + kInputBlockSize - 1) / kInputBlockSize);
    const auto read_block = [&](std::uint64_t offset, std::vector<std::uint8_t>& buffer) {
        if (cancellation_ != nullptr) cancellation_->throw_if_requested();
        const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(kInputBlockSize, blob.size() - offset));
        const Octets bytes = blob.lend(offset, size, buffer);
        if (Meter* const meter = options_.execution.meter) meter->scanned += bytes.size();
        return bytes;
    };
    std::uint64_t records = 0;
    if (threads == 1) {
        std::vector<std::uint8_t> buffer;
        cleave_scan_counts counts{};
        while (state.offset < blob.size()) {
            scan_bytes(kernel_, scan_dialect_, state, read_block(state.offset, buffer), counts);
            records += counts.records;
        }
        cleave_scan_end(&scan_dialect_, &state, &counts);
        return records + counts.records;
    }
    std::vector<cleave_scan_summary> summaries(blocks);
    parallel_for(blocks, threads, [&, buffer = std::vector<std::uint8_t>()](std::size_t block) mutable {
        const std::uint64_t offset = from + block * kInputBlockSize;
        summarise_bytes(kernel_, scan_dialect_, offset, read_block(offset, buffer), summaries[block]);
    });
    for (const cleave_scan_summary& summary : summaries) {
        cleave_scan_range range{};
        cleave_resolve(&summary, &state, &range);
        records += range.records;
    }
    return records;
}

void Joined::check_end(std::size_t number, unsigned threads) {
    about(number, [&] {
        const auto input = opened(number);
        const Blob& blob = input->blob();
        Part& part = parts_[number];
        const std::uint64_t from = number == 0 ? lead_size_ : part.skipped;
        cleave_scan_state state = state_at(from);
        part.records = pass_over(blob, state, threads);
        if (!is_ended(number, state, part.records)) part.added = part.line_end;
        if (part.begin == 0) return;
        const auto is_byte = [&](std::uint64_t offset, std::uint8_t wanted) {
            std::uint8_t byte = 0;
            blob.read(offset, std::span(&byte, 1));
            return byte == wanted;
        };
        part.begins_with_lf = from < blob.size() && is_byte(from, '\n');
        part.ends_with_cr = part.added == LineEnd::kNone ? is_byte(blob.size() - 1, '\r') : part.added == LineEnd::kCr;
    });
}

// Checks how the inputs end, and finds where each begins.
void Joined::check_ends(unsigned threads) {
    const std::size_t count = options_.inputs.size();
    const auto is_large = [&](std::size_t number) { return parts_[number].begin > kLargeInput; };
    parallel_for(count, threads, [&](std::size_t number) {
        if (number > faulty_ || is_large(number)) return;
        try {
            check_end(number, 1);
        } catch (const InputError& error) {  // an input before this one may have a fault, too
            std::ignore = error;
        }
    });
    if (const auto first = faulty()) check_end(first->input, 1);
    for (std::size_t number = 0; number < count; ++number) {
        if (is_large(number)) check_end(number, threads);
    }
    std::size_t last = count;
    while (last > 1 && parts_[last - 1].begin == 0) --last;
    parts_[last - 1].added = LineEnd::kNone;
    std::uint64_t begin = 0;
    std::uint64_t records = lead_records_;
    for (std::size_t number = 0; number <= count; ++number) {
        Part& part = parts_[number];
        const std::uint64_t taken = std::exchange(part.begin, begin);
        if (taken == 0) part.added = LineEnd::kNone;
        if (taken > 0) {
            require_no_crlf(number, part.begins_with_lf);
            last_ = part.ends_with_cr ? '\r' : 0;
        }
        begin += taken + bytes_of(part.added).size();
        records += std::exchange(part.records, number == 0 ? 0 : records);
    }
    known_ = count;
}

void Joined::become_blob(const std::shared_ptr<Joined>& self, Input& first) {
    self->check_ends(self->options_.execution.thread_count());
    InputParts::join(first, self->identity(first), [self] { self->throw_if_changed(); });
    InputParts::replace_blob(first, [&](const std::unique_ptr<FileBlob>& blob) {
        return std::make_unique<JoinedBlob>(blob->source(), self);
    });
}

// The next bytes of the current input; none at its end.
Octets Joined::next_of_part() {
    if (at_ == 0) return reader_();
    if (!current_) {
        current_.emplace(open(at_));
        current_->set_threads(options_.execution.thread_count());
    }
    if (current_->is_stream()) return current_->read();
    const Blob& blob = current_->blob();
    const std::uint64_t left = blob.size() - offset_;
    return blob.lend(offset_, static_cast<std::size_t>(std::min<std::uint64_t>(left, kInputBlockSize)), buffer_);
}

void Joined::end_part() {
    Part& part = parts_[at_];
    Part& next = parts_[at_ + 1];
    if (at_ > 0) current_->throw_if_changed();
    bool is_ended_here = is_line_break(last_);
    if (!options_.pauses) {
        cleave_scan_counts counts{};
        cleave_scan_end(&scan_dialect_, &state_, &counts);
        own_records_ += counts.records;
        is_ended_here = is_ended(at_, state_, own_records_);
        next.records = own_records_ + (at_ == 0 ? lead_records_ : part.records);
    }
    if (!is_ended_here && offset_ > part.skipped) lacking_ = part.line_end;
    part.size = offset_;
    next.begin = passed_;
    if (at_ > 0) stream_->count_other(current_->is_stream() ? current_->consumed() : offset_);
    current_.reset();
    rearranger_.reset();
    ++at_;
    offset_ = 0;
    own_records_ = 0;
    state_ = state_at(next.skipped);
}

// Called with the first bytes of an input whose records are taken. Returns the line end that the one before lacks.
Octets Joined::begin_part(std::uint8_t first) {
    if (lacking_ != LineEnd::kNone) last_ = bytes_of(lacking_).back();
    require_no_crlf(at_, first == '\n');
    const Octets end = bytes_of(std::exchange(lacking_, LineEnd::kNone));
    const std::size_t known = known_;
    if (!end.empty()) {
        for (std::size_t number = known; number <= at_; ++number) parts_[number].begin += end.size();
        parts_[known - 1].added = parts_[known - 1].line_end;
        passed_ += end.size();
    }
    is_paused_ = options_.pauses && known > 0;
    known_ = at_ + 1;
    return end;
}

// The next bytes that are taken of the current input; none at its end.
Octets Joined::next_taken() {
    Part& part = parts_[at_];
    for (;;) {
        Octets bytes = next_of_part();
        if (bytes.empty()) return rearranger_ ? rearranger_->add({}, true) : bytes;
        // Bytes before the records are not scanned; only those of the first input are taken.
        const std::uint64_t head = at_ == 0 ? lead_size_ : part.skipped;
        const auto in_head =
            static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), head - std::min(head, offset_)));
        offset_ += bytes.size();
        const Octets records = bytes.subspan(in_head);
        if (at_ > 0) bytes = records;
        if (!options_.pauses) {
            cleave_scan_counts counts{};
            scan_bytes(kernel_, scan_dialect_, state_, records, counts);
            own_records_ += counts.records;
        }
        if (part.columns > 0) {
            const Order& order = orders_[part.columns - 1];
            if (!rearranger_)
                rearranger_.emplace(options_.dialect, kernel_, order.count, order.fields,
                                    Place{part.skipped, part.head_records});
            bytes = rearranger_->add(bytes, false);
        }
        if (!bytes.empty()) return bytes;
    }
}

// The next bytes of the joined input.
Octets Joined::next() {
    if (is_paused_) return {};
    if (!held_.empty()) return std::exchange(held_, {});
    while (at_ < options_.inputs.size()) {
        const Octets bytes = about(at_, [&] { return next_taken(); });
        if (bytes.empty()) {
            about(at_, [&] { end_part(); });
            continue;
        }
        Octets end;
        if (known_ <= at_) end = begin_part(bytes.front());
        last_ = bytes.back();
        passed_ += bytes.size();
        if (end.empty() && !is_paused_) return bytes;
        held_ = bytes;
        return end;
    }
    return {};
}

void Joined::go_on(std::uint64_t records) {
    const std::size_t end = at_ == options_.inputs.size() ? parts_.size() : known_.load();
    for (; noted_ < end; ++noted_) parts_[noted_].records = noted_ == 0 ? 0 : records;
    is_paused_ = false;
}

void Joined::become_stream(const std::shared_ptr<Joined>& self, Input& first) {
    self->state_ = state_at(self->lead_size_);
    for (Part& part : self->parts_) part.begin = 0;
    InputParts::join(first, self->identity(first), {});
    self->stream_ = &InputParts::become_stream(first);
    self->reader_ = self->stream_->set_filter([self] { return self->next(); });
}

}  // namespace

void join_inputs(Input& first, const JoinOptions& options, std::shared_ptr<JoinedInputs>& joined) {
    const auto self = std::make_shared<Joined>(first, options);
    joined = self;
    if (self->read_heads(first)) {
        Joined::become_stream(self, first);
    } else {
        Joined::become_blob(self, first);
    }
}

}  // namespace cleave
