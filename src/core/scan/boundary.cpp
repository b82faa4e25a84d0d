// One pass over bytes for all states in which a reader can enter them. The idea is that of "Ranges" in
// doc/internals/design.md: readers that enter in different states are soon in the same one, and continue as one.
//
//   read the first bytes from every state
//   for each part, except a short one at the end:
//       summarise it, once as if it began outside quotes, once as if inside
//       for each state that a reader is in:
//           get its row of the part from the summary; or from a walk, if that state is not the one that the bytes
//           before the part suggest, or if the part is suspect from that state
//   read the end from every state that is left
//
// A reader whose state is known is the same with a single state. The summary of a part says how many records start in
// it, but not where. The first and last starts of a row are found after the pass: the part is walked once more from
// the state that the reader entered it in. Mostly they are in the first bytes and at the end, which were walked.
#include "core/scan/boundary.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "base/bits.h"
#include "cleave/dialect_rules.h"
#include "core/dialect/state_machine.h"
#include "core/kernels/kernel_list.h"
#include "core/kernels/markup.h"
#include "core/scan/carry.h"
#include "core/scan/stepper.h"
#include "core/scan/summarise.h"

namespace cleave {
namespace {

using Row = cleave_scan_row;
using Octets = std::span<const std::uint8_t>;

constexpr std::size_t kSliceSteps = Stepper::kSliceSize / kStepSize;
using Starts = std::array<std::uint64_t, kSliceSteps>;

static_assert(CLEAVE_SCAN_START == kStateCount && static_cast<int>(State::kCarriageReturn) == CLEAVE_SCAN_RETURN);
static_assert(sizeof(cleave_scan_state) == 24 && sizeof(cleave_scan_row) == 40 && sizeof(cleave_scan_summary) == 472);

constexpr std::array<std::uint8_t, 3> kMark = {0xEF, 0xBB, 0xBF};  // the byte order mark
constexpr std::uint64_t kMaxOffset = std::uint64_t{1} << 59;

// The first bytes; a part, which is about a level 2 cache; the end, at least this much.
constexpr std::size_t kLeadingSize = 256;
constexpr std::size_t kSummarisedSize = std::size_t{1} << 20;
constexpr std::size_t kTrailingSize = 1024;
constexpr std::size_t kUnit = kLaneCount * kLaneUnit;  // only whole units are summarised

// Stands for an offset that is not yet known: a walk from `state` finds it in the part that begins at `begin`.
constexpr std::uint64_t kSought = std::uint64_t{1} << 63;
std::uint64_t sought(std::size_t begin, State state) {
    return kSought | std::uint64_t{begin} << 4 | static_cast<std::uint64_t>(state);
}
bool is_sought(std::uint64_t offset) { return offset >= kSought && offset < CLEAVE_SCAN_BEFORE; }

bool may_be_open(State state) { return is_quoted(state) || state == State::kQuoteInQuoted; }

constexpr Row kNoRow = {0, CLEAVE_SCAN_NONE, CLEAVE_SCAN_NONE, CLEAVE_SCAN_NONE, CLEAVE_SCAN_STATES};

Row joined(const Row& first, const Row& second) {
    return {first.records + second.records, first.first == CLEAVE_SCAN_NONE ? second.first : first.first,
            second.last == CLEAVE_SCAN_NONE ? first.last : second.last,
            second.open_quote == CLEAVE_SCAN_BEFORE ? first.open_quote : second.open_quote, second.state};
}

void follow(cleave_scan_state& state, const Row& row, std::uint64_t size) {
    state.state = static_cast<std::uint32_t>(row.state);
    state.offset += size;
    if (row.open_quote != CLEAVE_SCAN_BEFORE) state.open_quote = row.open_quote;
}

// Appends the marked record starts to the first `found` entries of `out`. Returns where the first start is that does
// not fit, in bytes from `offset`, or `size` if all of them fit.
std::size_t store(const Starts& starts, std::size_t size, std::uint64_t offset, std::span<std::uint64_t> out,
                  std::size_t& found) {
    for (std::size_t at = 0; at < size; at += kStepSize) {
        for (std::uint64_t bits = starts[at / kStepSize]; bits != 0; bits &= bits - 1) {
            const std::size_t start = at + first_bit(bits);
            if (found == out.size()) return start;
            out[found++] = offset + start;
        }
    }
    return size;
}

// No record has begun that does not also end here.
bool is_complete(std::uint64_t state) { return state == CLEAVE_SCAN_RECORD_START || state == CLEAVE_SCAN_START; }

// Sets `dialect`, unless `wanted` is not valid: then returns what is wrong with it.
const char* read_dialect(const cleave_scan_dialect& wanted, Dialect& dialect) noexcept {
    if (wanted.quote < -1 || wanted.quote > UINT8_MAX) return "the quote must be a byte or -1";
    if (wanted.escape < -1 || wanted.escape > UINT8_MAX) return "the escape must be a byte or -1";
    if (wanted.terminator > CLEAVE_SCAN_ANY) return "no such terminator";
    if (wanted.quoting > CLEAVE_SCAN_ANYWHERE) return "no such quote mode";
    if (wanted.escape_scope > CLEAVE_SCAN_QUOTED) return "no such scope of escapes";
    const auto role = [](std::int16_t byte) {
        return byte < 0 ? std::optional<std::uint8_t>() : static_cast<std::uint8_t>(byte);
    };
    dialect.delimiter = wanted.delimiter;
    dialect.quote = role(wanted.quote);
    dialect.escape = role(wanted.escape);
    dialect.terminator = static_cast<Terminator>(wanted.terminator);
    dialect.quoting = static_cast<Quoting>(wanted.quoting);
    dialect.escape_scope = static_cast<EscapeScope>(wanted.escape_scope);
    return fault_of(dialect);
}

// Reads bytes for several readers at once, each in a state of its own. `state` of a row is one of CLEAVE_SCAN_*.
class RowReader {
public:
    // Use it only if can_read().
    RowReader(const cleave_scan_dialect& wanted, const Kernel& kernel) noexcept
        : is_valid_(read_dialect(wanted, dialect_) == nullptr), kernel_(kernel), stepper_(dialect_, kernel) {}

