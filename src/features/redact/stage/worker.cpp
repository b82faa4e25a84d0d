// Measures and writes records on the CPU, using stage/record.h. Handles every dialect, and reports the position of
// every fault.
#include <algorithm>
#include <bit>
#include <cstring>
#include <exception>
#include <optional>
#include <string>

#include "base/too_long.h"
#include "cleave/error.h"
#include "cleave/stage.h"
#include "core/scan/walker.h"
#include "features/redact/stage/ambiguous.h"
#include "features/redact/stage/forbidden/pattern.h"
#include "features/redact/stage/json_side.h"
#include "features/redact/stage/operation_context.h"
#include "features/redact/stage/program.h"
#include "features/redact/stage/record.h"
#include "features/redact/stage/record_sinks.h"
#include "rows/memory/value_buffer.h"

namespace cleave {
namespace {

struct BlockRecord : RecordView {
    const std::uint8_t* bytes;  // the bytes of the block
    std::size_t number;         // the number of the record in the block, from 0
};

// Where a field is among the fields that are kept. An empty record has none.
struct KeptField {
    static constexpr std::size_t kNone = ~std::size_t{0};

    std::size_t begin = kNone;
    std::size_t size = 0;
};

}  // namespace

void RuleCounts::take_tokens(std::uint64_t tokens) {
    if (tokens > 0 && (fewest_tokens == 0 || tokens < fewest_tokens)) fewest_tokens = tokens;
}

RuleCounts& RuleCounts::operator+=(const RuleCounts& other) {
    seen += other.seen;
    changed += other.changed;
    kept += other.kept;
    empty += other.empty;
    condition_false += other.condition_false;
    take_tokens(other.fewest_tokens);
    return *this;
}

StageCounts& StageCounts::operator+=(const StageCounts& other) {
    rules.resize(std::max(rules.size(), other.rules.size()));
    for (std::size_t i = 0; i < other.rules.size(); ++i) rules[i] += other.rules[i];
    records += other.records;
    empty_records += other.empty_records;
    const auto add = [](std::vector<std::uint64_t>& to, const std::vector<std::uint64_t>& from) {
        to.resize(std::max(to.size(), from.size()));
        for (std::size_t i = 0; i < from.size(); ++i) to[i] += from[i];
    };
    add(forbidden, other.forbidden);
    add(met, other.met);
    return *this;
}

struct StageWorker::State {
    State(const Stage& stage, const Kernel& of, std::shared_ptr<MemoryManager> from)
        : rules(stage.program()), kernel(&of), memory(MemoryManager::or_default(std::move(from))) {
        if (rules.keys != nullptr) {
            hasher = Hasher(*rules.keys, rules.uses);
            cipher = Cipher(*rules.keys, rules.uses);
        }
        reset_counts();
        if (rules.rules.suppress && rules.common == nullptr) {
            throw ArgumentError("suppress needs two passes over the input, which are not available here");
        }
        set_digester();
        if (rules.paths == nullptr) return;
        const JsonRules& lines = *rules.rules.json;
        const bool takes_strings = lines.default_rule || lines.fails_at_unnamed;
        json.emplace(*rules.paths, JsonWishes{!rules.forbidden.empty(), takes_strings, !takes_strings}, memory);
    }

    BlockRecord view(const RecordBlock& block, std::size_t r) const {
        const FieldRow& row = block.rows[r];
        const FieldRow& next = block.rows[r + 1];
        std::uint32_t content = block.ends[next.first - 1];
        // A CR before the terminator may belong to it.
        if (content > row.begin && block.bytes[content - 1] == '\r') {
            content = content_end(block.bytes, row.begin, content, rules.dialect);
        }
        return {{block.ends.data() + row.first, row.begin, content, next.begin, next.first - row.first},
                block.bytes.data(),
                r};
    }

