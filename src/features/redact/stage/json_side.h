// What rules do to a line of JSON. The rules themselves are those for CSV, applied by stage/record.h, of which this is
// another Side: in place of the fields of a record it has the values that JsonReader has found in the line.
//
// Every byte stays except the values that rules change, and what --select leaves out. A new value is written as a
// string; as a number only if the old one was a number and the operation calculates.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "base/json_string.h"
#include "cleave/error.h"
#include "features/redact/stage/ambiguous.h"
#include "features/redact/stage/json_reader.h"
#include "features/redact/stage/program.h"
#include "features/redact/stage/record.h"

namespace cleave {

// The value that a rule is about to change, with those beside it.
struct JsonRecord {
    const std::uint8_t* bytes;  // of the block
    std::size_t number;         // of the line in the block
    const JsonReader* reader;
    const JsonPaths* paths;
    const JsonSpot* spot;

    // The value of a column: of a string the bytes between its quotes, of null and of a missing value none.
    FieldSpan field(std::uint32_t column) const {
        const auto& here = (*paths)[spot->place];
        const bool is_here = column == here.column || std::ranges::find(here.paths, column) != here.paths.end();
        const JsonSpot* const found = is_here                          ? spot
                                      : column < paths->paths().size() ? reader->find(column, *spot)
                                                                       : nullptr;
        return found != nullptr ? span_of(*found) : FieldSpan{spot->begin, spot->begin};
    }
    static FieldSpan span_of(const JsonSpot& of) {
        if (of.kind == JsonKind::kNull) return {of.begin, of.begin};
        if (of.kind == JsonKind::kString) return {of.begin + 1, of.end - 1};
        return {of.begin, of.end};
    }
};

// Takes the result of an operation. A Sink of stage/record.h.
template <bool kCounts>
class JsonValueSink {
public:
    static constexpr bool kWrites = kCounts;
    static constexpr bool kKeeps = true;
    static constexpr bool kGrows = true;

    explicit JsonValueSink(ValueBuffer& buffer) : buffer_(&buffer) {}

    std::uint8_t* room_for(std::size_t size) {
        buffer_->reserve(size);
        return buffer_->data();
    }
    void commit(std::size_t size) { size_ = size; }
    void put_text(const std::uint8_t* /*null*/, std::size_t /*size*/) { is_null_ = true; }

    bool is_null() const { return is_null_; }
    std::span<const std::uint8_t> value() const { return {buffer_->data(), size_}; }

private:
    ValueBuffer* buffer_;
    std::size_t size_ = 0;
    bool is_null_ = false;
};

// `State` is StageWorker::State.
template <class State>
class JsonSide {
public:
    static constexpr bool kIsCpu = true;
    using Record = JsonRecord;

    JsonSide(State& state, const RecordBlock& block)
        : program(&state.rules.flat()), state_(state), json_(state.rules.rules.json.value()), block_(block) {}

    const FlatProgram* const program;

    static const std::uint8_t* bytes_of(const JsonRecord& record) { return record.bytes; }
    Value decode(const JsonRecord& record, const FieldSpan& field) { return decode(record, field, state_.value); }
    Hasher& hasher() { return state_.hasher; }
    template <class Operation>
    OperationContext& context(const JsonRecord& record, const Operation& operation) {
        if constexpr (requires { operation.by; }) {
            state_.context.by = decode(record, record.field(operation.by), state_.by_value);
        }
        return state_.context;
    }
    static std::uint64_t room_of(std::uint64_t size) { return size; }
    static std::uint64_t encode(const JsonRecord&, const FieldSpan&, std::uint8_t*, std::uint64_t size, bool) {
        return size;
    }
    static bool is_rare(const JsonRecord&) { return false; }
    static bool is_string(const JsonRecord& record) { return record.spot->kind == JsonKind::kString; }
    void count(std::uint32_t rule, RuleCounter counter) { state_.count(rule, counter); }
    void count_tokens(const FlatRule& rule, std::uint64_t tokens) { state_.count_tokens(program, rule, tokens); }
    void refuse_reserved(const JsonRecord& record, const FieldSpan& field, Value value) const {
        if (has_reserved_text({value.data, value.size})) refuse(kReservedText, record.number, field.begin);
    }
    [[noreturn]] void refuse_value(const JsonRecord& record, std::uint32_t begin) const {
        refuse(state_.context.refusal, record.number, begin);
    }

