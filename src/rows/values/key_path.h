// What stands in for a column in JSON Lines: a path.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "cleave/fields.h"
#include "rows/fields/rule_scanner.h"
#include "rows/fields/value.h"

namespace cleave {

// Immutable, so it can be used from any thread.
class KeyPath {
public:
    KeyPath() = default;
    KeyPath(const KeyPath&) = delete;
    KeyPath& operator=(const KeyPath&) = delete;
    virtual ~KeyPath() = default;

    virtual bool is_same(const KeyPath& other) const = 0;
    // What stands for the name of a column, such as user.country.
    virtual std::string header() const = 0;

    // Returns the bytes of the value in record `record` of the block, as they are there; none for the empty value.
    // `name` is the path, for messages. Throws InputError if the record has a fault, or a value that is no key.
    virtual Value raw(const std::string& name, const RecordBlock& block, std::size_t record) const = 0;
    // As FieldDecoder::view() and write(), for what raw() returns.
    virtual bool view(Value raw, Value& value) const = 0;
    virtual std::uint64_t write(Value raw, std::uint8_t* out) const = 0;
};

// Takes a path. Throws RuleError.
std::shared_ptr<const KeyPath> parse_key_path(RuleScanner& scanner);

}  // namespace cleave
