// What a stage makes of a record, as a functor of rows_kernel.h: a row is a record. Follows src/stage/worker.cpp step
// by step: the parts of the output, for a column with rules the first rule that applies, what it makes of the value,
// quotes.
//
// The device does what is common, and leaves the rest to the CPU. A page is odd if one of its records has another
// number of fields or is too long, if a new value needs quotes or escapes that the field did not have, or if the only
// column of a record becomes empty where the dialect has no quotes. The CPU takes an odd page as a whole: it finds the
// fault, or writes what the device could not.
//
// A value with quotes in it stands doubled in its field. It is undoubled into the scratch memory of the page, at the
// field's own place: a value is no longer than its field.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "cleave/field_row.h"
#include "cuda/rows_kernel.h"
#include "cuda/sha256.h"
#include "cuda/stage.h"
#include "stage/flat_program.h"
#include "stage/operation.h"
#include "stage/program.h"

namespace cleave::cuda {

// Counts the bytes only.
class DeviceSizer {
public:
    static constexpr bool kWrites = false;
    __device__ __forceinline__ void append(const std::uint8_t*, std::uint64_t size) { size_ += size; }
    __device__ __forceinline__ void put(std::uint8_t) { ++size_; }
    __device__ __forceinline__ void commit(std::uint64_t size) { size_ += size; }
    __device__ __forceinline__ std::uint64_t size() const { return size_; }
    __device__ __forceinline__ std::uint8_t* at() const { return nullptr; }

private:
    std::uint64_t size_ = 0;
};

class DeviceWriter {
public:
    static constexpr bool kWrites = true;
    __device__ __forceinline__ explicit DeviceWriter(std::uint8_t* out) : begin_(out), at_(out) {}
    __device__ __forceinline__ void append(const std::uint8_t* from, std::uint64_t size) {
        at_ += copy_bytes(at_, from, size);
    }
    __device__ __forceinline__ void put(std::uint8_t byte) { *at_++ = byte; }
    __device__ __forceinline__ void commit(std::uint64_t size) { at_ += size; }
    __device__ __forceinline__ std::uint64_t size() const { return static_cast<std::uint64_t>(at_ - begin_); }
    __device__ __forceinline__ std::uint8_t* at() const { return at_; }

private:
    std::uint8_t* begin_;
    std::uint8_t* at_;
};

struct StageRows {
    static constexpr int kColumns = 0;
    static constexpr bool kMakesNulls = false;
    static constexpr bool kMakesNewNulls = false;

    struct Measured {
        std::uint32_t size;
    };

    template <class Text>
    __device__ Measured measure(const Row<0, Text>& row) const {
        DeviceSizer sizer;
        make(row.index, sizer);
        if (sizer.size() >= kNullRow) set_odd();
        return {static_cast<std::uint32_t>(sizer.size())};
    }

    template <class Text>
    __device__ void write(const Row<0, Text>& row, Measured, std::uint8_t* out) const {
        DeviceWriter writer(out);
        make(row.index, writer);
    }

    // Only a guess: the kernels run in two passes.
    std::uint64_t bound(const std::uint64_t*, std::uint64_t) const { return size; }

    const FlatProgram* program;
    const std::uint8_t* bytes;  // of the page
    std::uint8_t* scratch;      // as many
    std::uint32_t size;
    const std::uint32_t* ends;
    const FieldRow* rows;
    std::uint64_t* counters;  // kCounterCopies times those of stage.h
    std::uint32_t counter_count;
    std::uint32_t* odd;

private:
    struct Record {
        std::uint32_t begin;
        std::uint32_t content_end;  // where the terminator begins
        std::uint32_t next;
        std::uint32_t count;  // of fields
        const std::uint32_t* ends;

        __device__ __forceinline__ std::uint32_t begin_of(std::uint32_t column) const {
            return column == 0 ? begin : ends[column - 1] + 1;
        }
        __device__ __forceinline__ std::uint32_t end_of(std::uint32_t column) const {
            return column + 1 == count ? content_end : ends[column];
        }
    };

    __device__ __forceinline__ void set_odd() const { atomicOr(odd, 1U); }

    // Records are measured in both passes, and written once. Threads of a warp that count the same event add it up
    // first, and blocks have counters of their own as far as they go: additions to one word are done one after another.
    template <class Sink>
    __device__ __forceinline__ void count(const Sink&, std::uint32_t counter) const {
        if constexpr (Sink::kWrites) {
            const unsigned together = __match_any_sync(__activemask(), counter);
            if (static_cast<int>(threadIdx.x % 32) + 1 != __ffs(together)) return;
            auto* const at = counters + (blockIdx.x % kCounterCopies) * counter_count + counter;
            atomicAdd(reinterpret_cast<unsigned long long*>(at), static_cast<unsigned long long>(__popc(together)));
        }
    }

