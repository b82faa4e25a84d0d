// Measures and writes records. A record is a row of parts: runs of columns that stay, and columns that change.
//
//   for each record: for each part: if it stays, its bytes from the first field to the delimiter after the last
//                                   if it changes, the field that the first matching rule makes
//                    then the terminator
#include <algorithm>
#include <bit>
#include <cstring>
#include <exception>
#include <string>
#include <string_view>

#include "base/too_long.h"
#include "cleave/stage.h"
#include "memory/value_buffer.h"
#include "scan/walker.h"
#include "stage/ambiguous.h"
#include "stage/forbidden.h"
#include "stage/hasher.h"
#include "stage/program.h"
#include "stage/record_sinks.h"

namespace cleave {
namespace {

struct Field {
    const std::uint8_t* begin;
    const std::uint8_t* end;
};

// One record of a block.
struct RecordView {
    const std::uint8_t* bytes;  // of the block
    const std::uint32_t* ends;  // of the record's fields
    std::uint32_t begin;
    std::uint32_t content_end;
    std::uint32_t next;  // where the next record begins
    std::size_t count;   // of fields

    std::uint32_t begin_of(std::size_t column) const { return column == 0 ? begin : ends[column - 1] + 1; }
    std::uint32_t end_of(std::size_t column) const { return column + 1 == count ? content_end : ends[column]; }
    Field field(std::size_t column) const { return {bytes + begin_of(column), bytes + end_of(column)}; }
};

// Where a field lies among those that are kept.
struct KeptField {
    std::size_t begin = 0;
    std::size_t size = 0;
};

// A value that has no token.
class ReservedValue : public std::exception {};

}  // namespace

RuleCounts& RuleCounts::operator+=(const RuleCounts& other) {
    seen += other.seen;
    changed += other.changed;
    kept += other.kept;
    empty += other.empty;
    condition_false += other.condition_false;
    return *this;
}

StageCounts& StageCounts::operator+=(const StageCounts& other) {
    rules.resize(std::max(rules.size(), other.rules.size()));
    for (std::size_t i = 0; i < other.rules.size(); ++i) rules[i] += other.rules[i];
    records += other.records;
    empty_records += other.empty_records;
    mail_addresses += other.mail_addresses;
    card_numbers += other.card_numbers;
    return *this;
}

struct StageWorker::State {
    State(const Stage& stage, const Kernel& of, std::shared_ptr<MemoryManager> from)
        : program(stage.program()), kernel(&of), memory(MemoryManager::or_default(std::move(from))) {
        if (program.keys != nullptr && !program.uses.uses().empty()) hasher = Hasher(*program.keys, program.uses);
        counts.rules.resize(program.rules.rules.size());
    }

    RecordView view(const RecordBlock& block, std::size_t r) const {
        const FieldRow& row = block.rows[r];
        const FieldRow& next = block.rows[r + 1];
        const std::size_t count = next.first - row.first;
        std::uint32_t content = block.ends[next.first - 1];
        // A CR before the terminator may belong to it.
        if (content > row.begin && block.bytes[content - 1] == '\r') {
            content = content_end(block.bytes, row.begin, content, program.dialect);
        }
        return {block.bytes.data(), block.ends.data() + row.first, row.begin, content, next.begin, count};
    }

    std::uint8_t quote_of_empty(const RecordBlock& block, std::size_t r) const;
    template <bool kHasKeys = false, class Sink>
    void write_record(const RecordBlock& block, std::size_t r, const std::vector<OutputPart>& parts, Sink& sink);
    void write_key(const RecordBlock& block, std::size_t r, const RecordView& record, const OutputPart& part,
                   RecordWriter& writer);
    template <bool kHasKeys>
    void write(const RecordBlock& block);
    template <class Sink>
    bool change(const RecordBlock& block, std::size_t r, const RecordView& record, std::size_t column, Sink& sink);
    std::size_t rule_for(const RecordView& record, std::size_t column, RuleCounts* counted);
    bool holds(const Condition& one, const RecordView& record);
    template <class Sink>
    void replace(std::size_t index, const Field& field, Sink& sink);
    void watch(const RecordBlock& block, std::size_t r, const RecordView& record);
    void watch_header(const RecordBlock& block, std::size_t r, const RecordView& record);
    std::string_view forbidden_in(const Field& field);
    RecordBlock checked(const RecordBlock& block, std::size_t size) const;
    static Place place_of(const RecordBlock& block, std::size_t r, std::uint32_t at) {
        return {block.place.offset + at, block.place.record + r};
    }

