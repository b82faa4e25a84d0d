// Names of pieces by value: what {value} stands for in a template.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cleave/error.h"

namespace cleave {

struct ValueNameOptions {
    // Names are folders, "column=value/column2=value2", which programs that know Hive partitions can read back.
    bool hive = false;
    std::vector<std::string> columns;  // the names of the columns of the keys; at least one
};

// The value of key `key` in column `column`, both from 0. Views stay valid until value_names() returns.
using KeyValues = std::function<std::string_view(std::size_t key, std::size_t column)>;

// Under `hive`, a key cannot have a name, because a folder's name would be longer than file systems allow.
class ValueNameError : public ArgumentError {
public:
    ValueNameError(std::size_t key, const std::string& what) : ArgumentError(what), key_(key) {}
    std::size_t key() const noexcept { return key_; }

private:
    std::size_t key_;
};

// The most bytes in a name without `hive`, not counting the "@" and the number that are appended if names would differ
// at most in case.
constexpr std::size_t kMaxValueName = 200;

// The names of `count` distinct keys, in the order of their first records.
//
// No two names are equal. Without `hive`, they also differ on a file system that ignores the case of ASCII letters.
// Under `hive` they may not, because each name depends only on its key.
//
// A name is never empty, is valid UTF-8 without control characters, does not begin with "." or "-", and does not end
// with "."; the same holds for each folder under `hive`. Without `hive` there is no slash.
// src/rows/values/value_names.cpp describes the form of names.
//
// Throws ValueNameError. Throws ArgumentError if there is no column, or under `hive` one without a name. No
// message shows a value.
std::vector<std::string> value_names(std::size_t count, const KeyValues& value, const ValueNameOptions& options);

}  // namespace cleave