    __device__ __forceinline__ Record record_at(std::int32_t r) const {
        const FieldRow row = rows[r];
        const FieldRow next = rows[r + 1];
        std::uint32_t content = ends[next.first - 1];
        const bool has_cr =
            program->ends_with_lf != 0 && content != size && content > row.begin && bytes[content - 1] == '\r';
        if (has_cr) --content;
        return {row.begin, content, next.begin, next.first - row.first, ends + row.first};
    }

    template <class Sink>
    __device__ void make(std::int32_t r, Sink& sink) const {
        const Record record = record_at(r);
        if (record.next - record.begin > program->max_record) return set_odd();
        count(sink, kRecordCounter);
        const bool is_empty = record.count == 1 && record.begin == record.content_end;
        if (record.count != program->column_count) {
            if (!is_empty) return set_odd();
            count(sink, kEmptyRecordCounter);
            return sink.append(bytes + record.begin, record.next - record.begin);
        }
        const FlatPart* const parts = entries<FlatPart>(program, program->parts);
        for (std::uint32_t i = 0; i < program->parts.count; ++i) {
            const FlatPart part = parts[i];
            const auto end = static_cast<OutputPart::End>(part.end);
            if (part.is_changed != 0 && change(record, part.first, sink)) {
                if (end == OutputPart::End::kDelimiter) sink.put(program->delimiter);
            } else {
                const std::uint32_t begin = record.begin_of(part.first);
                const std::uint32_t last =
                    end == OutputPart::End::kDelimiter ? record.ends[part.last] + 1 : record.end_of(part.last);
                sink.append(bytes + begin, last - begin);
            }
            if (end == OutputPart::End::kNewDelimiter) sink.put(program->delimiter);
        }
        if (program->makes_one_column != 0 && sink.size() == 0 && record.content_end != record.begin) {
            if (program->has_quote == 0) set_odd();
            sink.put(program->quote);
            sink.put(program->quote);
        }
        sink.append(bytes + record.content_end, record.next - record.content_end);
    }

    // False if the field stays as it is.
    template <class Sink>
    __device__ bool change(const Record& record, std::uint32_t column, Sink& sink) const {
        const std::uint32_t index = rule_for(record, column, sink);
        const FlatRule& rule = entries<FlatRule>(program, program->rules)[index];
        const std::uint32_t begin = record.begin_of(column);
        const std::uint32_t end = record.end_of(column);
        if (rule.changes_empty == 0 && is_empty(begin, end)) {
            count(sink, counter_of(index, RuleCounter::kEmpty));
            return false;
        }
        if (rule.kind == FlatKind::kKeep) {
            count(sink, counter_of(index, RuleCounter::kKept));
            return false;
        }
        count(sink, counter_of(index, RuleCounter::kChanged));
        replace(rule, begin, end, sink);
        return true;
    }

    template <class Sink>
    __device__ std::uint32_t rule_for(const Record& record, std::uint32_t column, const Sink& sink) const {
        const std::uint32_t* const first = entries<std::uint32_t>(program, program->columns) + column;
        const std::uint32_t* const numbers = entries<std::uint32_t>(program, program->rule_numbers);
        for (std::uint32_t i = first[0];; ++i) {
            const std::uint32_t number = numbers[i];
            const FlatRule& rule = entries<FlatRule>(program, program->rules)[number];
            count(sink, counter_of(number, RuleCounter::kSeen));
            bool all = true;
            for (std::uint32_t k = 0; k < rule.condition_count && all; ++k) {
                all = holds(entries<FlatCondition>(program, program->conditions)[rule.first_condition + k], record);
            }
            if (all || i + 1 == first[1]) return number;  // the last rule has no condition
            count(sink, counter_of(number, RuleCounter::kConditionFalse));
        }
    }

    __device__ bool holds(const FlatCondition& one, const Record& record) const {
        const std::uint32_t begin = record.begin_of(one.column);
        const std::uint32_t end = record.end_of(one.column);
        const auto kind = static_cast<Condition::Kind>(one.kind);
        if (kind == Condition::Kind::kEmpty) return is_empty(begin, end);
        if (kind == Condition::Kind::kNotEmpty) return !is_empty(begin, end);
        const Value found = decode(begin, end);
        const std::uint8_t* const texts = entries<std::uint8_t>(program, program->texts);
        bool is_among = false;
        for (std::uint32_t i = 0; i < one.value_count && !is_among; ++i) {
            const FlatText text = entries<FlatText>(program, program->values)[one.first_value + i];
            bool is_equal = text.size == found.size;
            for (std::uint32_t k = 0; is_equal && k < text.size; ++k) is_equal = texts[text.at + k] == found.data[k];
            is_among = is_equal;
        }
        return is_among == (kind == Condition::Kind::kIn);
    }