    bool begins_too_long(std::span<const std::uint8_t> bytes) const;

    const Stage::Program& program;
    FieldReader new_reader() const {
        return {program.dialect, *kernel, Reading::kUnambiguous, program.column_count, memory};
    }

    const Kernel* kernel;
    std::shared_ptr<MemoryManager> memory;
    FieldReader reader{new_reader()};
    Hasher hasher;
    StageCounts counts;
    ValueBuffer value{memory};      // the value that is changed, if it had to be copied
    ValueBuffer condition{memory};  // the value that a condition looks at, likewise
    ValueBuffer measured{memory};   // changed fields that are only measured
    ValueBuffer out{memory};
    std::size_t written = 0;
    std::vector<std::uint64_t> starts;
    ValueBuffer kept{memory};  // fields that are keys
    std::size_t kept_size = 0;
    std::vector<KeptField> key_fields;  // for each record, for each key
};

// An empty value in a record of one column is written as two quotes: without them the record would be an empty one.
std::uint8_t StageWorker::State::quote_of_empty(const RecordBlock& block, std::size_t r) const {
    if (program.dialect.quote) return *program.dialect.quote;
    throw InputError("the only column of a record becomes empty, which cannot be written without quotes",
                     place_of(block, r, block.rows[r].begin));
}

template <bool kHasKeys, class Sink>
[[gnu::always_inline]] inline void StageWorker::State::write_record(const RecordBlock& block, std::size_t r,
                                                                    const std::vector<OutputPart>& parts, Sink& sink) {
    const RecordView record = view(block, r);
    const std::uint8_t* const bytes = record.bytes;
    sink.begin_record(record.next - record.begin + parts.size());
    if (record.count != program.column_count) {  // empty
        sink.append(bytes + record.begin, record.next - record.begin);
        return;
    }
    const std::size_t before = sink.size();
    for (const OutputPart& part : parts) {
        if constexpr (kHasKeys) {
            if (part.key != OutputPart::kNoKey) {
                write_key(block, r, record, part, sink);
                continue;
            }
        }
        bool is_changed = false;
        if (part.is_changed) {
            Sink copy = sink;  // change() gets a copy, so that `sink` can stay in registers
            is_changed = change(block, r, record, part.first, copy);
            sink = copy;
        }
        if (is_changed) {
            if (part.end == OutputPart::End::kDelimiter) sink.append(bytes + record.ends[part.last], 1);
        } else {
            // With the delimiter that follows in the input, or with the terminator.
            const std::uint32_t begin = record.begin_of(part.first);
            const std::uint32_t end =
                part.end == OutputPart::End::kDelimiter ? record.ends[part.last] + 1 : record.end_of(part.last);
            sink.append(bytes + begin, end - begin);
        }
        if (part.end == OutputPart::End::kNewDelimiter) sink.put(program.dialect.delimiter);
    }
    if (program.makes_one_column && sink.size() == before && record.content_end != record.begin) {
        sink.put(quote_of_empty(block, r));
        sink.put(quote_of_empty(block, r));
    }
    sink.append_end(bytes + record.content_end, record.next - record.content_end);
}

// Keeps what becomes of a field that is a key, and writes it unless it is left out.
void StageWorker::State::write_key(const RecordBlock& block, std::size_t r, const RecordView& record,
                                   const OutputPart& part, RecordWriter& writer) {
    const std::size_t begin = writer.size();
    const bool is_changed = part.is_changed && change(block, r, record, part.first, writer);
    if (!is_changed && !part.is_left_out) {
        const Field field = record.field(part.first);
        writer.append(field.begin, static_cast<std::size_t>(field.end - field.begin));
    }
    std::span<const std::uint8_t> made = writer.since(begin);
    if (!is_changed) made = {record.field(part.first).begin, record.field(part.first).end};
    const std::size_t number = starts.size() - block.record_count() + r;
    key_fields[number * program.key_count + part.key] = {kept_size, made.size()};
    kept.reserve(kept_size + made.size());
    std::ranges::copy(made, kept.data() + kept_size);
    kept_size += made.size();
    if (part.is_left_out) return writer.take_back(begin);
    if (part.end == OutputPart::End::kDelimiter) writer.append(record.bytes + record.ends[part.last], 1);
    if (part.end == OutputPart::End::kNewDelimiter) writer.put(program.dialect.delimiter);
}

// Writes the changed field. False if the field stays as it is.
template <class Sink>
[[gnu::noinline]] bool StageWorker::State::change(const RecordBlock& block, std::size_t r, const RecordView& record,
                                                  std::size_t column, Sink& sink) {
    const std::size_t index = rule_for(record, column, counts.rules.data());
    const Rule& rule = program.rules.rules[index];
    RuleCounts& counted = counts.rules[index];
    const Field field = record.field(column);
    if (!rule.changes_empty && program.codec.is_empty(field.begin, field.end)) {
        ++counted.empty;
        return false;
    }
    if (std::holds_alternative<Keep>(rule.operation)) {
        ++counted.kept;
        return false;
    }
    ++counted.changed;
    try {
        replace(index, field, sink);
    } catch (const std::length_error&) {
        throw InputError("the new value of a field cannot be written in this dialect",
                         place_of(block, r, record.begin_of(column)));
    } catch (const ReservedValue&) {
        throw InputError(
            "a value has the byte 0xFF before \"cleave \", as what keys are derived from: it gets no token",
            place_of(block, r, record.begin_of(column)));
    }
    return true;
}

// The number of the first rule of the column whose conditions hold. The last one has no condition. Counts the rules
// that were looked at, unless `counted` is null.
std::size_t StageWorker::State::rule_for(const RecordView& record, std::size_t column, RuleCounts* counted) {
    for (const std::size_t number : program.rules.of_column[column]) {
        const Rule& rule = program.rules.rules[number];
        if (counted != nullptr) ++counted[number].seen;
        if (rule.conditions.empty()) return number;
        const bool all = std::ranges::all_of(rule.conditions, [&](const Condition& one) { return holds(one, record); });
        if (all) return number;
        if (counted != nullptr) ++counted[number].condition_false;
    }
    throw std::logic_error("stage: a column without a last rule");
}

bool StageWorker::State::holds(const Condition& one, const RecordView& record) {
    const Field field = record.field(one.column);
    const bool is_empty = program.codec.is_empty(field.begin, field.end);
    if (one.kind == Condition::Kind::kEmpty) return is_empty;
    if (one.kind == Condition::Kind::kNotEmpty) return !is_empty;
    const Value found = program.codec.decode(field.begin, field.end, condition);
    const std::string_view text(reinterpret_cast<const char*>(found.data), found.size);
    const bool is_among = std::ranges::find(one.values, text) != one.values.end();
    return is_among == (one.kind == Condition::Kind::kIn);
}

template <class Sink>
void StageWorker::State::replace(std::size_t index, const Field& field, Sink& sink) {
    const Operation& operation = program.rules.rules[index].operation;
    const bool is_plain = program.is_plain[index] != 0;
    const bool is_quoted = program.codec.is_quoted(field.begin, field.end);
    const std::uint64_t quotes = is_quoted ? 2 : 0;
    const Value found = program.codec.decode(field.begin, field.end, value);
    if (program.makes_tokens[index] != 0 && has_reserved_text({found.data, found.size})) throw ReservedValue();
    const auto measure = [&](const auto& one) { return one.measure(found, hasher); };
    if (std::is_same_v<Sink, RecordSizer> && is_plain) {
        const std::uint64_t size = std::visit(measure, operation);
        return sink.commit(size == kBecomesNull ? program.null_token.size() : size + quotes);
    }
    const std::uint64_t bound = std::visit([&](const auto& one) { return one.bound(found.size); }, operation);
    std::uint8_t* const room = sink.room_for(DialectCodec::room_for(bound));
    std::uint8_t* const start = room + (is_quoted ? 1 : 0);
    const auto write = [&](const auto& one) { return one.write(found, start, hasher); };
    const std::uint64_t size = std::visit(write, operation);
    if (size == kBecomesNull) return sink.put(program.null_token);
    if (is_plain) {
        if (is_quoted) room[0] = start[size] = *program.dialect.quote;
        return sink.commit(size + quotes);
    }
    const std::optional<std::uint64_t> encoded = program.codec.encode(room, size, is_quoted);
    if (!encoded) throw std::length_error("stage: no way to write a value");
    sink.commit(*encoded);
}

// Looks for values that must not be in columns that stay.
void StageWorker::State::watch(const RecordBlock& block, std::size_t r, const RecordView& record) {
    if (record.count != program.column_count) return;
    for (const std::size_t column : program.watched) {
        const Field field = record.field(column);
        if (!program.rules.of_column[column].empty()) {
            const Rule& rule = program.rules.rules[rule_for(record, column, nullptr)];
            const bool stays = std::holds_alternative<Keep>(rule.operation) ||
                               (!rule.changes_empty && program.codec.is_empty(field.begin, field.end));
            if (!stays) continue;
        }
        const std::string_view what = forbidden_in(field);
        if (what.empty()) continue;
        throw InputError(std::string(what) + " in column " + program.rules.names[column] + ", which stays",
                         place_of(block, r, record.begin_of(column)));
    }
}

// The same in a header, all of which stays. Its cells are no names that a message could have.
void StageWorker::State::watch_header(const RecordBlock& block, std::size_t r, const RecordView& record) {
    if (record.count != program.column_count) return;
    for (const std::size_t column : program.watched) {
        const std::string_view what = forbidden_in(record.field(column));
        if (what.empty()) continue;
        throw InputError(std::string(what) + " in column #" + std::to_string(column + 1) + " of the header",
                         place_of(block, r, record.begin_of(column)));
    }
}

// What the field has that must not be in it, for a message; "" if it has nothing of the kind, or if it is only counted.
std::string_view StageWorker::State::forbidden_in(const Field& field) {
    const Value found = program.codec.decode(field.begin, field.end, condition);
    const bool is_mail = program.forbid_mail && has_mail_address(found);
    const bool is_card = program.forbid_card && has_card_number(found);
    counts.mail_addresses += is_mail ? 1 : 0;
    counts.card_numbers += is_card ? 1 : 0;
    if ((!is_mail && !is_card) || program.only_counts_forbidden) return "";
    return is_mail ? "a mail address" : "a card number";
}

StageWorker::StageWorker(const Stage& stage, const Kernel& kernel, std::shared_ptr<MemoryManager> memory)
    : state_(std::make_unique<State>(stage, kernel, std::move(memory))) {}
StageWorker::StageWorker(StageWorker&&) noexcept = default;
StageWorker::~StageWorker() = default;

// Throws InputError for what is well-formed, and refused.
RecordBlock StageWorker::State::checked(const RecordBlock& block, std::size_t size) const {
    if (program.refuses_backslash) refuse_escaped_quotes(block, *program.dialect.quote);
    const std::uint64_t most = program.max_record;
    if (size <= most) return block;
    for (std::size_t r = 0; r < block.record_count(); ++r) {
        if (block.record(r).size() > most) {
            throw_too_long(most, {block.place.offset + block.rows[r].begin, block.place.record + r});
        }
    }
    return block;
}

// Whether the first record of the bytes is longer than is allowed.
bool StageWorker::State::begins_too_long(std::span<const std::uint8_t> bytes) const {
    if (bytes.size() <= program.max_record) return false;
    Walker walker(program.dialect, *kernel);
    const auto words = walker.walk(bytes.first(static_cast<std::size_t>(program.max_record) + 1));
    std::uint64_t records = 0;
    for (const std::uint64_t word : words) records += static_cast<unsigned>(std::popcount(word));
    return records < 2;
}

RecordBlock StageWorker::read(std::span<const std::uint8_t> bytes, Place place, bool at_end) {
    return state_->checked(state_->reader.read(bytes, place, at_end), bytes.size());
}

// At a fault the bytes before it are read again.
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
    if (state_->begins_too_long(bytes)) throw_too_long(state_->program.max_record, place);
    std::rethrow_exception(fault);
}