    // Whether the dialect is valid, and offsets of that many bytes are; whether the state is, too.
    bool can_read(std::uint64_t begin, std::size_t size) const noexcept {
        return is_valid_ && begin < kMaxOffset && size < kMaxOffset - begin;
    }
    bool can_read(const cleave_scan_state& state, std::size_t size) noexcept;
    bool can_enter(std::uint64_t state, std::uint64_t offset) const noexcept;

    // The row of no bytes.
    Row row_at(std::uint64_t state) noexcept {
        const bool is_open = may_be_open(exact(state));
        return {0, CLEAVE_SCAN_NONE, CLEAVE_SCAN_NONE, is_open ? CLEAVE_SCAN_BEFORE : CLEAVE_SCAN_NONE, state};
    }

    // Continues each row that is not CLEAVE_SCAN_STATES over `bytes`, which begin at offset `begin`. Offsets that were
    // not looked for remain to be found.
    void pass(std::span<Row> rows, std::uint64_t begin, Octets bytes) noexcept;

    // Finds this offset of the rows, &Row::first, last or open_quote, in the bytes of the last pass().
    void find(std::span<Row> rows, std::uint64_t Row::*offset) noexcept;

    // The row of the bytes from `begin` on for a single reader.
    Row walk(std::uint64_t state, std::uint64_t begin, Octets bytes) noexcept;

    // The same for at most Stepper::kSliceSize bytes, from one of the states of the machine. Marks their record starts.
    Row step(std::uint64_t state, std::uint64_t begin, Octets bytes, std::uint64_t* starts) noexcept;

    // The state of the machine, if the bytes so far are not the beginning of a byte order mark.
    State exact(std::uint64_t state) noexcept;

private:
    // Without quotes, the first byte of a field is like any other.
    State settled(State state) const noexcept {
        return !dialect_.quote && state == State::kFieldStart ? State::kUnquoted : state;
    }
    std::size_t end_of_part(std::size_t begin) const noexcept;
    std::optional<Row> row_of_block(State state, std::size_t begin, std::size_t end,
                                    const SummarisedBlock& block) const noexcept;