    // Writes line `r` of the block. `sink` is a Sink of stage/record.h.
    template <class Sink>
    void write(std::size_t r, Sink& sink) {
        const std::uint8_t* const bytes = block_.bytes.data();
        const std::uint32_t begin = block_.rows[r].begin;
        const std::uint32_t end = block_.rows[r + 1].begin;
        JsonReader& reader = *state_.json;
        sink.begin_record(end - begin);
        if (!reader.read(bytes, begin, end, {block_.place.offset, block_.place.record + r})) {
            if constexpr (Sink::kWrites) ++state_.counts.empty_records;
            return sink.append(bytes + begin, end - begin);
        }
        at_ = begin;
        gap_ = 0;
        covered_.assign(reader.spots().size(), 0);
        JsonRecord record{bytes, r, &reader, state_.rules.paths.get(), nullptr};
        for (const JsonSpot& spot : reader.spots()) {
            if (!spot.is_written || spot.begin < at_) continue;
            record.spot = &spot;
            switch (spot.role) {
                case JsonSpot::Role::kName: watch(record, {spot.begin + 1, spot.end - 1}); break;
                case JsonSpot::Role::kSimilar: refuse_similar(record); break;
                case JsonSpot::Role::kOther: write_other(record, sink); break;
                case JsonSpot::Role::kNamed: write_named(record, sink); break;
            }
        }
        copy_to(end, sink);
    }

private:
    Value decode(const JsonRecord& record, const FieldSpan& field, ValueBuffer& buffer) const {
        const std::uint8_t* const begin = record.bytes + field.begin;
        const std::uint64_t size = field.end - field.begin;
        if (size == 0) return {begin, 0};
        // Between quotes, a bracket is not the first byte of an object or array.
        if ((*begin == '{' || *begin == '[') && begin[-1] != '"') {
            refuse("a condition or an operation needs text, and this is an object or array", record.number,
                   field.begin);
        }
        if (std::memchr(begin, '\\', size) == nullptr) return {begin, size};
        buffer.renew(size);
        return {buffer.data(), write_json_text(begin, begin + size, buffer.data())};
    }

    [[noreturn]] void refuse(const std::string& reason, std::size_t line, std::uint32_t at) const {
        throw InputError(reason, Place{block_.place.offset + at, block_.place.record + line});
    }

