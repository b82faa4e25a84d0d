// How a stage rewrites a record, as a functor for rows_kernel.h in which each row is a record.
// features/redact/stage/record.h defines what is written and counted; this is the device's part of it.
//
// The device handles the common cases and leaves the rest to the CPU. A page is odd if one of its records has a
// different number of fields or is too long, if a new value needs quotes or escapes that the field did not have, or if
// the only column of a record becomes empty and the dialect has no quotes. The CPU processes all of an odd page: it
// finds the fault, or writes what the device could not.
//
// Quotes in a value are doubled in its field. They are undoubled into the scratch memory of the page, at the position
// of the field: a value is never longer than its field.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "cleave/field_row.h"
#include "cuda/rows_kernel.h"
#include "cuda/sha256.h"
#include "cuda/stage.h"
#include "features/redact/stage/flat_program.h"
#include "features/redact/stage/record.h"

namespace cleave::cuda {

// Only counts the bytes.
class DeviceSizer {
public:
    static constexpr bool kWrites = false;
    static constexpr bool kKeeps = false;
    static constexpr bool kGrows = false;

    __device__ __forceinline__ void begin_record(std::uint64_t) {}
    __device__ __forceinline__ void append(const std::uint8_t*, std::uint64_t size) { size_ += size; }
    __device__ __forceinline__ void append_end(const std::uint8_t*, std::uint64_t size) { size_ += size; }
    __device__ __forceinline__ void put(std::uint8_t) { ++size_; }
    __device__ __forceinline__ void put_text(const std::uint8_t*, std::uint64_t size) { size_ += size; }
    __device__ __forceinline__ void commit(std::uint64_t size) { size_ += size; }
    __device__ __forceinline__ std::uint64_t size() const { return size_; }

private:
    std::uint64_t size_ = 0;
};

class DeviceWriter {
public:
    static constexpr bool kWrites = true;
    static constexpr bool kKeeps = true;
    static constexpr bool kGrows = false;

    __device__ __forceinline__ explicit DeviceWriter(std::uint8_t* out) : begin_(out), at_(out) {}
    __device__ __forceinline__ void begin_record(std::uint64_t) {}
    __device__ __forceinline__ void append(const std::uint8_t* from, std::uint64_t size) {
        at_ += copy_bytes(at_, from, size);
    }
    __device__ __forceinline__ void append_end(const std::uint8_t* from, std::uint64_t size) { append(from, size); }
    __device__ __forceinline__ void put(std::uint8_t byte) { *at_++ = byte; }
    __device__ __forceinline__ void put_text(const std::uint8_t* from, std::uint64_t size) { append(from, size); }
    __device__ __forceinline__ std::uint8_t* room_for(std::uint64_t) const { return at_; }
    __device__ __forceinline__ void commit(std::uint64_t size) { at_ += size; }
    __device__ __forceinline__ std::uint64_t size() const { return static_cast<std::uint64_t>(at_ - begin_); }

private:
    std::uint8_t* begin_;
    std::uint8_t* at_;
};

struct StageRows : SizedRows<0, false, false> {
    static constexpr bool kStaysSmall = true;

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

    // This is an estimate, which is enough because the kernels run in two passes.
    std::uint64_t bound(const std::uint64_t*, std::uint64_t) const { return size; }

    // The members of a Side; see features/redact/stage/record.h.
    static constexpr bool kHasKeys = false;
    static constexpr bool kIsCpu = false;
    using Part = const FlatPart;  // without const it would be read again after each write
    using Record = RecordView;

    __device__ __forceinline__ const std::uint8_t* bytes_of(const RecordView&) const { return bytes; }

    // The fields are well-formed, unless the page is odd.
    __device__ Value decode(const RecordView& record, const FieldSpan& field) const {
        std::uint32_t begin = field.begin;
        std::uint32_t end = field.end;
        if (!is_quoted(*this, record, field)) return {bytes + begin, end - begin};
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
    __device__ static bool is_rare(const Record&) { return false; }  // no device has stages with `suppress`
    __device__ DeviceHasher hasher() const { return {entries<FlatMacState>(program, program->states)}; }

    template <class Sink>
    __device__ bool change(const RecordView& record, std::uint32_t column, Sink& sink) const {
        return change_field(*this, record, column, sink);
    }

    // Bytes that would need more than the field's existing quotes are left to the CPU.
    __device__ std::uint64_t encode(const RecordView&, const FieldSpan&, std::uint8_t* out, std::uint64_t made,
                                    bool quoted) const {
        const std::uint32_t* const set = quoted ? program->special_quoted : program->special_plain;
        const std::uint8_t* const value = out + (quoted ? 1 : 0);
        std::uint32_t found = 0;
        for (std::uint64_t i = 0; i < made; ++i) found |= set[value[i] / 32] >> value[i] % 32;
        if ((found & 1) != 0) set_odd();
        if (!quoted) return made;
        out[0] = out[1 + made] = program->quote;
        return made + 2;
    }
    __device__ static std::uint64_t room_of(std::uint64_t size) { return size; }

    __device__ __forceinline__ void count(std::uint32_t rule, RuleCounter counter) const {
        count_event(counter_of(rule, counter));
    }
    __device__ __forceinline__ void count_empty() const { count_event(kEmptyRecordCounter); }

    __device__ void refuse_width(const RecordView&) const { set_odd(); }
    __device__ void refuse_empty(const RecordView&) const { set_odd(); }
    // Pages that might contain such a value are not sent to a device.
    __device__ void refuse_reserved(const RecordView&, const FieldSpan&, Value) const {}
    // Only CpuOperations refuse values.
    __device__ void refuse_value(const RecordView&, std::uint32_t) const { set_odd(); }

    const FlatProgram* program;
    const std::uint8_t* bytes;  // of the page
    std::uint8_t* scratch;      // as many bytes as the page
    std::uint32_t size;
    const std::uint32_t* ends;
    const FieldRow* rows;
    std::uint64_t* counters;  // kCounterCopies copies of the counters of stage.h
    std::uint32_t counter_count;
    std::uint32_t* odd;

private:
    __device__ __forceinline__ void set_odd() const { atomicOr(odd, 1U); }

    // Threads of a warp that count the same event combine their counts first, and blocks use separate copies of the
    // counters as long as there are enough, because additions to the same word are serialised.
    __device__ __forceinline__ void count_event(std::uint32_t counter) const {
        const unsigned together = __match_any_sync(__activemask(), counter);
        if (static_cast<int>(threadIdx.x % 32) + 1 != __ffs(together)) return;
        auto* const at = counters + (blockIdx.x % kCounterCopies) * counter_count + counter;
        atomicAdd(reinterpret_cast<unsigned long long*>(at), static_cast<unsigned long long>(__popc(together)));
    }

    __device__ __forceinline__ RecordView record_at(std::int32_t r) const {
        const FieldRow row = rows[r];
        const FieldRow next = rows[r + 1];
        std::uint32_t content = ends[next.first - 1];
        const bool has_cr =
            program->ends_with_lf != 0 && content != size && content > row.begin && bytes[content - 1] == '\r';
        if (has_cr) --content;
        return {ends + row.first, row.begin, content, next.begin, next.first - row.first};
    }

    // Records are measured in both passes, but counted only once.
    template <class Sink>
    __device__ void make(std::int32_t r, Sink& sink) const {
        const RecordView record = record_at(r);
        if (record.next - record.begin > program->max_record) return set_odd();
        if constexpr (Sink::kWrites) count_event(kRecordCounter);
        write_record(*this, record, program->parts, sink);
    }
};

}  // namespace cleave::cuda