    Dialect dialect_;
    bool is_valid_;
    const Kernel& kernel_;
    Stepper stepper_;
    std::uint64_t begin_ = 0;  // of the last pass()
    Octets bytes_;
};

bool RowReader::can_read(const cleave_scan_state& state, std::size_t size) noexcept {
    if (!can_read(state.offset, size) || state.version != CLEAVE_SCAN_VERSION) return false;
    if (!can_enter(state.state, state.offset)) return false;
    const bool is_open = row_at(state.state).open_quote == CLEAVE_SCAN_BEFORE;
    return is_open ? state.open_quote < state.offset : state.open_quote == CLEAVE_SCAN_NONE;
}

bool RowReader::can_enter(std::uint64_t state, std::uint64_t offset) const noexcept {
    if (state >= CLEAVE_SCAN_START) return state < CLEAVE_SCAN_STATES && offset == state - CLEAVE_SCAN_START;
    if (offset == 0) return false;
    const EscapeUse use = escape_use(dialect_);
    switch (static_cast<State>(state)) {
        case State::kFieldStart:
        case State::kQuoted:
        case State::kQuoteInQuoted: return dialect_.quote.has_value();
        case State::kEscape: return use == EscapeUse::kEverywhere;
        case State::kEscapeInQuoted: return dialect_.quote && use != EscapeUse::kNone;
        case State::kCarriageReturn: return dialect_.terminator == Terminator::kAny;
        default: return true;
    }
}

State RowReader::exact(std::uint64_t state) noexcept {
    if (state < CLEAVE_SCAN_START) return static_cast<State>(state);
    const Octets mark = Octets(kMark).first(static_cast<std::size_t>(state) - CLEAVE_SCAN_START);
    return static_cast<State>(walk(CLEAVE_SCAN_RECORD_START, 0, mark).state);
}

Row RowReader::step(std::uint64_t state, std::uint64_t begin, Octets bytes, std::uint64_t* starts) noexcept {
    stepper_.seek(begin, 0, static_cast<State>(state));
    stepper_.forget_quote();
    stepper_.read(bytes, starts);
    Row row = kNoRow;
    row.records = stepper_.records();
    row.state = static_cast<std::uint64_t>(settled(stepper_.state()));
    if (may_be_open(stepper_.state())) {
        row.open_quote = stepper_.open_end() == 0 ? CLEAVE_SCAN_BEFORE : stepper_.open_end() - 1;
    }
    if (row.records > 0) {
        const std::uint64_t* first = std::find_if(starts, starts + kSliceSteps, [](auto word) { return word != 0; });
        row.first = begin + static_cast<std::size_t>(first - starts) * kStepSize + first_bit(*first);
        row.last = begin + *last_start({starts, (bytes.size() + kStepSize - 1) / kStepSize});
    }
    return row;
}

Row RowReader::walk(std::uint64_t state, std::uint64_t begin, Octets bytes) noexcept {
    Row row = row_at(state);
    std::size_t size = 1;
    for (; row.state >= CLEAVE_SCAN_START && !bytes.empty(); bytes = bytes.subspan(size), begin += size) {
        Row one = walk(static_cast<std::uint64_t>(exact(row.state)), begin, bytes.first(size));
        if (bytes.front() == kMark[static_cast<std::size_t>(row.state) - CLEAVE_SCAN_START]) {
            const bool is_whole = row.state == CLEAVE_SCAN_MARK_2;
            one.state = is_whole ? static_cast<std::uint64_t>(settled(State::kFieldStart)) : row.state + 1;
            if (is_whole) one.open_quote = CLEAVE_SCAN_NONE;
        }
        row = joined(row, one);
    }
    for (; !bytes.empty(); bytes = bytes.subspan(size), begin += size) {
        size = std::min(bytes.size(), Stepper::kSliceSize);
        Starts starts;
        row = joined(row, step(row.state, begin, bytes.first(size), starts.data()));
    }
    return row;
}

std::size_t RowReader::end_of_part(std::size_t begin) const noexcept {
    const std::size_t rest = bytes_.size() - begin;
    if (begin == 0) return std::min(rest, kLeadingSize);
    if (rest >= kSummarisedSize + kTrailingSize) return begin + kSummarisedSize;
    const std::size_t size = (rest - std::min(rest, kTrailingSize)) / kUnit * kUnit;
    return size > 0 ? begin + size : bytes_.size();
}

void RowReader::pass(std::span<Row> rows, std::uint64_t begin, Octets bytes) noexcept {
    begin_ = begin;
    bytes_ = bytes;
    for (std::size_t at = 0, end = 0; at < bytes.size(); at = end) {
        end = end_of_part(at);
        std::optional<SummarisedBlock> block;
        // If all bytes before the part are escapes, the block may assume the wrong parity. Its state before the part
        // then differs from the reader's, and the reader walks.
        if (at > 0 && end < bytes.size()) block = summarise_block(bytes, 0, at, end, dialect_, kernel_);
        std::array<std::optional<Row>, CLEAVE_SCAN_STATES> found;
        for (Row& row : rows) {
            if (row.state == CLEAVE_SCAN_STATES) continue;
            std::optional<Row>& part = found[static_cast<std::size_t>(row.state)];
            if (!part && block) part = row_of_block(static_cast<State>(row.state), at, end, *block);
            if (!part) part = walk(row.state, begin + at, bytes.subspan(at, end - at));
            row = joined(row, *part);
        }
    }
}

// The row of a part that a reader enters in this state. No value if the summary of the part is not enough.
std::optional<Row> RowReader::row_of_block(State state, std::size_t begin, std::size_t end,
                                           const SummarisedBlock& block) const noexcept {
    const std::size_t inside = is_quoted(state) ? 1 : 0;
    Carry carry = block.before;
    carry.inside = static_cast<std::uint8_t>(inside);
    if (!block.well_known || settled(state_of(carry, dialect_.escape_scope)) != state) return std::nullopt;
    const bool heeds_suspects = dialect_.quoting == Quoting::kFieldStart || escape_use(dialect_) == EscapeUse::kQuoted;
    if (heeds_suspects && block.summary.suspect[inside] != 0) return std::nullopt;
    carry = *local_carry(bytes_, 0, end, dialect_);
    carry.inside = static_cast<std::uint8_t>(inside ^ block.summary.flips);
    const State after = settled(state_of(carry, dialect_.escape_scope));
    const std::uint64_t here = sought(begin, state);
    const std::uint64_t start = block.summary.records[inside] > 0 ? here : CLEAVE_SCAN_NONE;
    Row row{block.summary.records[inside], start, start, CLEAVE_SCAN_NONE, static_cast<std::uint64_t>(after)};
    if (!may_be_open(after)) return row;
    row.open_quote = here;  // the section opens in this part, if it began outside
    if (row.records > 0 || (inside == 0 && state != State::kQuoteInQuoted)) return row;
    const bool has_quote = std::memchr(bytes_.data() + begin, *dialect_.quote, end - begin) != nullptr;
    if (has_quote || inside == 0) return std::nullopt;
    row.open_quote = CLEAVE_SCAN_BEFORE;
    return row;
}

void RowReader::find(std::span<Row> rows, std::uint64_t Row::*offset) noexcept {
    for (const Row& row : rows) {
        const std::uint64_t wanted = row.*offset;
        if (!is_sought(wanted)) continue;
        std::uint64_t found = wanted;
        auto at = static_cast<std::size_t>((wanted & ~kSought) >> 4);
        std::uint64_t state = wanted & 15;
        const std::size_t end = end_of_part(at);
        for (std::size_t size = 0; at < end && found == wanted; at += size) {
            // The first start is near, as a rule.
            size = offset == &Row::first ? std::min(end - at, Stepper::kSliceSize) : end - at;
            const Row part = walk(state, begin_ + at, bytes_.subspan(at, size));
            if (part.*offset != CLEAVE_SCAN_NONE) found = part.*offset;
            state = part.state;
        }
        for (Row& other : rows) {
            if (other.*offset == wanted) other.*offset = found;
        }
    }
}

}  // namespace

std::int32_t scan_bytes(const Kernel& kernel, const cleave_scan_dialect& wanted, cleave_scan_state& state, Octets bytes,
                        cleave_scan_counts& counts) noexcept {
    RowReader reader(wanted, kernel);
    if (!reader.can_read(state, bytes.size())) return CLEAVE_SCAN_INVALID;
    Row row = reader.row_at(state.state);
    reader.pass({&row, 1}, state.offset, bytes);
    reader.find({&row, 1}, &Row::open_quote);
    // A record that starts first in these bytes ends another one, unless there was none.
    counts.records = row.records - (is_complete(state.state) && row.records > 0 ? 1 : 0);
    counts.last = CLEAVE_SCAN_NONE;
    if (row.state == CLEAVE_SCAN_RECORD_START && !bytes.empty()) {
        ++counts.records;
        counts.last = state.offset + bytes.size();
    } else if (counts.records > 0) {
        reader.find({&row, 1}, &Row::last);
        counts.last = row.last;
    }
    follow(state, row, bytes.size());
    const State exact = reader.exact(state.state);
    const bool is_return = exact == State::kCarriageReturn;
    counts.open_quote = is_quoted(exact) ? state.open_quote : CLEAVE_SCAN_NONE;
    counts.ending = (is_complete(state.state) || is_return ? 0 : CLEAVE_SCAN_UNTERMINATED) |
                    (is_return ? CLEAVE_SCAN_LONE_RETURN : 0) | (is_quoted(exact) ? CLEAVE_SCAN_OPEN_QUOTE : 0) |
                    (is_escape(exact) ? CLEAVE_SCAN_OPEN_ESCAPE : 0);
    return 0;
}

std::size_t find_starts(const Kernel& kernel, const cleave_scan_dialect& wanted, cleave_scan_state& state, Octets bytes,
                        std::span<std::uint64_t> out) noexcept {
    RowReader reader(wanted, kernel);
    if (!reader.can_read(state, bytes.size())) return SIZE_MAX;
    std::size_t found = 0;
    while (!bytes.empty()) {
        if (state.state >= CLEAVE_SCAN_START) {
            const Row row = reader.walk(state.state, state.offset, bytes.first(1));
            if (row.records > out.size() - found) break;
            if (row.records > 0) out[found++] = state.offset;
            follow(state, row, 1);
            bytes = bytes.subspan(1);
            continue;
        }
        // Not much more than there is room for, so that many calls with little room do not read the same bytes again.
        Starts starts;
        const std::size_t steps = std::clamp<std::size_t>(out.size() - found, 1, starts.size());
        const auto slice = bytes.first(std::min(bytes.size(), steps * kStepSize));
        const Row row = reader.step(state.state, state.offset, slice, starts.data());
        const std::size_t done = store(starts, slice.size(), state.offset, out, found);
        if (done < slice.size()) {
            const bool is_lone = done > 0 && wanted.terminator == CLEAVE_SCAN_ANY && slice[done - 1] == '\r';
            const auto before = is_lone ? CLEAVE_SCAN_RETURN : CLEAVE_SCAN_RECORD_START;
            if (done > 0) follow(state, reader.row_at(before), done);
            break;
        }
        follow(state, row, slice.size());
        bytes = bytes.subspan(slice.size());
    }
    return found;
}

std::int32_t summarise_bytes(const Kernel& kernel, const cleave_scan_dialect& wanted, std::uint64_t begin, Octets bytes,
                             cleave_scan_summary& summary) noexcept {
    RowReader reader(wanted, kernel);
    if (!reader.can_read(begin, bytes.size())) return CLEAVE_SCAN_INVALID;
    summary = {CLEAVE_SCAN_VERSION, wanted, begin, begin + bytes.size(), {}};
    for (std::uint64_t state = 0; state < CLEAVE_SCAN_STATES; ++state) {
        summary.rows[state] = reader.can_enter(state, begin) ? reader.row_at(state) : kNoRow;
    }
    reader.pass(summary.rows, begin, bytes);
    for (const auto offset : {&Row::first, &Row::last, &Row::open_quote}) reader.find(summary.rows, offset);
    return 0;
}

}  // namespace cleave

