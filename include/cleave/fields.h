// Finds where the fields of records are. Knows nothing about files, or about what is done with the fields.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "cleave/blob.h"
#include "cleave/dialect.h"
#include "cleave/error.h"
#include "cleave/field_row.h"
#include "cleave/kernel.h"

namespace cleave {

class MemoryManager;

// A run of whole records with their fields. A view: valid until the next read() by the FieldReader that returned it,
// and only while that reader and the bytes exist. Offsets count from bytes[0].
struct RecordBlock {
    std::span<const std::uint8_t> bytes;
    Place place;  // of bytes[0] in the input

    // The byte after each field: its delimiter, or the first byte of the terminator. For a CRLF under Terminator::kLf
    // it is the LF: see content_end(). For a last record without a terminator it is bytes.size().
    std::span<const std::uint32_t> ends;
    // One row for each record, and one more for the end of the last record. The fields of record r end at
    // ends[rows[r].first] to ends[rows[r + 1].first - 1]. An empty record has one field, which is empty.
    std::span<const FieldRow> rows;
    // Whether adjacent fields count as one, except at the ends that FieldReader::pick() names.
    bool is_picked = false;

    std::size_t record_count() const { return rows.size() - 1; }
    std::span<const std::uint8_t> record(std::size_t r) const {
        return bytes.subspan(rows[r].begin, rows[r + 1].begin - rows[r].begin);
    }
};

// The longest record that can be read where fields matter.
constexpr std::uint64_t kMaxRecordLimit = std::uint64_t{1} << 30;

// How malformed bytes are read.
enum class Reading : std::uint8_t {
    kByDialect,    // as the dialect says
    kUnambiguous,  // bytes that readers may interpret differently are refused
};

// For use by one thread at a time. Memory: reserves up to 12 bytes for each byte of the longest run, but uses only what
// the run's fields and records need.
class FieldReader {
public:
    // If `fields` is above 0, every record that is not empty must have that many fields. If it is 1, an empty record
    // counts as a record with one empty field. `kernel` must outlive the reader. If `memory` is null, a new "system"
    // manager is used. Throws ArgumentError for an invalid dialect.
    FieldReader(const Dialect& dialect, const Kernel& kernel, Reading reading, std::size_t fields,
                std::shared_ptr<MemoryManager> memory = nullptr);
    // Says that from now on, besides the end of the last field, the ends of only these fields matter, numbered from 0,
    // in ascending order. If that is faster, and nothing is unusual in the bytes, read() then finds no others, and the
    // block has is_picked set. All that this changes is how many ends there are.
    void pick(std::span<const std::uint32_t> numbers);
    ~FieldReader();
    FieldReader(FieldReader&&) noexcept;
    FieldReader& operator=(FieldReader&&) noexcept;

    // Finds the fields of the records that end in `bytes`, which must be shorter than 4 GiB and begin with a record, at
    // `place`, without a byte order mark. With `at_end`, the last record ends with the bytes; otherwise an incomplete
    // record is left out, so the block may be shorter than `bytes`, or empty. Throws InputError for the first record
    // with a different number of fields, and under Reading::kUnambiguous for an open quote, a quote in an unquoted
    // field, a closing quote followed by anything but a delimiter, terminator or quote, a CR or LF outside quotes that
    // does not end a record, and an escape as the last byte.
    RecordBlock read(std::span<const std::uint8_t> bytes, Place place, bool at_end);
    RecordBlock read(TemporaryBytes auto&& bytes, Place place, bool at_end) = delete;

    // A quote that a strict reader does not accept: one in an unquoted field, one that closes a section and is followed
    // by anything but a delimiter, a terminator or a quote, or one that is never closed.
    struct QuoteFault {
        const char* what;
        std::size_t at;  // in the bytes
    };
    // The same, but checks only quotes, and stops at the first fault: the block ends before the record that has it.
    RecordBlock read_to_fault(std::span<const std::uint8_t> bytes, bool at_end, std::optional<QuoteFault>& fault);
    RecordBlock read_to_fault(TemporaryBytes auto&& bytes, bool at_end, std::optional<QuoteFault>& fault) = delete;

private:
    struct State;
    std::unique_ptr<State> state_;
};

// Where the content of a record's last field ends: `begin` is where the record begins, and `end` is its last entry in
// RecordBlock::ends. The result differs from `end` if a CR before the LF belongs to the terminator, that is, if the CR
// is not escaped.
std::uint32_t content_end(std::span<const std::uint8_t> bytes, std::uint32_t begin, std::uint32_t end,
                          const Dialect& dialect);

}  // namespace cleave
