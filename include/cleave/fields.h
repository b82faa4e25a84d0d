// Where the fields of records are. Knows no files, and nothing of what becomes of the fields.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "cleave/dialect.h"
#include "cleave/error.h"
#include "cleave/field_row.h"
#include "cleave/kernel.h"

namespace cleave {

class MemoryManager;

// A run of whole records with their fields. A view: valid as long as the FieldReader that made it, until its next
// read(), and as long as the bytes. Offsets count from bytes[0].
struct RecordBlock {
    std::span<const std::uint8_t> bytes;
    Place place;  // of bytes[0] in the input

    // The byte after each field: its delimiter, or the first byte of the terminator. Before a CRLF under
    // Terminator::kLf it is the LF: see content_end(). After a last record without a terminator it is bytes.size().
    std::span<const std::uint32_t> ends;
    // One row for each record, and one more for the end of the last. The fields of record r end at ends[rows[r].first]
    // to ends[rows[r + 1].first - 1]. An empty record has one field, which is empty.
    std::span<const FieldRow> rows;

    std::size_t record_count() const { return rows.size() - 1; }
    std::span<const std::uint8_t> record(std::size_t r) const {
        return bytes.subspan(rows[r].begin, rows[r + 1].begin - rows[r].begin);
    }
};

// How malformed bytes are read.
enum class Reading : std::uint8_t {
    kByDialect,    // as the dialect says
    kUnambiguous,  // bytes at which readers may differ are an error
};

// For one thread at a time. Memory: up to 12 bytes for each byte of the longest run, of which only as much is used as
// the run has fields and records.
class FieldReader {
public:
    // With `fields` > 0 all records but empty ones must have that many fields. If that is 1, an empty record is a
    // record of one empty field. `kernel` must outlive the reader. A `memory` of nullptr means a new manager "system".
    // Throws std::invalid_argument for a dialect with a fault.
    FieldReader(const Dialect& dialect, const Kernel& kernel, Reading reading, std::size_t fields,
                std::shared_ptr<MemoryManager> memory = nullptr);
    ~FieldReader();
    FieldReader(FieldReader&&) noexcept;
    FieldReader& operator=(FieldReader&&) noexcept;

    // Finds the fields of the records that end in `bytes`, less than 4 GiB, which begin with a record (without a byte
    // order mark) at `place`. With `at_end` the last record ends with the bytes; else a record in progress is left out,
    // so the block may be shorter than `bytes`, or empty. Throws InputError for the first record with another number of
    // fields, and under Reading::kUnambiguous for an open quote, a quote in an unquoted field, a byte after a closing
    // quote that is no delimiter, terminator or quote, a CR outside quotes that ends no record, an LF likewise, and an
    // escape as the last byte.
    RecordBlock read(std::span<const std::uint8_t> bytes, Place place, bool at_end);

private:
    struct State;
    std::unique_ptr<State> state_;
};

// Where the content of a record's last field ends: `end` is its last entry in RecordBlock::ends, `begin` where the
// record begins. Differs from `end` where a CR before the LF belongs to the terminator: where no escape acts on it.
std::uint32_t content_end(std::span<const std::uint8_t> bytes, std::uint32_t begin, std::uint32_t end,
                          const Dialect& dialect);

}  // namespace cleave