    template <bool kHasKeys>
    void write(const RecordBlock& block);
    bool keeps_all() const;
    void write_kept(const RecordBlock& block);
    template <bool kOne>
    std::size_t copy_kept(const RecordBlock& block);
    void write_classes(const RecordBlock& block);
    void write_json(const RecordBlock& block);
    void watch(const RecordBlock& block, std::size_t r);
    void watch_header(const RecordBlock& block, std::size_t r);
    const StageForbidden* forbidden_in(const BlockRecord& record, const FieldSpan& field);
    const StageForbidden* forbidden_in(Value found);
    // Apart, so that the search for kinds keeps its registers.
    [[gnu::noinline]] const StageForbidden* pattern_in(Value found);
    [[gnu::noinline, gnu::cold]] const StageForbidden* count_forbidden(std::size_t number);
    bool may_have_escaped_quote(const RecordBlock& block) const;
    RecordBlock checked(const RecordBlock& block, std::size_t size) const;
    bool begins_too_long(std::span<const std::uint8_t> bytes) const;

    void reset_counts() {
        counts = {};
        counts.rules.resize(rules.rules.rules.size());
        counts.forbidden.resize(rules.forbidden.size());
        if (rules.paths != nullptr) counts.met.resize(rules.paths->paths().size());
    }

    void set_digester() {
        if (rules.common == nullptr || rules.common->key() == nullptr) return;
        digester.emplace(*rules.common->key(), rules.dialect, memory);
    }

    FieldReader new_reader() const {
        FieldReader made(rules.dialect, *kernel, Reading::kUnambiguous, rules.paths ? 0 : rules.column_count, memory);
        if (picks_ends) made.pick(rules.picks);
        return made;
    }

    [[gnu::always_inline]] void count(std::uint32_t rule, RuleCounter counter) {
        RuleCounts& of_rule = counts.rules[rule];
        switch (counter) {
            case RuleCounter::kSeen: ++of_rule.seen; break;
            case RuleCounter::kChanged: ++of_rule.changed; break;
            case RuleCounter::kKept: ++of_rule.kept; break;
            case RuleCounter::kEmpty: ++of_rule.empty; break;
            case RuleCounter::kConditionFalse: ++of_rule.condition_false; break;
        }
    }
    // The rule is one of `program`.
    void count_tokens(const FlatProgram* program, const FlatRule& rule, std::uint64_t tokens) {
        const auto* const all = entries<FlatRule>(program, program->rules);
        counts.rules[static_cast<std::size_t>(&rule - all)].take_tokens(tokens);
    }

    const Stage::Program& rules;
    const Kernel* kernel;
    std::shared_ptr<MemoryManager> memory;
    bool picks_ends = false;
    FieldReader reader{new_reader()};
    const bool is_kept = keeps_all();
    Hasher hasher;
    Cipher cipher;
    StageCounts counts;
    ValueBuffer value{memory};     // of the current field, if it had to be copied
    ValueBuffer by_value{memory};  // of an operation's second column, if it had to be copied
    ValueBuffer scratch{memory};   // of an operation
    OperationContext context{hasher, cipher, rules.rules.tables, scratch};
    ValueBuffer measured{memory};  // changed fields that are only measured
    ValueBuffer out{memory};
    std::size_t written = 0;
    std::vector<std::uint64_t> starts;
    ValueBuffer kept{memory};  // see KeptFields
    std::size_t kept_size = 0;
    std::vector<KeptField> key_fields;  // one for each record and each key
    // With `suppress`:
    std::optional<ClassDigester> digester;
    ValueBuffer combined{memory};          // the values that decide whether a record is rare; with JSON, a new value
    const std::uint8_t* judged = nullptr;  // where the last judged record of the block begins
    bool is_rare = false;                  // what was judged
    std::optional<JsonReader> json;        // in JSON Lines
};

namespace {

template <class State, bool kWithKeys>
struct JudgingSide;

// The Side (see stage/record.h) for one block.
template <class State, bool kWithKeys = false>
class CpuSide {
public:
    static constexpr bool kHasKeys = kWithKeys;
    static constexpr bool kIsCpu = true;
    using Part = const FlatPart&;
    using Record = BlockRecord;

