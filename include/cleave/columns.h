// A column of a block of records, in memory as the type Binary of Apache Arrow: for other programs and for devices.
// Knows no files. Values are what a reader of the file gets, without quotes and escapes; they may be any bytes.
// cleave/arrow.h hands columns on.
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
#include "cleave/fields.h"
#include "cleave/memory.h"

namespace cleave {

// Memory for columns, at a multiple of 64 bytes. Its bytes are not set. It is held at least up to the next multiple of
// 64 bytes behind the content.
template <class T>
class ColumnMemory {
public:
    // `manager` is not null.
    explicit ColumnMemory(std::shared_ptr<MemoryManager> manager) : manager_(std::move(manager)) {}

    std::span<T> span() const noexcept { return {data(), size_}; }
    T* data() const noexcept { return reinterpret_cast<T*>(memory_.data()); }
    std::size_t size() const noexcept { return size_; }
    std::size_t held_size() const noexcept { return memory_.size(); }  // bytes
    void resize(std::size_t size);                                     // loses the content; throws MemoryError
    void shrink(std::size_t size) noexcept { size_ = size; }           // to at most size(); keeps the content
    // Zeroes the 64 bytes behind the content, as far as they are held.
    void clear_slack() noexcept;

private:
    std::shared_ptr<MemoryManager> manager_;
    Memory memory_;
    std::size_t size_ = 0;
};

// The values of a column, one a record. Owns its memory.
class StringColumn {
public:
    // A `memory` of nullptr means a new manager "system".
    explicit StringColumn(std::shared_ptr<MemoryManager> memory = nullptr)
        : memory_(MemoryManager::or_default(std::move(memory))) {}

    std::size_t count() const noexcept { return count_; }
    std::size_t null_count() const noexcept { return null_count_; }

    // Value r is bytes()[offsets()[r] .. offsets()[r + 1]); count() + 1 of them.
    std::span<const std::int32_t> offsets() const noexcept { return offsets_.span(); }
    std::span<const std::uint8_t> bytes() const noexcept { return bytes_.span(); }
    // Bit r % 8 of byte r / 8 is 1 if value r is not null. Empty if no value is null.
    std::span<const std::uint8_t> validity() const noexcept { return validity_.span(); }

    // Bytes of memory that the column holds, used or not.
    std::size_t held_size() const noexcept { return offsets_.held_size() + bytes_.held_size() + validity_.held_size(); }

    // Value r, a view of this column, or nothing if it is null.
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

struct ColumnOptions {
    bool empty_is_null = false;    // an unquoted empty field is null; else it is the empty value. "" is never null
    bool missing_is_null = false;  // a record that is too short for the column has null there; else it is an error
    std::shared_ptr<MemoryManager> memory = nullptr;  // of the columns that are made; nullptr: a new manager "system"
};

// Immutable, any thread.
class ColumnReader {
public:
    // `fields` is the number of fields of each record, as FieldReader takes it; 0 if that may differ. Throws
    // std::invalid_argument for a dialect with a fault.
    ColumnReader(const Dialect& dialect, std::size_t fields, ColumnOptions options);

    // Reads column `number`, from 0, of a block that a FieldReader of the same dialect has made. Uses the memory of
    // `column` again. An empty record is null in every column; but if `fields` is 1, it is a record of one empty field.
    // Throws std::invalid_argument if all records have `fields` fields and that is not above `number`; InputError for a
    // record that is too short; and std::length_error for more than 2^31 - 1 bytes in StringColumn::bytes(). After
    // that, the content of `column` is undefined.
    void read(const RecordBlock& block, std::size_t number, StringColumn& column) const;

    const ColumnOptions& options() const noexcept { return options_; }

private:
    struct Run;

    Dialect dialect_;
    std::size_t fields_;
    ColumnOptions options_;
};

// Columns of a block by number, as ColumnReader reads them.
std::vector<StringColumn> read_columns(const RecordBlock& block, const Dialect& dialect, std::size_t fields,
                                       std::span<const std::size_t> numbers, const ColumnOptions& options = {});

}  // namespace cleave
