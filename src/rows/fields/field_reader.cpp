// Finds fields. The kernel finds the fields of the next bytes, up to a step on which readers may disagree. The state
// machine takes that step one byte at a time, and either finds the fault or reads on as the dialect says.
//
// Where only some ends matter, the kernel lists these alone. This is done only for bytes in which nothing is unusual.
// All others are read in full, which finds out what it is.
#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cleave/error.h"
#include "cleave/fields.h"
#include "cleave/memory.h"
#include "core/dialect/check_arguments.h"
#include "core/dialect/state_machine.h"
#include "core/kernels/kernel.h"
#include "core/kernels/kernel_list.h"
#include "core/kernels/markup.h"
#include "core/scan/carry.h"

namespace cleave {
namespace {

// Kernels write positions in batches, so they may write past the last one.
constexpr std::size_t kSlackAfterEnds = 64;

const char* const kStrayQuote = "a quote inside an unquoted field";
const char* const kTextAfterQuote = "text after a closing quote";
const char* const kLastEscape = "an escape with no byte after it";
const char* const kLoneReturn = "a CR outside quotes that no LF follows";
const char* const kOpenQuote = "a quote is never closed";
const char* const kLoneFeed = "an LF outside quotes, where CR ends records";

}  // namespace

struct FieldReader::State {
    State(const Dialect& wanted, const Kernel& of, Reading how, std::size_t count, std::shared_ptr<MemoryManager> from)
        : dialect(checked(wanted)),
          kernel(&of),
          markup(markup_of(wanted)),
          machine(wanted),
          reading(how),
          fields(count),
          memory(MemoryManager::or_default(std::move(from))) {}

    RecordBlock read(std::span<const std::uint8_t> all, Place at, bool at_end);
    bool read_picked(bool at_end);
    RecordBlock read_to_fault(std::span<const std::uint8_t> all, bool at_end, std::optional<QuoteFault>& found);

    void reserve(std::size_t size);
    void begin(std::span<const std::uint8_t> all, Place at);
    void step_exactly(std::size_t size);
    void find_fields();
    bool judge(cleave::State state, std::size_t at);
    bool judge_return(std::size_t at);
    void judge_end();
    RecordBlock block() const;
    void finish(bool at_end);
    void check_counts() const;
    bool is_blank(std::size_t row) const;
    bool refuse(const char* what, std::size_t at);
    [[noreturn]] void refuse_open_quote() const;
    bool has_returns() const { return dialect.terminator == Terminator::kLf; }

    // The state of the machine at this point. Unless every kind of line break is a terminator, `after_cr` only says
    // that a CR is pending.
    cleave::State machine_state() const {
        Carry carry = position.carry;
        if (dialect.terminator != Terminator::kAny) carry.after_cr = 0;
        return state_of(carry, dialect.escape_scope);
    }

    Dialect dialect;
    const Kernel* kernel;
    Markup markup;
    StateMachine machine;
    Reading reading;
    std::size_t fields;

    std::size_t capacity = 0;
    std::shared_ptr<MemoryManager> memory;
    Memory ends;                      // holds std::uint32_t
    Memory rows;                      // holds FieldRow
    std::size_t pick_count = 0;       // how many ends of a record matter; 0 if all do
    std::vector<PickWindow> windows;  // see FieldList
    std::vector<PickCounts> counts;   // the same
    unsigned unpicked = 0;            // how many runs are to be read in full, because one could not be read otherwise