template <bool kHasKeys>
void StageWorker::State::write(const RecordBlock& block) {
    const std::size_t records = block.record_count();
    counts.records += records;
    RecordWriter writer(out, written, block.bytes);
    const std::size_t before = starts.size();
    starts.resize(before + records);
    if constexpr (kHasKeys) key_fields.resize((before + records) * program.key_count);
    std::uint64_t* const begins = starts.data() + before;
    for (std::size_t r = 0; r < records; ++r) {
        begins[r] = writer.size();
        if (!program.watched.empty()) watch(block, r, view(block, r));
        write_record<kHasKeys>(block, r, program.parts, writer);
    }
    written = writer.size();
    const std::size_t columns = program.column_count;
    if (columns == 1 || records == 0) return;
    // An empty record has one field, any other as many as there are columns.
    const std::size_t fields = block.rows[records].first - block.rows[0].first;
    counts.empty_records += (records * columns - fields) / (columns - 1);
}

void StageWorker::write(const RecordBlock& block) {
    if (state_->program.key_count == 0) {
        state_->write<false>(block);
    } else {
        state_->write<true>(block);
    }
}

void StageWorker::write_unchanged(const RecordBlock& header) {
    State& state = *state_;
    RecordWriter writer(state.out, state.written, header.bytes);
    for (std::size_t r = 0; r < header.record_count(); ++r) {
        state.starts.push_back(writer.size());
        if (!state.program.watched.empty()) state.watch_header(header, r, state.view(header, r));
        state.write_record(header, r, state.program.header_parts, writer);
    }
    state.written = writer.size();
}

