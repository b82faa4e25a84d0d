// The columns that Policy::together and Policy::by name, and their values in a record.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "cleave/fields.h"
#include "cleave/plan.h"
#include "fields/field_decoder.h"
#include "memory/value_buffer.h"
#include "stage/rules.h"

namespace cleave {

struct KeyColumn {
    std::size_t number = 0;  // from 0
    std::string name;        // for messages
    std::string header;      // what the header calls it, for pieces by value; empty without a header
};

// Both throw RuleError if the input has no such column, or a column is named twice. An input without columns has no
// records either: there the first gives a column that nobody reads, and the second none.
KeyColumn find_key_column(const Together& together, InputColumns columns);
std::vector<KeyColumn> find_key_columns(const ByValue& by, InputColumns columns);

// Immutable, any thread.
class KeyField {
public:
    // The dialect has no fault. With `accepts_missing` a record without the field has the empty value.
    KeyField(const Dialect& dialect, KeyColumn column, bool accepts_missing)
        : dialect_(dialect), column_(std::move(column)), accepts_missing_(accepts_missing), decoder_(dialect) {}

    std::size_t column() const { return column_.number; }
    const FieldDecoder& decoder() const { return decoder_; }

    // The field as it stands in record `record` of the block, which FieldReader has found under either Reading. An
    // empty record has an empty field. Throws InputError for another record without the field.
    Value raw(const RecordBlock& block, std::size_t record) const;

    // Its value: a view of the field, or a copy in `scratch`.
    Value value(Value raw, ValueBuffer& scratch) const {
        return decoder_.decode(raw.data, raw.data + raw.size, scratch);
    }

private:
    Dialect dialect_;
    KeyColumn column_;
    bool accepts_missing_;
    FieldDecoder decoder_;
};

// A value that is kept, to compare others with it.
class KeptValue {
public:
    // The manager is not null.
    explicit KeptValue(const std::shared_ptr<MemoryManager>& memory) : raw_(memory), value_(memory), scratch_(memory) {}

    // Throws MemoryError, as matches() may.
    void keep(const KeyField& key, Value raw) {
        copy(raw, raw_, raw_size_);
        copy(key.value(raw, scratch_), value_, value_size_);
    }

    // Whether the field has this value.
    bool matches(const KeyField& key, Value raw) {
        if (is_same(raw, raw_, raw_size_)) return true;
        if (!is_same(key.value(raw, scratch_), value_, value_size_)) return false;
        copy(raw, raw_, raw_size_);  // the next field is likely to look like this one
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

    ValueBuffer raw_;  // a field that has the value, as it stands in its record
    ValueBuffer value_;
    ValueBuffer scratch_;
    std::size_t raw_size_ = 0;
    std::size_t value_size_ = 0;
};

}  // namespace cleave