    // Copies what stays before `to`.
    template <class Sink>
    void copy_to(std::uint32_t to, Sink& sink) {
        const auto gaps = state_.json->gaps();
        for (; gap_ < gaps.size() && gaps[gap_].begin < to; ++gap_) {
            if (gaps[gap_].begin < at_) continue;  // in a value that is not there any more
            sink.append(block_.bytes.data() + at_, gaps[gap_].begin - at_);
            at_ = gaps[gap_].end;
        }
        sink.append(block_.bytes.data() + at_, to - at_);
        at_ = to;
    }
    template <class Sink>
    void replace(const JsonSpot& spot, std::string_view text, Sink& sink) {
        copy_to(spot.begin, sink);
        sink.put_text(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
        at_ = spot.end;
    }

    // Whether `keep` covers what is directly in the object or array at this spot.
    bool is_covered(std::uint32_t around) const { return around != JsonSpot::kNone && covered_[around] != 0; }

    // Looks for forbidden text in what stays.
    void watch(const JsonRecord& record, FieldSpan field) {
        if (state_.rules.forbidden.empty()) return;
        const StageForbidden* const what = state_.forbidden_in(decode(record, field));
        if (what == nullptr) return;
        const bool is_name = record.spot->role == JsonSpot::Role::kName;
        refuse(what->phrase + (is_name ? " in the name of a member" : " in a value that stays"), record.number,
               field.begin);
    }

    void refuse_similar(const JsonRecord& record) const {
        if (is_covered(record.spot->around)) return;
        refuse(
            "no rule names this member, whose name is easily mistaken for one that a rule names: name it too, if "
            "only with keep",
            record.number, record.spot->begin);
    }

    // A string or number that no rule names.
    template <class Sink>
    void write_other(const JsonRecord& record, Sink& sink) {
        const JsonSpot& spot = *record.spot;
        const FieldSpan field = JsonRecord::span_of(spot);
        if (spot.kind == JsonKind::kString && !is_covered(spot.around)) {
            if (json_.fails_at_unnamed) refuse("no rule names this string", record.number, spot.begin);
            if (json_.default_rule && field.begin != field.end) {
                if constexpr (Sink::kWrites) count_default(RuleCounter::kChanged);
                return replace(spot, "null", sink);
            }
            if (json_.default_rule && Sink::kWrites) count_default(RuleCounter::kEmpty);
        }
        watch(record, field);
    }
    void count_default(RuleCounter counter) {
        const auto rule = static_cast<std::uint32_t>(*json_.default_rule);
        count(rule, RuleCounter::kSeen);
        count(rule, counter);
    }

    template <class Sink>
    void write_named(const JsonRecord& record, Sink& sink) {
        const JsonSpot& spot = *record.spot;
        const bool is_container = spot.kind == JsonKind::kObject || spot.kind == JsonKind::kArray;
        const std::uint32_t number = rule_for<Sink::kWrites>(*this, record, (*record.paths)[spot.place].column);
        const FlatRule& rule = entries<FlatRule>(program, program->rules)[number];
        const FieldSpan field = JsonRecord::span_of(spot);
        const auto count_as = [&](RuleCounter counter) {
            if constexpr (Sink::kWrites) count(number, counter);
        };
        if (is_container) {
            const auto index = static_cast<std::size_t>(&spot - state_.json->spots().data());
            if (rule.kind == FlatKind::kKeep) {
                const bool is_implied = number >= json_.first_implied;
                covered_[index] = is_implied ? static_cast<char>(is_covered(spot.around)) : 1;
                return count_as(RuleCounter::kKept);
            }
            if (rule.kind != FlatKind::kNull) {
                refuse("a rule that changes text has met an object or array; with 'if string', it would pass over it",
                       record.number, spot.begin);
            }
            count_as(RuleCounter::kChanged);
            return replace(spot, "null", sink);
        }
        if (rule.changes_empty == 0 && field.begin == field.end) {
            count_as(RuleCounter::kEmpty);
            return;
        }
        if (rule.kind == FlatKind::kKeep) {
            count_as(RuleCounter::kKept);
            return watch(record, field);
        }
        count_as(RuleCounter::kChanged);
        JsonValueSink<Sink::kWrites> made(state_.combined);
        replace_field(*this, record, rule, field, made);
        if (made.is_null()) return replace(spot, "null", sink);
        write_value(record, rule, field, made.value(), sink);
    }

    template <class Sink>
    void write_value(const JsonRecord& record, const FlatRule& rule, const FieldSpan& field,
                     std::span<const std::uint8_t> value, Sink& sink) {
        const JsonSpot& spot = *record.spot;
        const auto is_same = [&] {
            return std::ranges::equal(value, std::span(record.bytes + field.begin, record.bytes + field.end));
        };
        if (rule.kind == FlatKind::kTop && is_same()) watch(record, field);
        const bool calculates = rule.kind == FlatKind::kRound || rule.kind == FlatKind::kNoise ||
                                rule.kind == FlatKind::kBucket || rule.kind == FlatKind::kTop;
        if (spot.kind == JsonKind::kNumber && calculates && is_number(value)) {
            return replace(spot, {reinterpret_cast<const char*>(value.data()), value.size()}, sink);
        }
        const std::optional<std::uint64_t> size = escaped_size(value);
        if (!size) refuse("the new value is not UTF-8, so no string can hold it", record.number, spot.begin);
        copy_to(spot.begin, sink);
        std::uint8_t* const room = sink.room_for(static_cast<std::size_t>(*size) + 2);
        room[0] = room[1 + *size] = '"';
        write_escaped(value, room + 1);
        sink.commit(static_cast<std::size_t>(*size) + 2);
        at_ = spot.end;
    }

    static bool is_number(std::span<const std::uint8_t> text) {
        JsonKind kind{};
        JsonFault fault{};
        const std::uint8_t* const end = text.data() + text.size();
        return !text.empty() && skip_json_scalar(text.data(), end, kind, fault) == end && kind == JsonKind::kNumber;
    }

    State& state_;
    const JsonRules& json_;
    const RecordBlock& block_;
    std::uint32_t at_ = 0;       // what is before it in the block has been written
    std::size_t gap_ = 0;        // the next gap
    std::vector<char> covered_;  // for each spot of an object or array: whether `keep` covers what is in it
};

}  // namespace cleave