void StageWorker::append(std::span<const std::uint8_t> bytes) {
    if (bytes.empty()) return;  // they may be at no address
    RecordWriter writer(state_->out, state_->written, bytes);
    writer.begin_record(bytes.size());
    writer.append(bytes.data(), bytes.size());
    state_->written = writer.size();
}

std::span<const std::uint8_t> StageWorker::written() const { return {state_->out.data(), state_->written}; }
std::span<const std::uint64_t> StageWorker::starts() const { return state_->starts; }

std::size_t StageWorker::key_count() const { return state_->program.key_count; }
std::size_t StageWorker::size_of_keys() const { return state_->kept_size; }
std::span<const std::uint8_t> StageWorker::key_field(std::size_t record, std::size_t key) const {
    const KeptField& field = state_->key_fields[record * state_->program.key_count + key];
    return {state_->kept.data() + field.begin, field.size};
}

void StageWorker::clear() {
    state_->written = 0;
    state_->starts.clear();
    state_->kept_size = 0;
    state_->key_fields.clear();
    state_->counts = {};
    state_->counts.rules.resize(state_->program.rules.rules.size());
}

void StageWorker::release() {
    clear();
    for (ValueBuffer* buffer : {&state_->out, &state_->value, &state_->condition, &state_->measured, &state_->kept}) {
        buffer->release();
    }
    state_->reader = state_->new_reader();
}

void StageWorker::measure(const RecordBlock& block, std::span<std::uint64_t> sizes) {
    State& state = *state_;
    const StageCounts before = state.counts;
    for (std::size_t r = 0; r < block.record_count(); ++r) {
        RecordSizer sizer(state.measured);
        if (!state.program.watched.empty()) state.watch(block, r, state.view(block, r));
        state.write_record(block, r, state.program.parts, sizer);
        sizes[r] = sizer.size();
    }
    state.counts = before;
}

const StageCounts& StageWorker::counts() const { return state_->counts; }

}  // namespace cleave
