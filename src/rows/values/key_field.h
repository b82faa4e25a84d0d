// Finds the columns named in Policy::together and Policy::by, and their values in a record. In JSON Lines, which have
// no columns, paths take their place. This is the only difference between the two kinds of input.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "cleave/fields.h"
#include "cleave/plan.h"
#include "rows/fields/columns.h"
#include "rows/fields/field_decoder.h"
#include "rows/memory/value_buffer.h"
#include "rows/values/key_path.h"

namespace cleave {

struct KeyColumn {
    std::size_t number = 0;                         // from 0
    std::string name;                               // for messages
    std::string header;                             // its name in the header, for pieces by value; empty without one
    std::shared_ptr<const KeyPath> path = nullptr;  // in JSON Lines
    // If the column was given by its name: the number of fields in the header. In a record with more fields, names may
    // be beside other fields than in the header.
    std::size_t header_fields = SIZE_MAX;
};

// Both throw RuleError if the input has no such column, or if a column is named twice. An input without columns has no
// records either; for such an input the first function returns a column that is never read, and the second an empty
// list. In JSON Lines there is a value at every path, even if it is empty. The list is empty for a draw, too.
KeyColumn find_key_column(const Together& together, InputColumns columns);
std::vector<KeyColumn> find_key_columns(const ByValue& by, InputColumns columns);

// Immutable, so it can be used from any thread.
class KeyField {
public:
    // The dialect must be valid. With `accepts_ragged`, a record without the field counts as having an empty value, and
    // in one with more fields than the header the field is at the header's place.
    KeyField(const Dialect& dialect, KeyColumn column, bool accepts_ragged)
        : dialect_(dialect),
          column_(std::move(column)),
          accepts_ragged_(accepts_ragged),
          most_after_((accepts_ragged ? SIZE_MAX : column_.header_fields) - column_.number),
          decoder_(dialect) {}

    std::size_t column() const { return column_.number; }

    // Returns the raw field in record `record` of the block, as FieldReader found it under either Reading. In an empty
    // record the field is empty. Throws InputError for any other record without the field, and for one with more fields
    // than KeyColumn::header_fields, unless those are empty. In JSON Lines, returns and throws the same as
    // KeyPath::raw().
    Value raw(const RecordBlock& block, std::size_t record) const {
        if (column_.path) return column_.path->raw(column_.name, block, record);
        const FieldRow& row = block.rows[record];
        const std::size_t count = block.rows[record + 1].first - row.first;
        const std::size_t column = column_.number;
        const std::size_t more = count - column - 1;  // fields after the column
        if (more < most_after_) [[likely]] {
            const std::uint32_t begin = column == 0 ? row.begin : block.ends[row.first + column - 1] + 1;
            const std::uint32_t end = more == 0 ? end_of_record(block, row, count) : block.ends[row.first + column];
            return {block.bytes.data() + begin, end - begin};
        }
        return raw_of_odd(block, record);
    }

    // If the raw field contains its value unchanged, sets `value` to a view of it and returns true. Otherwise returns
    // false; then write() writes the value to `out` and returns its size, which is at most the size of the field.
    bool view(Value raw, Value& value) const {
        return column_.path ? column_.path->view(raw, value) : decoder_.view(raw.data, raw.data + raw.size, value);
    }
    std::uint64_t write(Value raw, std::uint8_t* out) const {
        return column_.path ? column_.path->write(raw, out) : decoder_.write(raw.data, raw.data + raw.size, out);
    }

    // Returns the value of the field, as a view of the field or of a copy in `scratch`.
    Value value(Value raw, ValueBuffer& scratch) const {
        Value value{};
        if (view(raw, value)) return value;
        scratch.reserve(raw.size);
        return {scratch.data(), write(raw, scratch.data())};
    }

private:
    std::uint32_t end_of_record(const RecordBlock& block, const FieldRow& row, std::size_t count) const;
    Value raw_of_odd(const RecordBlock& block, std::size_t record) const;
    [[noreturn]] static void refuse(const RecordBlock& block, std::size_t record, const std::string& fault);

    Dialect dialect_;
    KeyColumn column_;
    bool accepts_ragged_;
    std::size_t most_after_;  // fewer fields than this follow the column, unless the record is odd
    FieldDecoder decoder_;
};

// Keeps a value for comparison with other values.
class KeptValue {
public:
    // `memory` must not be null.
    explicit KeptValue(const std::shared_ptr<MemoryManager>& memory) : raw_(memory), value_(memory), scratch_(memory) {}

    // Throws MemoryError, as does matches().
    void keep(const KeyField& key, Value raw) {
        copy(raw, raw_, raw_size_);
        copy(key.value(raw, scratch_), value_, value_size_);
    }

    // Whether the field has the kept value.
    bool matches(const KeyField& key, Value raw) {
        if (is_same(raw, raw_, raw_size_)) return true;
        if (!is_same(key.value(raw, scratch_), value_, value_size_)) return false;
        copy(raw, raw_, raw_size_);  // the next field probably looks the same
        return true;
    }

private:
    static void copy(Value from, ValueBuffer& to, std::size_t& size) {
        to.reserve(from.size);
        size = from.size;
        if (size > 0) std::memcpy(to.data(), from.data, size);
    }
    static bool is_same(Value one, const ValueBuffer& other, std::size_t size) {
        return one.size == size && (size == 0 || std::memcmp(one.data, other.data(), size) == 0);
    }

    ValueBuffer raw_;  // a raw field that has the value
    ValueBuffer value_;
    ValueBuffer scratch_;
    std::size_t raw_size_ = 0;
    std::size_t value_size_ = 0;
};

}  // namespace cleave
