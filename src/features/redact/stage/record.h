// What rules do to one record: the single place that decides what is written and counted, for the CPU
// (stage/worker.cpp) and for a GPU (modules/cuda/stage_rows.h).
//
//   for each part: if it stays, its bytes, from its first field to the delimiter after its last one
//                  if it changes, the new value from the first rule whose conditions hold, in quotes if the field
//                  was in quotes
//   then the terminator
//
// The caller supplies a Sink and a Side. A Sink receives the output, or only its size:
//
//   static constexpr bool kWrites     false: only sizes matter, and nothing is counted
//   static constexpr bool kKeeps      false: not even values whose size depends on quotes and escapes are kept; they
//                                     are measured as if they needed none
//   static constexpr bool kGrows      false: there is room for any value, and room_for() is not given a size
//   begin_record(size)                announces at most `size` bytes that stay, with delimiters and the quotes of an
//                                     empty value
//   append(from, size), append_end(from, size)    append bytes of the input; a terminator
//   put(byte), put_text(from, size)   append bytes from elsewhere
//   room_for(size), commit(size)      returns memory for `size` bytes; takes the first `size` bytes of it
//   size()                            the bytes so far
//
// A Side does what differs between the CPU and a GPU:
//
//   static constexpr bool kHasKeys    whether parts may have a key
//   static constexpr bool kIsCpu      whether it runs CpuOperations
//   using Part                        a const FlatPart or a reference to one, whichever is faster
//   using Record                      a RecordView, with anything else that the side needs to know about a record
//   program                           the const FlatProgram*
//   bytes_of(record)                  the bytes of its block
//   decode(record, field)             the Value of a field, valid until the next call
//   hasher()                          the hasher for operations; see stage/operation.h
//   context(record, operation)        the context for a CpuOperation
//   is_rare(record)                   whether `suppress` applies to the record; see CommonClasses
//   is_string(record)                 only for JSON: whether the value is a string
//   change(record, column, sink)      calls change_field()
//   encode(record, field, out, size, is_quoted)   creates the field for a value that may need quotes or escapes:
//                                     the value is at `out`, or one byte later if `is_quoted`; returns the field's size
//   room_of(size)                     the room that encode() needs for a value of `size` bytes
//   write_key(record, part, sink)     writes a part that has a key, and keeps the result
//   count(rule, RuleCounter), count_empty()       count as defined by RuleCounts and StageCounts
//   count_tokens(rule, tokens)                    the same for RuleCounts::fewest_tokens; only if kIsCpu
//   refuse_width(record), refuse_empty(record)    throw, or mark the page for the CPU
//   refuse_reserved(record, field, value)         the same for a value that must not become a token
//   refuse_value(record, begin)                   the same for the value of the field at `begin`, which the operation
//                                                 has refused
//
// Compiles for a GPU too.
#pragma once

#include <cstdint>

#include "features/redact/stage/flat_program.h"
#include "features/redact/stage/operation.h"
#include "features/redact/stage/value.h"

namespace cleave {

// Where a field is in its record's block.
struct FieldSpan {
    std::uint32_t begin;
    std::uint32_t end;
};

// One record of a block.
struct RecordView {
    const std::uint32_t* ends;  // of the record's fields
    std::uint32_t begin;
    std::uint32_t content_end;  // where its terminator begins
    std::uint32_t next;         // where the next record begins
    std::uint32_t count;        // the number of fields