    // State of the current read().
    std::span<const std::uint8_t> bytes;
    Place place;
    Position position{};
    FieldList list{};
    bool stops_at_fault = false;      // as read_to_fault() does
    std::optional<QuoteFault> fault;  // which it has stopped at
};

void FieldReader::State::reserve(std::size_t size) {
    if (rows.size() > 0 && size <= capacity) return;
    capacity = 0;
    ends.release();
    rows.release();
    ends = memory->allocate({.size = (size + kSlackAfterEnds) * sizeof(std::uint32_t)});
    rows = memory->allocate({.size = (size + kSlackAfterEnds) * sizeof(FieldRow)});
    capacity = size;
}

// Begins a read().
void FieldReader::State::begin(std::span<const std::uint8_t> all, Place at) {
    if (all.size() > std::numeric_limits<std::uint32_t>::max() - kStepSize) {
        throw ArgumentError("fields: a run of 4 GiB or more");
    }
    reserve(all.size());
    bytes = all;
    place = at;
    fault.reset();
}

void FieldReader::State::find_fields() {
    position = {carry_of(cleave::State::kRecordStart), 0, 0, 0};
    list = {reinterpret_cast<std::uint32_t*>(ends.data()), reinterpret_cast<FieldRow*>(rows.data()), 0, 0};
    while (position.offset < bytes.size() && !fault) {
        const auto rest = bytes.subspan(position.offset);
        kernel->mark_fields[markup.variant](markup, rest.data(), rest.size(), position, list);
        const std::size_t left = bytes.size() - position.offset;
        if (left > 0) step_exactly(std::min(left, kStepSize));
    }
}

// The records that were found.
RecordBlock FieldReader::State::block() const {
    const std::size_t size = list.rows[list.row_count - 1].begin;
    return {bytes.first(size), place, {list.ends, list.end_count}, {list.rows, list.row_count}};
}

RecordBlock FieldReader::State::read(std::span<const std::uint8_t> all, Place at, bool at_end) {
    stops_at_fault = false;
    begin(all, at);
    if (read_picked(at_end)) {
        RecordBlock picked = block();
        picked.is_picked = true;
        return picked;
    }
    find_fields();
    if (at_end && reading == Reading::kUnambiguous) judge_end();
    finish(at_end);
    if (fields > 0) check_counts();
    return block();
}

// Reads the bytes if only some ends matter and nothing is unusual. Returns whether it has done so.
bool FieldReader::State::read_picked(bool at_end) {
    constexpr std::size_t kLeast = 1024;  // in fewer bytes, little can be saved
    constexpr unsigned kUnpicked = 16;
    const std::size_t size = bytes.size();
    if (pick_count == 0 || size < kLeast) return false;
    if (unpicked > 0) return --unpicked, false;
    unpicked = kUnpicked;
    position = {carry_of(cleave::State::kRecordStart), 0, 0, 0};
    list = {reinterpret_cast<std::uint32_t*>(ends.data()),
            reinterpret_cast<FieldRow*>(rows.data()),
            0,
            0,
            windows.data(),
            counts.data()};
    if (kernel->pick_fields[markup.variant](markup, bytes.data(), size, position, list) < size) return false;
    if (list.is_uneven || (at_end && machine_state() != cleave::State::kRecordStart)) return false;
    const std::size_t records = list.end_count / pick_count;
    list.end_count = records * pick_count;
    list.row_count = records + 1;
    list.rows[0] = {0, 0};
    for (std::size_t r = 1; r <= records; ++r) {
        const std::size_t first = r * pick_count;
        list.rows[r] = {list.ends[first - 1] + 1, static_cast<std::uint32_t>(first)};
    }
    unpicked = 0;
    return true;
}

RecordBlock FieldReader::State::read_to_fault(std::span<const std::uint8_t> all, bool at_end,
                                              std::optional<QuoteFault>& found) {
    stops_at_fault = true;
    begin(all, {});
    find_fields();
    if (at_end && !fault) judge_end();
    found = fault;
    if (!fault) {
        finish(at_end);
    } else {  // the last row belongs to the record with the fault
        list.end_count = list.rows[list.row_count - 1].first;
    }
    return block();
}

// Runs the state machine over the next bytes, up to the first fault that ends the reading.
void FieldReader::State::step_exactly(std::size_t size) {
    const bool is_judged = reading == Reading::kUnambiguous || stops_at_fault;
    const bool after_return = dialect.terminator != Terminator::kAny && position.carry.after_cr != 0;
    if (is_judged && after_return && bytes[position.offset] != '\n' && judge_return(position.offset - 1)) return;
    cleave::State state = machine_state();
    for (const std::size_t end = position.offset + size; position.offset < end; ++position.offset) {
        const auto here = static_cast<std::uint32_t>(position.offset);
        const Transition& transition = machine.step(state, bytes[here]);
        if (transition.starts_record) {
            list.rows[list.row_count++] = {here, static_cast<std::uint32_t>(list.end_count)};
        }
        if (is_judged && judge(state, here)) return;
        const bool is_pair_end = state == cleave::State::kCarriageReturn && bytes[here] == '\n';
        const bool ends_field = transition.next == cleave::State::kFieldStart || is_past_record(transition.next);
        if (ends_field && !is_pair_end) list.ends[list.end_count++] = here;
        state = transition.next;
    }
    position.carry = carry_of(state);
    // Whether a CR in the last byte is a fault depends on the next byte.
    if (has_returns() && bytes[position.offset - 1] == '\r' && !is_quoted(state) && state != cleave::State::kEscape) {
        position.carry.after_cr = 1;
    }
}

// Refuses the byte if readers may disagree on it. Returns whether the reading ends here.
bool FieldReader::State::judge(cleave::State state, std::size_t at) {
    if (is_quoted(state) || state == cleave::State::kEscape) return false;
    const std::uint8_t byte = bytes[at];
    if (byte == dialect.quote && state == cleave::State::kUnquoted) return refuse(kStrayQuote, at);
    const bool is_return = byte == '\r' && has_returns();
    if (is_return && at + 1 < bytes.size() && bytes[at + 1] != '\n' && judge_return(at)) return true;
    if (byte == '\n' && dialect.terminator == Terminator::kCr && !stops_at_fault) return refuse(kLoneFeed, at);
    if (state != cleave::State::kQuoteInQuoted || is_return) return false;
    const bool ends_field = is_past_record(machine.step(state, byte).next) || byte == dialect.delimiter;
    return !ends_field && byte != dialect.quote && refuse(kTextAfterQuote, at);
}

// The same for a CR that no LF follows. To read_to_fault(), it is a byte like any other. A quote before it that is not
// escaped closes a section, because any other quote would have been a fault.
bool FieldReader::State::judge_return(std::size_t at) {
    if (!stops_at_fault) return refuse(kLoneReturn, at);
    if (at == 0 || bytes[at - 1] != dialect.quote) return false;
    std::size_t escapes = 0;
    while (escapes + 1 < at && bytes[at - 2 - escapes] == dialect.escape) ++escapes;
    return escapes % 2 == 0 && refuse(kTextAfterQuote, at);
}

// The same for the end of the input.
void FieldReader::State::judge_end() {
    const cleave::State state = machine_state();
    if (is_quoted(state)) {
        if (!stops_at_fault) refuse_open_quote();
        refuse(kOpenQuote, bytes.size());
    } else if (has_returns() && position.carry.after_cr != 0) {
        judge_return(bytes.size() - 1);
    } else if (state == cleave::State::kEscape && !stops_at_fault) {
        refuse(kLastEscape, bytes.size() - 1);
    }
}

// Adds the row after the last record. A record in progress is left out unless it ends here.
void FieldReader::State::finish(bool at_end) {
    const cleave::State state = machine_state();
    const auto size = static_cast<std::uint32_t>(bytes.size());
    const bool is_complete = state == cleave::State::kRecordStart;
    if (at_end && !is_past_record(state)) list.ends[list.end_count++] = size;
    if (at_end || is_complete || list.row_count == 0) {
        list.rows[list.row_count++] = {size, static_cast<std::uint32_t>(list.end_count)};
    } else {
        list.end_count = list.rows[list.row_count - 1].first;
    }
}

bool FieldReader::State::is_blank(std::size_t row) const {
    return content_end(bytes, list.rows[row].begin, list.ends[list.rows[row].first], dialect) == list.rows[row].begin;
}

// Checks how many fields each record before the last row has.
void FieldReader::State::check_counts() const {
    const std::size_t records = list.row_count - 1;
    std::uint32_t difference = 0;
    for (std::size_t i = 0; i < records; ++i) {
        difference |= (list.rows[i + 1].first - list.rows[i].first) ^ static_cast<std::uint32_t>(fields);
    }
    if (difference == 0) return;
    for (std::size_t i = 0; i < records; ++i) {
        const std::size_t count = list.rows[i + 1].first - list.rows[i].first;
        if (count == fields || (count == 1 && is_blank(i))) continue;
        throw InputError("a record of " + std::to_string(count) + " fields, not " + std::to_string(fields),
                         Place{place.offset + list.rows[i].begin, place.record + i});
    }
}

// Reports the first fault in the bytes, so that the result is the same however the bytes are divided into runs. Throws
// InputError or, for read_to_fault(), returns true.
bool FieldReader::State::refuse(const char* what, std::size_t at) {
    if (stops_at_fault) {
        fault = {what, at};
        return true;
    }
    if (fields > 0) check_counts();
    std::size_t row = list.row_count - 1;
    while (row > 0 && list.rows[row].begin > at) --row;
    throw InputError(what, Place{place.offset + at, place.record + row});
}

// Finds the quote that opened the section, which is in the last record.
void FieldReader::State::refuse_open_quote() const {
    if (fields > 0) check_counts();
    cleave::State state = cleave::State::kRecordStart;
    std::size_t opened = 0;
    const FieldRow& last = list.rows[list.row_count - 1];
    for (std::size_t i = last.begin; i < bytes.size(); ++i) {
        const Transition& transition = machine.step(state, bytes[i]);
        if (transition.opens_quote) opened = i;
        state = transition.next;
    }
    throw OpenQuoteError({place.offset + opened, place.record + list.row_count - 1});
}

FieldReader::FieldReader(const Dialect& dialect, const Kernel& kernel, Reading reading, std::size_t fields,
                         std::shared_ptr<MemoryManager> memory)
    : state_(std::make_unique<State>(dialect, kernel, reading, fields, std::move(memory))) {}
FieldReader::~FieldReader() = default;
FieldReader::FieldReader(FieldReader&&) noexcept = default;
FieldReader& FieldReader::operator=(FieldReader&&) noexcept = default;

void FieldReader::pick(std::span<const std::uint32_t> numbers) {
    constexpr std::size_t kMostFields = 4096;  // with more, the tables would not stay in the cache
    const std::size_t fields = state_->fields;
    const bool is_possible = deposits_fast() && state_->kernel->pick_fields[state_->markup.variant] != nullptr;
    state_->pick_count = 0;
    if (!is_possible || numbers.empty() || fields > kMostFields || 2 * (numbers.size() + 1) > fields) return;
    state_->pick_count = numbers.size() + 1;
    std::vector<bool> is_picked(fields);
    for (const std::uint32_t number : numbers) is_picked[number] = true;
    is_picked.back() = true;
    state_->windows.assign(fields, {});
    for (std::size_t ended = 0; ended < fields; ++ended) {
        PickWindow& window = state_->windows[ended];
        for (std::size_t i = 0; i < kStepSize; ++i) {
            const std::size_t number = (ended + i) % fields;
            window.picked |= std::uint64_t{is_picked[number]} << i;
            window.is_last |= std::uint64_t{number + 1 == fields} << i;
        }
    }
    state_->counts.clear();
    for (std::uint32_t n = 0, picked = 0; n < fields + kStepSize; ++n) {
        const auto ended = static_cast<std::uint32_t>(n % fields);
        state_->counts.push_back({picked, ended});
        picked += is_picked[ended] ? 1U : 0U;
    }
}

RecordBlock FieldReader::read(std::span<const std::uint8_t> bytes, Place place, bool at_end) {
    return state_->read(bytes, place, at_end);
}

RecordBlock FieldReader::read_to_fault(std::span<const std::uint8_t> bytes, bool at_end,
                                       std::optional<QuoteFault>& fault) {
    return state_->read_to_fault(bytes, at_end, fault);
}

namespace {

// Whether the last of these bytes is a closing quote. The bytes must begin with a record.
bool is_after_quote(std::span<const std::uint8_t> bytes, const Dialect& dialect) {
    const StateMachine machine(dialect);
    State state = State::kRecordStart;
    for (const std::uint8_t byte : bytes) state = machine.step(state, byte).next;
    return state == State::kQuoteInQuoted;
}

}  // namespace

std::uint32_t content_end(std::span<const std::uint8_t> bytes, std::uint32_t begin, std::uint32_t end,
                          const Dialect& dialect) {
    if (dialect.terminator != Terminator::kLf || end == bytes.size() || end == begin || bytes[end - 1] != '\r')
        return end;
    if (!dialect.escape || dialect.escape_scope != EscapeScope::kEverywhere) return end - 1;
    std::uint32_t escapes = 0;
    while (escapes < end - 1 - begin && bytes[end - 2 - escapes] == dialect.escape) ++escapes;
    if (escapes == 0) return end - 1;
    // In field-start mode an escape right after a closing quote is plain data.
    const std::uint32_t first = end - 1 - escapes;
    const bool is_behind_quote = first > begin && bytes[first - 1] == dialect.quote;
    if (dialect.quoting == Quoting::kFieldStart && is_behind_quote &&
        is_after_quote(bytes.subspan(begin, first - begin), dialect)) {
        --escapes;
    }
    return escapes % 2 != 0 ? end : end - 1;
}

}  // namespace cleave
