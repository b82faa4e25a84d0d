// Names of pieces, made from a template.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cleave/error.h"
#include "cleave/plan.h"

namespace cleave {

// A piece's index has more digits than its names have room for.
class IndexWidthError : public ErrorOf<std::overflow_error> {
public:
    using ErrorOf::ErrorOf;
};

// The value that all records of a piece share.
struct PieceValue {
    std::string_view name;    // from value_names()
    std::uint64_t index = 1;  // which of the pieces with this value it is, from 1
};

// A template is text with fields in braces: {stem} and {ext} come from the input's name ("-" has the stem "stdin"), {i}
// is the piece's number counted from `first_index`, {n} is the number of pieces, {start} and {record} are the byte and
// the record at which the piece starts, and {value} is the name of its value or part. With {value} in the template, {i}
// counts the pieces of each value from `first_index`. A number may have a width, as in {i:05}; without one, {i} is wide
// enough for names to sort in piece order. {{ and }} stand for braces. A template that ends with a slash is a folder,
// in which the names are {stem}.{i}{ext}.
class PieceNamer {
public:
    // `count` is the number of pieces, if known. `most_of_value` is the largest number of pieces that any value has; it
    // is set if pieces have values. Throws ArgumentError for a malformed template, {n} without a count, {value}
    // without values, a NUL byte, a template that would (without a count: could) give several pieces the same name, and
    // a last index that does not fit in 64 bits.
    PieceNamer(const std::string& name_template, const std::string& input_path, std::uint64_t first_index,
               std::optional<std::uint64_t> count, std::optional<std::uint64_t> most_of_value = {});

    // Whether names depend on where a piece starts, and not on its number alone.
    bool needs_place() const { return has(Field::kStart) || has(Field::kRecord); }
    bool has_value() const { return has(Field::kValue); }
    // Whether {value} is a whole folder in the template: "out/{value}/{i}".
    bool has_value_folder() const;

    // The path of a piece. Throws ArgumentError if the piece's number is 0 or above the count, or if the
    // template contains {value} and the index within the value is 0 or above `most_of_value`. Throws
    // IndexWidthError if the index has outgrown its width, which can only happen without a count.
    std::string name(const Piece& piece, const PieceValue& value = {}) const;

    // Whether a run with this template could give a piece this path, whatever the number of pieces. False for a
    // template with {value}, which could give almost any path.
    bool could_name(std::string_view path) const;
    // The same for a template with {value}, except for values with a dot and for a template that begins with {value}.
    // The path may contain a value of the input.
    bool could_name_by_value(std::string_view path) const;

    // The directory that all names begin with, up to its slash: "out/" for "out/{i}.csv". Empty if they have none.
    std::string folder() const;
    // Two runs that could create the same file in folder() return the same pattern. For comparison only.
    std::string pattern() const;

private:
    enum class Field : std::uint8_t { kLiteral, kIndex, kCount, kStart, kRecord, kValue };
    struct Part {
        Field field;
        std::string text;  // for a literal
        unsigned width;    // for a number; 0 if the template gives none
    };

    void parse(const std::string& name_template, const std::string& input_path);
    static Part parse_field(const std::string& field, const std::string& input_path);
    static bool fits(std::span<const Part> parts, std::string_view text);
    bool has(Field field) const;
    // How many pieces {i} tells apart, if known.
    std::optional<std::uint64_t> index_count() const { return has_value() ? most_of_value_ : count_; }

    std::vector<Part> parts_;
    std::uint64_t first_index_;
    std::optional<std::uint64_t> count_;
    std::optional<std::uint64_t> most_of_value_;
};

}  // namespace cleave
