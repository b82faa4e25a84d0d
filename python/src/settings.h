// The names of the values that options have, how to read an input, and policies, for Python.
#pragma once

#include <nanobind/nanobind.h>

#include <array>
#include <string>
#include <utility>

#include "cleave/dialect.h"
#include "cleave/error.h"

namespace cleave::python {

// The values of an option, with their names.
template <class Value, std::size_t kCount>
using Names = std::array<std::pair<const char*, Value>, kCount>;

inline constexpr Names<Quoting, 2> kQuotings{{{"field-start", Quoting::kFieldStart}, {"anywhere", Quoting::kAnywhere}}};
inline constexpr Names<EscapeScope, 2> kScopes{
    {{"everywhere", EscapeScope::kEverywhere}, {"quoted", EscapeScope::kQuoted}}};
inline constexpr Names<HeaderRecord, 3> kHeaders{{{"first-not-empty", HeaderRecord::kFirstNotEmpty},
                                                  {"first", HeaderRecord::kFirst},
                                                  {"none", HeaderRecord::kNone}}};
inline constexpr Names<Terminator, 3> kTerminators{
    {{"lf", Terminator::kLf}, {"cr", Terminator::kCr}, {"any", Terminator::kAny}}};

// The value with that name. Throws ArgumentError, which lists the names, if there is none.
template <class Value, std::size_t kCount>
Value value_of(const Names<Value, kCount>& table, const char* option, const std::string& name) {
    std::string names;
    for (const auto& [known, value] : table) {
        if (name == known) return value;
        names += std::string(names.empty() ? "" : ", ") + known;
    }
    throw ArgumentError(std::string(option) + ": '" + name + "' is not one of " + names);
}

template <class Value, std::size_t kCount>
const char* name_in(const Names<Value, kCount>& table, Value value) {
    for (const auto& [name, known] : table) {
        if (known == value) return name;
    }
    return "";
}

inline std::string text_of(const nanobind::bytes& bytes) { return {bytes.c_str(), bytes.size()}; }

// Adds the class Policy to the module.
void add_policies(nanobind::module_& module);

// Adds the class Settings to the module.
void add_settings(nanobind::module_& module);

}  // namespace cleave::python