    CLEAVE_DEVICE std::uint32_t begin_of(std::uint32_t column) const {
        return column == 0 ? begin : ends[column - 1] + 1;
    }
    CLEAVE_DEVICE std::uint32_t end_of(std::uint32_t column) const {
        return column + 1 == count ? content_end : ends[column];
    }
    CLEAVE_DEVICE FieldSpan field(std::uint32_t column) const { return {begin_of(column), end_of(column)}; }
    CLEAVE_DEVICE bool is_empty() const { return count == 1 && begin == content_end; }
};

template <class Side>
CLEAVE_DEVICE inline bool is_quoted(Side& side, const typename Side::Record& record, const FieldSpan& field) {
    const FlatProgram* const program = side.program;
    return field.begin != field.end && program->has_quote != 0 && side.bytes_of(record)[field.begin] == program->quote;
}

template <class Side>
CLEAVE_DEVICE inline bool is_empty(Side& side, const typename Side::Record& record, const FieldSpan& field) {
    return field.begin == field.end || (field.end - field.begin == 2 && is_quoted(side, record, field));
}

// Calls use(operation) with the CpuOperation of the rule, and returns its result.
template <class Use>
inline std::uint64_t with_cpu_operation(const FlatProgram* program, const FlatRule& rule, const Use& use) {
    const std::uint8_t* const at = reinterpret_cast<const std::uint8_t*>(program) + rule.operation;
    switch (rule.kind) {
        case FlatKind::kForm: return use(*reinterpret_cast<const Form*>(at));
        case FlatKind::kPick: return use(*reinterpret_cast<const Pick*>(at));
        case FlatKind::kShiftDate: return use(*reinterpret_cast<const ShiftDate*>(at));
        case FlatKind::kNoise: return use(*reinterpret_cast<const Noise*>(at));
        case FlatKind::kGeneralise: return use(*reinterpret_cast<const Generalise*>(at));
        case FlatKind::kEncrypt: return use(*reinterpret_cast<const Encrypt*>(at));
        case FlatKind::kDecrypt: return use(*reinterpret_cast<const Decrypt*>(at));
        case FlatKind::kSuppress: return use(*reinterpret_cast<const Suppress*>(at));
        default: return kIsRefused;
    }
}

// bound(), measure() and write() of the rule's CpuOperation. They are functions of their own because so many calls in
// write_value() would keep the values of other operations out of registers.
[[gnu::noinline]] inline std::uint64_t bound_on_cpu(const FlatProgram* program, const FlatRule& rule,
                                                    std::uint64_t size) {
    return with_cpu_operation(program, rule, [&](const auto& one) { return one.bound(size); });
}
// `begin` is where the field begins. Does not return if the operation refuses the value. If `out` is null, the value is
// only measured.
template <class Side>
[[gnu::noinline]] std::uint64_t apply_on_cpu(Side& side, const typename Side::Record& record, const FlatRule& rule,
                                             std::uint32_t begin, Value value, std::uint8_t* out) {
    const std::uint64_t size = with_cpu_operation(side.program, rule, [&](const auto& one) {
        OperationContext& context = side.context(record, one);
        if constexpr (requires { one.tokens_of(value); }) {
            if (out != nullptr) side.count_tokens(rule, one.tokens_of(value));
        }
        return out == nullptr ? one.measure(value, context) : one.write(value, out, context);
    });
    if (size == kIsRefused) side.refuse_value(record, begin);
    return size;
}

// Calls use(operation) with the operation of the rule or, if it is a CpuOperation, calls otherwise(). Returns the
// result.
template <class Use, class Otherwise>
CLEAVE_DEVICE inline std::uint64_t with_operation(const FlatProgram* program, const FlatRule& rule, const Use& use,
                                                  const Otherwise& otherwise) {
    const std::uint8_t* const at = reinterpret_cast<const std::uint8_t*>(program) + rule.operation;
    switch (rule.kind) {
        case FlatKind::kKeep: return use(*reinterpret_cast<const Keep*>(at));
        case FlatKind::kNull: return use(*reinterpret_cast<const Null*>(at));
        case FlatKind::kFixed: return use(*reinterpret_cast<const Fixed*>(at));
        case FlatKind::kHmac: return use(*reinterpret_cast<const Hmac*>(at));
        case FlatKind::kMask: return use(*reinterpret_cast<const Mask*>(at));
        case FlatKind::kInitials: return use(*reinterpret_cast<const Initials*>(at));
        case FlatKind::kShortName: return use(*reinterpret_cast<const ShortName*>(at));
        case FlatKind::kEmail: return use(*reinterpret_cast<const Email*>(at));
        case FlatKind::kDate: return use(*reinterpret_cast<const Date*>(at));
        case FlatKind::kBucket: return use(*reinterpret_cast<const Bucket*>(at));
        case FlatKind::kRound: return use(*reinterpret_cast<const Round*>(at));
        case FlatKind::kTop: return use(*reinterpret_cast<const Top*>(at));
        default: return otherwise();
    }
}

template <class Side>
CLEAVE_DEVICE inline bool holds(Side& side, const typename Side::Record& record, const FlatCondition& one) {
    const FlatProgram* const program = side.program;
    const FieldSpan field = record.field(one.column);
    if (one.kind >= ConditionKind::kEmpty) {
        if (one.kind == ConditionKind::kRare) return side.is_rare(record);
        if constexpr (requires { side.is_string(record); }) {
            if (one.kind == ConditionKind::kString) return side.is_string(record);
        }
        return is_empty(side, record, field) == (one.kind == ConditionKind::kEmpty);
    }
    const Value found = side.decode(record, field);
    const auto* const texts = entries<std::uint8_t>(program, program->texts);
    bool is_among = false;
    for (std::uint32_t i = 0; i < one.value_count && !is_among; ++i) {
        const FlatText text = entries<FlatText>(program, program->values)[one.first_value + i];
        bool is_equal = text.size == found.size;
        for (std::uint32_t k = 0; is_equal && k < text.size; ++k) is_equal = texts[text.at + k] == found.data[k];
        is_among = is_equal;
    }
    return is_among == (one.kind == ConditionKind::kIn);
}

// The number of the column's first rule whose conditions hold, not counting the first `skipped` rules; the last rule
// has no conditions. Counts the rules that are examined.
template <bool kCounts, class Side>
CLEAVE_DEVICE inline std::uint32_t rule_for(Side& side, const typename Side::Record& record, std::uint32_t column,
                                            std::uint32_t skipped = 0) {
    const FlatProgram* const program = side.program;
    const auto* const numbers = entries<std::uint32_t>(program, program->rule_numbers);
    for (std::uint32_t i = entries<std::uint32_t>(program, program->columns)[column] + skipped;; ++i) {
        const std::uint32_t number = numbers[i];
        const FlatRule& rule = entries<FlatRule>(program, program->rules)[number];
        if constexpr (kCounts) side.count(number, RuleCounter::kSeen);
        const auto* const conditions = entries<FlatCondition>(program, program->conditions) + rule.first_condition;
        bool all = true;
        for (std::uint32_t k = 0; k < rule.condition_count && all; ++k) all = holds(side, record, conditions[k]);
        if (all) return number;
        if constexpr (kCounts) side.count(number, RuleCounter::kConditionFalse);
    }
}

// Whether the rule leaves the field as it is.
template <class Side>
CLEAVE_DEVICE inline bool stays(Side& side, const typename Side::Record& record, const FlatRule& rule,
                                const FieldSpan& field) {
    return rule.kind == FlatKind::kKeep || (rule.changes_empty == 0 && is_empty(side, record, field));
}

template <class Sink>
CLEAVE_DEVICE inline void put_null(const FlatProgram* program, Sink& sink) {
    sink.put_text(entries<std::uint8_t>(program, program->texts) + program->null_token.at, program->null_token.size);
}

// Measures the result of applying the rule to the value, assuming that it needs no new quotes or escapes.
template <class Side, class Sink>
CLEAVE_DEVICE inline void measure_value(Side& side, const typename Side::Record& record, const FlatRule& rule,
                                        const FieldSpan& field, Value value, bool quoted, Sink& sink) {
    const std::uint64_t size = with_operation(
        side.program, rule,
        [&](const auto& one) {
            auto&& hasher = side.hasher();
            return one.measure(value, hasher);
        },
        [&] {
            if constexpr (Side::kIsCpu) return apply_on_cpu(side, record, rule, field.begin, value, nullptr);
            side.refuse_value(record, field.begin);
            return kBecomesNull;
        });
    return size == kBecomesNull ? put_null(side.program, sink) : sink.commit(size + (quoted ? 2 : 0));
}

// Applies the rule to the value of the field, and writes the result.
template <class Side, class Sink>
CLEAVE_DEVICE inline void write_value(Side& side, const typename Side::Record& record, const FlatRule& rule,
                                      const FieldSpan& field, Value value, bool quoted, Sink& sink) {
    const FlatProgram* const program = side.program;
    std::uint8_t* room = nullptr;
    const std::uint64_t size = with_operation(
        program, rule,
        [&](const auto& one) {
            room = sink.room_for(side.room_of(Sink::kGrows ? one.bound(value.size) : 0));
            auto&& hasher = side.hasher();
            return one.write(value, room + (quoted ? 1 : 0), hasher);
        },
        [&] {
            if constexpr (Side::kIsCpu) {
                room = sink.room_for(side.room_of(bound_on_cpu(program, rule, value.size)));
                return apply_on_cpu(side, record, rule, field.begin, value, room + (quoted ? 1 : 0));
            }
            side.refuse_value(record, field.begin);
            return kBecomesNull;
        });
    if (size == kBecomesNull) return put_null(program, sink);
    if (rule.is_plain == 0) return sink.commit(side.encode(record, field, room, size, quoted));
    if (quoted) room[0] = room[1 + size] = program->quote;
    sink.commit(size + (quoted ? 2 : 0));
}

// Applies the rule to the field, and writes the result.
template <class Side, class Sink>
CLEAVE_DEVICE inline void replace_field(Side& side, const typename Side::Record& record, const FlatRule& rule,
                                        const FieldSpan& field, Sink& sink) {
    const bool quoted = is_quoted(side, record, field);
    const Value value = rule.reads_value != 0 ? side.decode(record, field) : Value{};
    if (rule.makes_tokens != 0) side.refuse_reserved(record, field, value);
    if constexpr (!Sink::kWrites) {
        if (!Sink::kKeeps || rule.is_plain != 0) {
            return measure_value(side, record, rule, field, value, quoted, sink);
        }
    }
    if constexpr (Sink::kKeeps) write_value(side, record, rule, field, value, quoted, sink);
}

// Writes the changed field. Returns false and writes nothing if the field stays as it is.
template <class Side, class Sink>
CLEAVE_DEVICE inline bool change_field(Side& side, const typename Side::Record& record, std::uint32_t column,
                                       Sink& sink) {
    const FlatProgram* const program = side.program;
    const std::uint32_t number = rule_for<Sink::kWrites>(side, record, column);
    const FlatRule& rule = entries<FlatRule>(program, program->rules)[number];
    const FieldSpan field = record.field(column);
    if (rule.changes_empty == 0 && is_empty(side, record, field)) {
        if constexpr (Sink::kWrites) side.count(number, RuleCounter::kEmpty);
        return false;
    }
    if (rule.kind == FlatKind::kKeep) {
        if constexpr (Sink::kWrites) side.count(number, RuleCounter::kKept);
        return false;
    }
    if constexpr (Sink::kWrites) side.count(number, RuleCounter::kChanged);
    replace_field(side, record, rule, field, sink);
    return true;
}

template <class Side, class Sink>
CLEAVE_DEVICE_INLINE void write_part(Side& side, const typename Side::Record& record, typename Side::Part part,
                                     Sink& sink) {
    const FlatProgram* const program = side.program;
    if constexpr (Side::kHasKeys) {
        if (part.key != FlatPart::kNoKey) return side.write_key(record, part, sink);
    }
    if (part.is_changed && side.change(record, part.first, sink)) {
        if (part.end == PartEnd::kDelimiter) sink.put(program->delimiter);
    } else {
        // Includes the delimiter that follows in the input, if the part ends with it.
        const std::uint32_t begin = record.begin_of(part.first);
        const std::uint32_t end =
            part.end == PartEnd::kDelimiter ? record.ends[part.last] + 1 : record.end_of(part.last);
        sink.append(side.bytes_of(record) + begin, end - begin);
    }
    if (part.end == PartEnd::kNewDelimiter) sink.put(program->delimiter);
}

// Writes the record. `parts` is FlatProgram::parts, or header_parts for a header.
template <class Side, class Sink>
CLEAVE_DEVICE_INLINE void write_record(Side& side, const typename Side::Record& record, const FlatTable& parts,
                                       Sink& sink) {
    const FlatProgram* const program = side.program;
    const std::uint8_t* const bytes = side.bytes_of(record);
    sink.begin_record(record.next - record.begin + parts.count);
    if (record.count != program->column_count) {
        if (!record.is_empty()) side.refuse_width(record);
        if constexpr (Sink::kWrites) side.count_empty();
        return sink.append(bytes + record.begin, record.next - record.begin);
    }
    const auto before = sink.size();
    const auto* const first = entries<FlatPart>(program, parts);
    for (const FlatPart* part = first; part != first + parts.count; ++part) write_part(side, record, *part, sink);
    if (program->makes_one_column != 0 && sink.size() == before && record.content_end != record.begin) {
        // An empty value in a record of one column is written as two quotes, because without them the record would be
        // empty.
        if (program->has_quote == 0) side.refuse_empty(record);
        sink.put(program->quote);
        sink.put(program->quote);
    }
    sink.append_end(bytes + record.content_end, record.next - record.content_end);
}

}  // namespace cleave
