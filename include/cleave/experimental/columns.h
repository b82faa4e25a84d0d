// A column of a block of records, laid out in memory as Apache Arrow's type Binary, for other programs and for devices.
// Values are as a reader of the file sees them, without quotes and escapes, and may consist of any bytes.
// cleave/experimental/arrow.h exports columns. Knows nothing about files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "cleave/dialect.h"
#include "cleave/error.h"
#include "cleave/fields.h"
#include "cleave/memory.h"

namespace cleave {

// Memory for columns, aligned to 64 bytes and not initialised. It extends at least to the next multiple of 64 bytes
// after the content.
template <class T>
class ColumnMemory {
public:
    // `manager` must not be null.
    explicit ColumnMemory(std::shared_ptr<MemoryManager> manager) : manager_(std::move(manager)) {}

    std::span<T> span() const noexcept { return {data(), size_}; }
    T* data() const noexcept { return reinterpret_cast<T*>(memory_.data()); }
    std::size_t size() const noexcept { return size_; }
    std::size_t held_size() const noexcept { return memory_.size(); }  // bytes
    void resize(std::size_t size);                                     // discards the content; throws MemoryError
    void shrink(std::size_t size) noexcept { size_ = size; }           // to at most size(); keeps the content
    // Zeroes the 64 bytes after the content, or as many of them as are held.
    void clear_slack() noexcept;

private:
    std::shared_ptr<MemoryManager> manager_;
    Memory memory_;
    std::size_t size_ = 0;
};

// The values of a column, one per record. Owns its memory.
class StringColumn {
public:
    // If `memory` is null, a new "system" manager is used.
    explicit StringColumn(std::shared_ptr<MemoryManager> memory = nullptr)
        : memory_(MemoryManager::or_default(std::move(memory))) {}

    std::size_t count() const noexcept { return count_; }
    std::size_t null_count() const noexcept { return null_count_; }

    // count() + 1 offsets: value r is bytes()[offsets()[r] .. offsets()[r + 1]).
    std::span<const std::int32_t> offsets() const noexcept { return offsets_.span(); }
    std::span<const std::uint8_t> bytes() const noexcept { return bytes_.span(); }
    // Bit r % 8 of byte r / 8 is 1 if value r is not null. Empty if no value is null.
    std::span<const std::uint8_t> validity() const noexcept { return validity_.span(); }

    // Bytes of memory that the column holds, used or not.
    std::size_t held_size() const noexcept { return offsets_.held_size() + bytes_.held_size() + validity_.held_size(); }

    // Value r, as a view into this column; no value if it is null.
    std::optional<std::string_view> value(std::size_t r) const;

private:
    friend class ColumnReader;

    std::size_t count_ = 0;
    std::size_t null_count_ = 0;
    std::shared_ptr<MemoryManager> memory_;
    ColumnMemory<std::int32_t> offsets_{memory_};
    ColumnMemory<std::uint8_t> bytes_{memory_};
    ColumnMemory<std::uint8_t> validity_{memory_};
};

// A column would have more than 2^31 - 1 bytes, the most that Arrow's layout allows.
class ColumnSizeError : public ErrorOf<std::length_error> {
public:
    using ErrorOf::ErrorOf;
};

struct ColumnOptions {
    bool empty_is_null = false;    // an unquoted empty field is null, not the empty value; "" is never null
    bool missing_is_null = false;  // a record too short to have the column is null there; otherwise it causes
                                   // InputError
    std::shared_ptr<MemoryManager> memory = nullptr;  // for the columns; nullptr: a new "system" manager
};

// Immutable; any thread may use it.
class ColumnReader {
public:
    // `fields` is the number of fields in every record, as for FieldReader; 0 if it may vary. Throws
    // ArgumentError for an invalid dialect.
    ColumnReader(const Dialect& dialect, std::size_t fields, ColumnOptions options);

    // Reads column `number`, counted from 0, of a block from a FieldReader with the same dialect. Reuses the memory of
    // `column`. An empty record is null in every column. Throws ArgumentError if `fields` is above 0 but not above
    // `number`, InputError for a record that is too short, and ColumnSizeError if StringColumn::bytes() would exceed
    // 2^31 - 1 bytes. After an exception the content of `column` is undefined.
    void read(const RecordBlock& block, std::size_t number, StringColumn& column) const;

    const ColumnOptions& options() const noexcept { return options_; }

private:
    struct Run;

    Dialect dialect_;
    std::size_t fields_;
    ColumnOptions options_;
};

// Several columns of a block, read as ColumnReader reads them.
std::vector<StringColumn> read_columns(const RecordBlock& block, const Dialect& dialect, std::size_t fields,
                                       std::span<const std::size_t> numbers, const ColumnOptions& options = {});

}  // namespace cleave