    __device__ __forceinline__ bool is_quoted(std::uint32_t begin, std::uint32_t end) const {
        return begin != end && program->has_quote != 0 && bytes[begin] == program->quote;
    }
    __device__ __forceinline__ bool is_empty(std::uint32_t begin, std::uint32_t end) const {
        return begin == end || (end - begin == 2 && is_quoted(begin, end));
    }

    // The fields of a page that is not odd are well-formed.
    __device__ Value decode(std::uint32_t begin, std::uint32_t end) const {
        if (!is_quoted(begin, end)) return {bytes + begin, end - begin};
        ++begin;
        --end;
        std::uint32_t i = begin;
        while (i < end && bytes[i] != program->quote) ++i;
        if (i >= end) return {bytes + begin, end - begin};
        std::uint8_t* out = scratch + begin;
        for (i = begin; i < end; ++i) {
            *out++ = bytes[i];
            if (bytes[i] == program->quote) ++i;
        }
        return {scratch + begin, static_cast<std::uint64_t>(out - (scratch + begin))};
    }

    template <class Sink>
    __device__ void replace(const FlatRule& rule, std::uint32_t begin, std::uint32_t end, Sink& sink) const {
        const bool quoted = is_quoted(begin, end);
        const Value value = decode(begin, end);
        if constexpr (Sink::kWrites) {
            std::uint8_t* const out = sink.at() + (quoted ? 1 : 0);
            const std::uint64_t made = operate<true>(rule, value, out);
            if (made == kBecomesNull) return put_null(sink);
            if (rule.is_plain == 0 && is_special(out, made, quoted)) set_odd();
            if (quoted) sink.at()[0] = out[made] = program->quote;
            sink.commit(made + (quoted ? 2 : 0));
        } else {
            const std::uint64_t made = operate<false>(rule, value, nullptr);
            if (made == kBecomesNull) return put_null(sink);
            sink.commit(made + (quoted ? 2 : 0));
        }
    }

    template <class Sink>
    __device__ void put_null(Sink& sink) const {
        sink.append(entries<std::uint8_t>(program, program->texts) + program->null_token.at, program->null_token.size);
    }

    __device__ bool is_special(const std::uint8_t* made, std::uint64_t made_size, bool quoted) const {
        const std::uint32_t* const set = quoted ? program->special_quoted : program->special_plain;
        std::uint32_t found = 0;
        for (std::uint64_t i = 0; i < made_size; ++i) found |= set[made[i] / 32] >> made[i] % 32;
        return (found & 1) != 0;
    }

    template <bool kWrites, class Operation>
    __device__ std::uint64_t operate_as(const FlatRule& rule, Value value, std::uint8_t* out) const {
        const auto& operation =
            *reinterpret_cast<const Operation*>(reinterpret_cast<const std::uint8_t*>(program) + rule.operation);
        DeviceHasher hasher{entries<FlatMacState>(program, program->states)};
        if constexpr (kWrites) return operation.write(value, out, hasher);
        return operation.measure(value, hasher);
    }

    // What the operation's measure() or write() returns.
    template <bool kWrites>
    __device__ std::uint64_t operate(const FlatRule& rule, Value value, std::uint8_t* out) const {
        switch (rule.kind) {
            case FlatKind::kKeep: return operate_as<kWrites, Keep>(rule, value, out);
            case FlatKind::kNull: return operate_as<kWrites, Null>(rule, value, out);
            case FlatKind::kFixed: return operate_as<kWrites, Fixed>(rule, value, out);
            case FlatKind::kHmac: return operate_as<kWrites, Hmac>(rule, value, out);
            case FlatKind::kMask: return operate_as<kWrites, Mask>(rule, value, out);
            case FlatKind::kInitials: return operate_as<kWrites, Initials>(rule, value, out);
            case FlatKind::kShortName: return operate_as<kWrites, ShortName>(rule, value, out);
            case FlatKind::kEmail: return operate_as<kWrites, Email>(rule, value, out);
            case FlatKind::kDate: return operate_as<kWrites, Date>(rule, value, out);
            case FlatKind::kBucket: return operate_as<kWrites, Bucket>(rule, value, out);
        }
        return kBecomesNull;
    }
};

}  // namespace cleave::cuda