namespace {

std::span<const std::uint8_t> span_of(const void* bytes, size_t size) {
    return {static_cast<const std::uint8_t*>(bytes), size};
}

}  // namespace

const char* cleave_scan_fault(const cleave_scan_dialect* dialect) {
    cleave::Dialect settled;
    return cleave::read_dialect(*dialect, settled);
}

cleave_scan_state cleave_scan_begin(const cleave_scan_dialect* /*dialect*/) {
    return {CLEAVE_SCAN_VERSION, CLEAVE_SCAN_START, 0, CLEAVE_SCAN_NONE};
}

int32_t cleave_scan(const cleave_scan_dialect* dialect, cleave_scan_state* state, const void* bytes, size_t size,
                    cleave_scan_counts* counts) {
    return cleave::scan_bytes(cleave::preferred_kernel(), *dialect, *state, span_of(bytes, size), *counts);
}

size_t cleave_scan_starts(const cleave_scan_dialect* dialect, cleave_scan_state* state, const void* bytes, size_t size,
                          uint64_t* out, size_t room) {
    return cleave::find_starts(cleave::preferred_kernel(), *dialect, *state, span_of(bytes, size), {out, room});
}

int32_t cleave_summarise(const cleave_scan_dialect* dialect, uint64_t begin, const void* bytes, size_t size,
                         cleave_scan_summary* summary) {
    return cleave::summarise_bytes(cleave::preferred_kernel(), *dialect, begin, span_of(bytes, size), *summary);
}