    CpuSide(State& state, const RecordBlock& block)
        : program(&state.rules.flat(block.is_picked)),
          state_(state),
          place_(block.place),
          records_(block.record_count()) {}

    const FlatProgram* const program;

    static const std::uint8_t* bytes_of(const BlockRecord& record) { return record.bytes; }
    Value decode(const BlockRecord& record, const FieldSpan& field) {
        return state_.rules.codec.decode(record.bytes + field.begin, record.bytes + field.end, state_.value);
    }
    Hasher& hasher() { return state_.hasher; }
    template <class Operation>
    OperationContext& context(const BlockRecord& record, const Operation& operation) {
        if constexpr (requires { operation.by; }) {
            const FieldSpan field = record.field(operation.by);
            state_.context.by =
                state_.rules.codec.decode(record.bytes + field.begin, record.bytes + field.end, state_.by_value);
        }
        return state_.context;
    }
    static std::uint64_t room_of(std::uint64_t size) { return DialectCodec::room_for(size); }
    std::uint64_t encode(const BlockRecord& record, const FieldSpan& field, std::uint8_t* out, std::uint64_t size,
                         bool is_quoted) const {
        const std::optional<std::uint64_t> encoded = state_.rules.codec.encode(out, size, is_quoted);
        if (encoded) return *encoded;
        throw InputError("the new value of a field cannot be written in this dialect", place_of(record, field.begin));
    }

    [[gnu::noinline, gnu::cold]] bool is_rare(const BlockRecord& record) {
        const std::uint8_t* const begin = record.bytes + record.begin;
        if (state_.judged != begin) {
            state_.judged = begin;
            state_.is_rare = state_.rules.common->are_known() && !state_.rules.common->has(class_of(record));
        }
        return state_.is_rare;
    }

    // The class of what the rules other than `suppress` write into its columns. In each of these columns, `suppress` is
    // the first rule. Everything that a rule does is inlined here.
    [[gnu::noinline, gnu::flatten]] ClassDigest class_of(const BlockRecord& record) {
        JudgingSide<State, kWithKeys> side(*this);
        RecordWriter writer(state_.combined, 0, {});
        for (const std::size_t number : state_.rules.rules.rules[*state_.rules.rules.suppress].columns) {
            const auto column = static_cast<std::uint32_t>(number);
            const FlatRule& rule = entries<FlatRule>(program, program->rules)[rule_for<false>(side, record, column, 1)];
            const FieldSpan field = record.field(column);
            if (stays(side, record, rule, field)) {
                state_.digester->add({record.bytes + field.begin, record.bytes + field.end});
                continue;
            }
            writer.take_back(0);
            replace_field(side, record, rule, field, writer);
            state_.digester->add(writer.since(0));
        }
        return state_.digester->finish();
    }

    // change_field() gets a copy of the sink, so that the sink itself can stay in registers.
    template <class Sink>
    [[gnu::always_inline]] bool change(const BlockRecord& record, std::uint32_t column, Sink& sink) {
        Sink copy = sink;
        const bool is_changed = change_apart(record, column, copy);
        sink = copy;
        return is_changed;
    }

    [[gnu::always_inline]] void count(std::uint32_t rule, RuleCounter counter) { state_.count(rule, counter); }
    void count_empty() { ++state_.counts.empty_records; }
    void count_tokens(const FlatRule& rule, std::uint64_t tokens) { state_.count_tokens(program, rule, tokens); }

    // Keeps the result for a column of with_keys(), and writes it unless the column is left out.
    void write_key(const BlockRecord& record, const FlatPart& part, RecordWriter& writer) {
        const std::size_t begin = writer.size();
        const FieldSpan field = record.field(part.first);
        std::span<const std::uint8_t> made(record.bytes + field.begin, field.end - field.begin);
        if (part.is_changed && change(record, part.first, writer)) {
            made = writer.since(begin);
        } else if (!part.is_left_out) {
            writer.append(made.data(), made.size());
        }
        keep(record, part.key, made);
        if (part.is_left_out) return writer.take_back(begin);
        if (part.end == PartEnd::kDelimiter) writer.append(record.bytes + record.ends[part.last], 1);
        if (part.end == PartEnd::kNewDelimiter) writer.put(program->delimiter);
    }

    // Keeps what is read in the columns that with_keys() calls `as_read`.
    void keep_as_read(const BlockRecord& record) {
        if (record.count != program->column_count) return;
        const std::vector<std::size_t>& columns = state_.rules.keys_as_read;
        auto key = static_cast<std::uint32_t>(state_.rules.key_count - columns.size());
        for (const std::size_t column : columns) {
            const FieldSpan field = record.field(static_cast<std::uint32_t>(column));
            keep(record, key++, {record.bytes + field.begin, record.bytes + field.end});
        }
    }

    // The reader has already refused such a record.
    static void refuse_width(const BlockRecord&) { throw LogicError("stage: a record of another width"); }
    void refuse_empty(const BlockRecord& record) const {
        throw InputError("the only column of a record becomes empty, which cannot be written without quotes",
                         place_of(record, record.begin));
    }
    void refuse_reserved(const BlockRecord& record, const FieldSpan& field, Value value) const {
        if (!has_reserved_text({value.data, value.size})) return;
        throw InputError(kReservedText, place_of(record, field.begin));
    }

    [[noreturn, gnu::noinline, gnu::cold]] void refuse_value(const BlockRecord& record, std::uint32_t begin) const {
        throw InputError(state_.context.refusal, place_of(record, begin));
    }

    // For messages.
    Place place_of(const BlockRecord& record, std::uint32_t at) const {
        return {place_.offset + at, place_.record + record.number};
    }

private:
    // Everything that a rule does is inlined here, however much else there is in this file.
    template <class Sink>
    [[gnu::noinline, gnu::flatten]] bool change_apart(const BlockRecord& record, std::uint32_t column, Sink& sink) {
        return change_field(*this, record, column, sink);
    }

    void keep(const BlockRecord& record, std::uint32_t key, std::span<const std::uint8_t> made) {
        const std::size_t number = state_.starts.size() - records_ + record.number;
        state_.key_fields[number * state_.rules.key_count + key] = {state_.kept_size, made.size()};
        state_.kept.reserve(state_.kept_size + made.size());
        std::ranges::copy(made, state_.kept.data() + state_.kept_size);
        state_.kept_size += made.size();
    }

    State& state_;
    const Place place_;
    const std::size_t records_;
};

// The Side for finding the class of a record. It and its hasher are types of their own, so that the functions in
// stage/record.h, and the operations, are compiled apart for them: with two callers, they would no longer be inlined
// where values are written.
struct JudgingHasher {
    void token(std::uint32_t use, Value value, std::uint8_t* digest) const { hasher.token(use, value, digest); }
    void lower_token(std::uint32_t use, Value value, std::uint8_t* digest) const {
        hasher.lower_token(use, value, digest);
    }