int32_t cleave_scan_end(const cleave_scan_dialect* dialect, const cleave_scan_state* state,
                        cleave_scan_counts* counts) {
    cleave_scan_state end = *state;
    cleave_scan_counts found;
    if (cleave_scan(dialect, &end, nullptr, 0, &found) != 0) return CLEAVE_SCAN_INVALID;
    found.records = cleave::is_complete(state->state) ? 0 : 1;
    if (found.records > 0) found.last = state->offset;
    *counts = found;
    return 0;
}

int32_t cleave_compose(const cleave_scan_summary* first, const cleave_scan_summary* second, cleave_scan_summary* both) {
    const bool is_same = std::memcmp(&first->dialect, &second->dialect, sizeof first->dialect) == 0;
    if (first->version != CLEAVE_SCAN_VERSION || second->version != CLEAVE_SCAN_VERSION || !is_same ||
        first->end != second->begin) {
        return CLEAVE_SCAN_INVALID;
    }
    cleave_scan_summary sum = *first;
    sum.end = second->end;
    for (cleave_scan_row& row : sum.rows) {
        if (row.state == CLEAVE_SCAN_STATES) continue;
        if (row.state > CLEAVE_SCAN_STATES || second->rows[row.state].state >= CLEAVE_SCAN_STATES) {
            return CLEAVE_SCAN_INVALID;
        }
        row = cleave::joined(row, second->rows[row.state]);
    }
    *both = sum;
    return 0;
}

int32_t cleave_resolve(const cleave_scan_summary* summary, cleave_scan_state* state, cleave_scan_range* range) {
    cleave_scan_state after = *state;
    cleave_scan_counts counts;
    if (summary->version != CLEAVE_SCAN_VERSION || summary->begin != state->offset || summary->end < summary->begin ||
        cleave_scan(&summary->dialect, &after, nullptr, 0, &counts) != 0) {
        return CLEAVE_SCAN_INVALID;
    }
    const cleave_scan_row& row = summary->rows[state->state];
    if (row.state >= CLEAVE_SCAN_STATES) return CLEAVE_SCAN_INVALID;
    cleave::follow(after, row, summary->end - summary->begin);
    cleave_scan_state same = after;
    if (cleave_scan(&summary->dialect, &same, nullptr, 0, &counts) != 0) return CLEAVE_SCAN_INVALID;
    *range = {row.records, row.first, row.last};
    *state = after;
    return 0;
}