    Hasher& hasher;
};

template <class State, bool kWithKeys>
struct JudgingSide : CpuSide<State, kWithKeys> {
    explicit JudgingSide(const CpuSide<State, kWithKeys>& side) : CpuSide<State, kWithKeys>(side) {}
    JudgingHasher hasher() { return {CpuSide<State, kWithKeys>::hasher()}; }
};

// Whether the rule for a field leaves its value as it is. The column has rules.
template <class Side>
[[gnu::noinline]] bool keeps_value(Side& side, const BlockRecord& record, std::uint32_t column) {
    const FlatProgram* const program = side.program;
    const FlatRule& rule = entries<FlatRule>(program, program->rules)[rule_for<false>(side, record, column)];
    const FieldSpan field = record.field(column);
    if (stays(side, record, rule, field)) return true;
    if (rule.kind != FlatKind::kTop) return false;
    const std::uint8_t* const top = reinterpret_cast<const std::uint8_t*>(program) + rule.operation;
    return reinterpret_cast<const Top*>(top)->keeps(side.decode(record, field));
}

}  // namespace

// Looks for forbidden values in fields that stay as they are.
void StageWorker::State::watch(const RecordBlock& block, std::size_t r) {
    const BlockRecord record = view(block, r);
    if (record.count != rules.column_count) return;
    CpuSide side(*this, block);
    for (const std::size_t watched : rules.watched) {
        const auto column = static_cast<std::uint32_t>(watched);
        if (!rules.rules.of_column[column].empty() && !keeps_value(side, record, column)) continue;
        const FieldSpan field = record.field(column);
        const StageForbidden* const what = forbidden_in(record, field);
        if (what == nullptr) continue;
        throw InputError(what->phrase + " in column " + rules.rules.names[column] + ", which stays",
                         side.place_of(record, field.begin));
    }
}

// The same for a header, which is written unchanged. Its cells are not names that a message may show.
void StageWorker::State::watch_header(const RecordBlock& block, std::size_t r) {
    const BlockRecord record = view(block, r);
    if (record.count != rules.column_count) return;
    const CpuSide side(*this, block);
    for (const std::size_t column : rules.watched) {
        const FieldSpan field = record.field(static_cast<std::uint32_t>(column));
        const StageForbidden* const what = forbidden_in(record, field);
        if (what == nullptr) continue;
        throw InputError(what->phrase + " in column #" + std::to_string(column + 1) + " of the header",
                         side.place_of(record, field.begin));
    }
}

// The forbidden thing that the field contains; null if there is none or if it is only counted.
const StageForbidden* StageWorker::State::forbidden_in(const BlockRecord& record, const FieldSpan& field) {
    const Stage::Program& program = rules;
    Value found{};
    if (!program.codec.view(record.bytes + field.begin, record.bytes + field.end, found)) {
        found = program.codec.decode(record.bytes + field.begin, record.bytes + field.end, value);
    }
    return forbidden_in(found);
}

const StageForbidden* StageWorker::State::forbidden_in(Value found) {
    const Stage::Program& program = rules;
    const auto* const end = program.searches.data() + program.searches.size();
    for (const auto* search = program.searches.data(); search != end; ++search) {
        if (!(*search)(found)) continue;
        const auto* const what = count_forbidden(static_cast<std::size_t>(search - program.searches.data()));
        if (what != nullptr) return what;
    }
    return program.patterns.empty() ? nullptr : pattern_in(found);
}

const StageForbidden* StageWorker::State::pattern_in(Value found) {
    for (std::size_t i = 0; i < rules.patterns.size(); ++i) {
        if (!is_in(rules.patterns[i].compiled(), found, memory, rules.cancellation)) continue;
        const auto* const what = count_forbidden(rules.searches.size() + i);
        if (what != nullptr) return what;
    }
    return nullptr;
}

const StageForbidden* StageWorker::State::count_forbidden(std::size_t number) {
    ++counts.forbidden[number];
    return rules.only_counts_forbidden ? nullptr : &rules.forbidden[number];
}

StageWorker::StageWorker(const Stage& stage, const Kernel& kernel, std::shared_ptr<MemoryManager> memory)
    : state_(std::make_unique<State>(stage, kernel, std::move(memory))) {}
StageWorker::StageWorker(StageWorker&&) noexcept = default;
StageWorker::~StageWorker() = default;

// Whether to look for a backslash that is to be refused, for which all ends are needed.
bool StageWorker::State::may_have_escaped_quote(const RecordBlock& block) const {
    return rules.refuses_backslash && has_escaped_quote(block.bytes, *rules.dialect.quote);
}

// Throws InputError for a record that is well-formed but refused.
RecordBlock StageWorker::State::checked(const RecordBlock& block, std::size_t size) const {
    if (rules.refuses_backslash && !block.is_picked) refuse_escaped_quotes(block, *rules.dialect.quote);
    const std::uint64_t most = rules.max_record;
    if (size <= most) return block;
    for (std::size_t r = 0; r < block.record_count(); ++r) {
        if (block.record(r).size() > most) {
            throw_too_long(most, {block.place.offset + block.rows[r].begin, block.place.record + r});
        }
    }
    return block;
}

// Whether the first record of the bytes is longer than allowed.
bool StageWorker::State::begins_too_long(std::span<const std::uint8_t> bytes) const {
    if (bytes.size() <= rules.max_record) return false;
    Walker walker(rules.dialect, *kernel);
    const auto words = walker.walk(bytes.first(static_cast<std::size_t>(rules.max_record) + 1));
    std::uint64_t records = 0;
    for (const std::uint64_t word : words) records += static_cast<unsigned>(std::popcount(word));
    return records < 2;
}

void StageWorker::pick_ends() {
    state_->picks_ends = true;
    state_->reader.pick(state_->rules.picks);
}

RecordBlock StageWorker::read(std::span<const std::uint8_t> bytes, Place place, bool at_end) {
    FieldReader& reader = state_->reader;
    RecordBlock block = reader.read(bytes, place, at_end);
    if (block.is_picked && state_->may_have_escaped_quote(block)) {
        reader.pick({});
        block = reader.read(bytes, place, at_end);
        reader.pick(state_->rules.picks);
    }
    return state_->checked(block, bytes.size());
}

// After a fault, rereads the bytes before it.
RecordBlock StageWorker::read_sound(std::span<const std::uint8_t> bytes, Place place, bool at_end) {
    std::exception_ptr fault;
    for (;;) {
        try {
            const RecordBlock block = read(bytes, place, at_end && !fault);
            if (!fault || block.record_count() > 0) return block;
            break;
        } catch (const InputError& error) {
            fault = std::current_exception();
            if (!error.place() || error.place()->offset == place.offset) break;
            bytes = bytes.first(static_cast<std::size_t>(error.place()->offset - place.offset));
        }
    }
    if (state_->begins_too_long(bytes)) throw_too_long(state_->rules.max_record, place);
    std::rethrow_exception(fault);
}

template <bool kHasKeys>
void StageWorker::State::write(const RecordBlock& block) {
    const std::size_t records = block.record_count();
    counts.records += records;
    RecordWriter writer(out, written, block.bytes);
    const std::size_t before = starts.size();
    starts.resize(before + records);
    if constexpr (kHasKeys) key_fields.resize((before + records) * rules.key_count);
    judged = nullptr;
    std::uint64_t* const begins = starts.data() + before;
    CpuSide<State, kHasKeys> side(*this, block);
    for (std::size_t r = 0; r < records; ++r) {
        begins[r] = writer.size();
        if (!rules.watched.empty()) watch(block, r);
        const BlockRecord record = view(block, r);
        write_record(side, record, side.program->parts, writer);
        if constexpr (kHasKeys) side.keep_as_read(record);
    }
    written = writer.size();
}

// Whether there is nothing to do but to copy parts.
bool StageWorker::State::keeps_all() const {
    const FlatProgram* const flat = &rules.flat();
    const auto is_changed = [](const FlatPart& part) { return part.is_changed; };
    return !rules.paths && rules.key_count == 0 && rules.watched.empty() &&
           std::ranges::none_of(std::span(entries<FlatPart>(flat, flat->parts), flat->parts.count), is_changed);
}

// Writes records whose parts all stay. Leaves the last ones, and any that is refused, to write().
void StageWorker::State::write_kept(const RecordBlock& block) {
    const std::size_t records = block.record_count();
    const auto part = [&](std::size_t r, std::size_t count) {
        const Place place{block.place.offset, block.place.record + r};
        return RecordBlock{block.bytes, place, block.ends, block.rows.subspan(r, count + 1), block.is_picked};
    };
    const std::size_t limit = block.bytes.size() - std::min(block.bytes.size(), kSlack);
    const auto late = std::ranges::upper_bound(block.rows.subspan(1), limit, {}, &FieldRow::begin);
    const RecordBlock easy = part(0, static_cast<std::size_t>(late - block.rows.begin()) - 1);
    const std::size_t done = rules.flat().parts.count == 1 ? copy_kept<true>(easy) : copy_kept<false>(easy);
    write<false>(part(done, records - done));
}

namespace {

// Copies a part that stays, of a record that begins at `begin` and whose last field ends at `content`. Returns where
// the copy ends.
[[gnu::always_inline]] inline std::uint8_t* copy_part(const FlatProgram& flat, const FlatPart& part,
                                                      const std::uint8_t* bytes, std::uint32_t begin,
                                                      const std::uint32_t* ends, std::uint32_t content,
                                                      std::uint8_t* to) {
    const std::uint32_t from = part.first == 0 ? begin : ends[part.first - 1] + 1;
    const bool is_last = part.last + 1 == flat.column_count;
    const std::uint32_t until = is_last ? content : ends[part.last] + (part.end == PartEnd::kDelimiter ? 1 : 0);
    const std::size_t size = until - from;
    if (size <= kFirstPart) [[likely]] {
        std::memcpy(to, bytes + from, kFirstPart);
    } else {
        std::memcpy(to, bytes + from, size);
    }
    to += size;
    if (part.end == PartEnd::kNewDelimiter) *to++ = flat.delimiter;
    return to;
}

}  // namespace

// Does what write_record() does with each record, but looks at nothing twice. Returns the number of records up to the
// first one that is refused. After each of them, kSlack bytes can be read. kOne: there is one part.
template <bool kOne>
std::size_t StageWorker::State::copy_kept(const RecordBlock& block) {
    const FlatProgram* const flat = &rules.flat(block.is_picked);
    const std::span parts(entries<FlatPart>(flat, flat->parts), kOne ? 1 : flat->parts.count);
    const FlatPart only = parts.front();
    const std::uint8_t* const bytes = block.bytes.data();
    const std::uint32_t* ends = block.ends.data() + block.rows.front().first;
    const std::size_t before = starts.size();
    starts.resize(before + block.record_count());
    std::uint64_t* begins = starts.data() + before;
    out.reserve(written + block.bytes.size() + block.record_count() * parts.size() + kSlack);
    std::uint8_t* const begin = out.data();
    std::uint8_t* to = begin + written;
    const FieldRow* const last_row = &block.rows.back();
    const FieldRow* row = block.rows.data();
    for (; row != last_row; ++row) {
        const std::uint32_t count = row[1].first - row[0].first;
        std::uint32_t content = ends[count - 1];
        if (content > row[0].begin && bytes[content - 1] == '\r') {
            content = content_end(block.bytes, row[0].begin, content, rules.dialect);
        }
        std::uint8_t* const start = to;
        if (count != flat->column_count) {
            ++counts.empty_records;
        } else if constexpr (kOne) {
            to = copy_part(*flat, only, bytes, row[0].begin, ends, content, to);
        } else {
            for (const FlatPart& part : parts) to = copy_part(*flat, part, bytes, row[0].begin, ends, content, to);
        }
        if (to == start && content != row[0].begin) {
            if (flat->has_quote == 0) break;
            *to++ = flat->quote;
            *to++ = flat->quote;
        }
        std::memcpy(to, bytes + content, kEndPart);
        to += row[1].begin - content;
        *begins++ = static_cast<std::uint64_t>(start - begin);
        ends += count;
    }
    const auto records = static_cast<std::size_t>(row - block.rows.data());
    starts.resize(before + records);
    written = static_cast<std::size_t>(to - begin);
    counts.records += records;
    return records;
}

// The first pass of `suppress`; see with_common().
void StageWorker::State::write_classes(const RecordBlock& block) {
    RecordWriter writer(out, written, {});
    CpuSide side(*this, block);
    for (std::size_t r = 0; r < block.record_count(); ++r) {
        starts.push_back(writer.size());
        if (!rules.watched.empty()) watch(block, r);
        const BlockRecord record = view(block, r);
        if (record.count != side.program->column_count) continue;  // an empty record
        const ClassDigest digest = side.class_of(record);
        writer.put_text(reinterpret_cast<const std::uint8_t*>(digest.data()), sizeof digest);
    }
    written = writer.size();
}

void StageWorker::State::write_json(const RecordBlock& block) {
    counts.records += block.record_count();
    RecordWriter writer(out, written, block.bytes);
    std::ranges::fill(json->met(), 0);
    JsonSide<State> side(*this, block);
    for (std::size_t r = 0; r < block.record_count(); ++r) {
        starts.push_back(writer.size());
        side.write(r, writer);
    }
    written = writer.size();
    for (std::size_t i = 0; i < counts.met.size(); ++i) counts.met[i] += json->met()[i];
}

void StageWorker::write(const RecordBlock& block) {
    if (state_->json) return state_->write_json(block);
    if (state_->rules.common != nullptr && state_->rules.common->are_wanted()) return state_->write_classes(block);
    if (state_->is_kept) {
        state_->write_kept(block);
    } else if (state_->rules.key_count == 0) {
        state_->write<false>(block);
    } else {
        state_->write<true>(block);
    }
}

void StageWorker::write_unchanged(const RecordBlock& header) {
    State& state = *state_;
    RecordWriter writer(state.out, state.written, header.bytes);
    CpuSide side(state, header);
    for (std::size_t r = 0; r < header.record_count(); ++r) {
        state.starts.push_back(writer.size());
        if (!state.rules.watched.empty()) state.watch_header(header, r);
        write_record(side, state.view(header, r), side.program->header_parts, writer);
    }
    state.written = writer.size();
}

void StageWorker::append(std::span<const std::uint8_t> bytes) {
    if (bytes.empty()) return;  // an empty span may have no address
    RecordWriter writer(state_->out, state_->written, bytes);
    writer.begin_record(bytes.size());
    writer.append(bytes.data(), bytes.size());
    state_->written = writer.size();
}

std::span<const std::uint8_t> StageWorker::written() const { return {state_->out.data(), state_->written}; }
std::span<const std::uint64_t> StageWorker::starts() const { return state_->starts; }

std::size_t KeptFields::size(const StageWorker& worker) { return worker.state_->kept_size; }
std::span<const std::uint8_t> KeptFields::field(const StageWorker& worker, std::size_t record, std::size_t key) {
    const StageWorker::State& state = *worker.state_;
    const KeptField& field = state.key_fields[record * state.rules.key_count + key];
    if (field.begin == KeptField::kNone) return {};
    return {state.kept.data() + field.begin, field.size};
}
bool KeptFields::is_empty_record(const StageWorker& worker, std::size_t record) {
    const StageWorker::State& state = *worker.state_;
    return state.key_fields[record * state.rules.key_count].begin == KeptField::kNone;
}

void StageWorker::clear() {
    state_->written = 0;
    state_->starts.clear();
    state_->kept_size = 0;
    state_->key_fields.clear();
    state_->reset_counts();
}

void StageWorker::release() {
    clear();
    for (ValueBuffer* buffer : {&state_->out, &state_->value, &state_->by_value, &state_->scratch, &state_->measured,
                                &state_->kept, &state_->combined}) {
        buffer->release();
    }
    state_->set_digester();
    state_->reader = state_->new_reader();
}

void StageWorker::measure(const RecordBlock& block, std::span<std::uint64_t> sizes) {
    State& state = *state_;
    const StageCounts before = state.counts;
    const auto measure_all = [&](const auto& write_one) {
        for (std::size_t r = 0; r < block.record_count(); ++r) {
            RecordSizer sizer(state.measured);
            write_one(r, sizer);
            sizes[r] = sizer.size();
        }
    };
    state.judged = nullptr;
    if (state.json) {
        JsonSide<State> side(state, block);
        measure_all([&](std::size_t r, RecordSizer& sizer) { side.write(r, sizer); });
    } else {
        CpuSide side(state, block);
        measure_all([&](std::size_t r, RecordSizer& sizer) {
            if (!state.rules.watched.empty()) state.watch(block, r);
            write_record(side, state.view(block, r), side.program->parts, sizer);
        });
    }
    state.counts = before;
}

const StageCounts& StageWorker::counts() const { return state_->counts; }

}  // namespace cleave
