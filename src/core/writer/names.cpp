#include "cleave/names.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "cleave/compression.h"
#include "cleave/error.h"

namespace cleave {
namespace {

// The width of {i} if the number of pieces is unknown. Names sort correctly for up to a million pieces; for more, an
// error says which width to give.
constexpr unsigned kIndexWidthOfStreams = 6;

constexpr std::size_t kMostDigits = 20;  // of 2^64

unsigned digits(std::uint64_t number) { return static_cast<unsigned>(std::to_string(number).size()); }

// In decimal, padded with zeros to the width.
std::string padded(std::uint64_t number, unsigned width) {
    const std::string text = std::to_string(number);
    return text.size() < width ? std::string(width - text.size(), '0') + text : text;
}

// "orders" and ".csv" for "in/orders.csv" and for "in/orders.csv.gz".
struct StemAndExtension {
    std::string stem, extension;
};

StemAndExtension split_name(const std::string& path) {
    if (path == "-") return {"stdin", ""};
    const std::string name(without_compression_suffix(path.substr(path.rfind('/') + 1)));  // npos + 1 is 0
    const std::size_t dot = name.rfind('.');
    if (dot == std::string::npos || dot == 0) return {name, ""};
    return {name.substr(0, dot), name.substr(dot)};
}

unsigned parse_width(const std::string& text, const std::string& field) {
    unsigned width = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), width);
    if (error != std::errc() || end != text.data() + text.size() || width == 0 || width > kMostDigits) {
        throw ArgumentError("'{" + field + "}' in the output template: write a width as in {i:04}");
    }
    return width;
}

// `has_value`: the template contains {value}. `may_have`: it is allowed to.
[[noreturn]] void refuse_same_names(const std::string& name_template, bool has_value, bool may_have) {
    std::string text = "the output template gives every piece ";
    text += has_value ? "of a value the same name" : "the same name";
    text += may_have && !has_value ? "; put {value} or {i} into it" : "; put {i} into it";
    const bool may_be_folder = name_template.find('{') == std::string::npos;
    if (may_be_folder) text += ", or a slash at its end if it is a folder";
    throw ArgumentError(text);
}

}  // namespace

PieceNamer::PieceNamer(const std::string& name_template, const std::string& input_path, std::uint64_t first_index,
                       std::optional<std::uint64_t> count, std::optional<std::uint64_t> most_of_value)
    : first_index_(first_index), count_(count), most_of_value_(most_of_value) {
    parse(name_template.ends_with('/') ? name_template + "{stem}.{i}{ext}" : name_template, input_path);
    for (const Part& part : parts_) {
        if (part.text.find('\0') != std::string::npos) throw ArgumentError("a NUL byte in the output template");
    }
    if (!count && has(Field::kCount)) {
        throw ArgumentError("{n} in the output template: the number of pieces of a stream is not known");
    }
    if (has_value() && !most_of_value) {
        throw ArgumentError("{value} in the output template: these pieces have no value of their own");
    }
    const std::optional<std::uint64_t> indices = index_count();
    const bool one_name = !has(Field::kIndex) && !has(Field::kStart) && !has(Field::kRecord);
    if (one_name && indices.value_or(2) > 1) {
        refuse_same_names(name_template, has_value(), most_of_value.has_value());
    }
    std::uint64_t end_index = 0;
    if (__builtin_add_overflow(first_index, std::max<std::uint64_t>(indices.value_or(1), 1), &end_index)) {
        throw ArgumentError("the index of the last piece is too large; use a smaller --first-index");
    }
    for (Part& part : parts_) {
        if (part.field != Field::kIndex) continue;
        const unsigned needed = indices ? digits(end_index - 1) : 0;
        if (part.width == 0 && !indices) part.width = kIndexWidthOfStreams;
        part.width = std::max(part.width, needed);
    }
}

std::string PieceNamer::name(const Piece& piece, const PieceValue& value) const {
    if (piece.number == 0 || piece.number > count_.value_or(UINT64_MAX)) {
        throw ArgumentError("there is no piece " + std::to_string(piece.number) + " to name");
    }
    const std::uint64_t number = has_value() ? value.index : piece.number;
    if (has_value() && (value.name.empty() || number == 0 || number > *most_of_value_)) {
        throw ArgumentError("there is no piece " + std::to_string(number) + " of a value to name");
    }
    std::string name;
    for (const Part& part : parts_) {
        switch (part.field) {
            case Field::kLiteral: name += part.text; break;
            case Field::kIndex: {
                const std::uint64_t index = first_index_ + number - 1;
                if (digits(index) > part.width) {
                    throw IndexWidthError("piece " + std::to_string(number) +
                                          " needs more digits than {i} has; use {i:0" + std::to_string(part.width + 3) +
                                          "}");
                }
                name += padded(index, part.width);
                break;
            }
            case Field::kCount: name += padded(*count_, part.width); break;
            case Field::kStart: name += padded(piece.start, part.width); break;
            case Field::kRecord: name += padded(piece.first_record, part.width); break;
            case Field::kValue: name += value.name; break;
        }
    }
    return name;
}

bool PieceNamer::could_name(std::string_view path) const { return !has_value() && fits(parts_, path); }

// A name that begins with {value} would fit nearly every file.
bool PieceNamer::could_name_by_value(std::string_view path) const {
    return has_value() && parts_.front().text.size() > folder().size() && fits(parts_, path);
}

// A number may have any width, because the width of {i} depends on how many pieces there were. A value has no dot here,
// although it could.
bool PieceNamer::fits(std::span<const Part> parts, std::string_view text) {
    if (parts.empty()) return text.empty();
    const Part& part = parts.front();
    if (part.field == Field::kLiteral) {
        return text.starts_with(part.text) && fits(parts.subspan(1), text.substr(part.text.size()));
    }
    const std::size_t most = part.field == Field::kValue
                                 ? std::min(text.find_first_of("./"), text.size())
                                 : std::min({text.find_first_not_of("0123456789"), text.size(), kMostDigits});
    for (std::size_t size = 1; size <= most; ++size) {
        if (fits(parts.subspan(1), text.substr(size))) return true;
    }
    return false;
}

bool PieceNamer::has_value_folder() const {
    const auto value = std::ranges::find(parts_, Field::kValue, &Part::field);
    if (value == parts_.end() || value + 1 == parts_.end()) return false;
    const bool begins = value == parts_.begin() || (value - 1)->text.ends_with('/');
    return begins && (value + 1)->text.starts_with('/');
}

std::string PieceNamer::folder() const {
    if (parts_.empty() || parts_.front().field != Field::kLiteral) return "";
    const std::string& text = parts_.front().text;
    return text.substr(0, text.rfind('/') + 1);
}

std::string PieceNamer::pattern() const {
    std::string pattern;
    for (const Part& part : parts_) {
        pattern += part.text;
        if (part.field != Field::kLiteral) pattern.append(1, '{').append(std::to_string(static_cast<int>(part.field)));
    }
    return pattern.substr(folder().size()) + ' ' + std::to_string(first_index_);
}

void PieceNamer::parse(const std::string& name_template, const std::string& input_path) {
    std::string literal;
    const auto end_literal = [&] {
        if (!literal.empty()) parts_.push_back({Field::kLiteral, std::exchange(literal, {}), 0});
    };
    for (std::size_t i = 0; i < name_template.size(); ++i) {
        const char c = name_template[i];
        if ((c == '{' || c == '}') && i + 1 < name_template.size() && name_template[i + 1] == c) {
            literal += c;
            ++i;
        } else if (c == '{') {
            const std::size_t close = name_template.find('}', i);
            if (close == std::string::npos) throw ArgumentError("unclosed { in the output template");
            Part part = parse_field(name_template.substr(i + 1, close - i - 1), input_path);
            if (part.field == Field::kLiteral) {
                literal += part.text;
            } else {
                end_literal();
                parts_.push_back(std::move(part));
            }
            i = close;
        } else if (c == '}') {
            throw ArgumentError("} without { in the output template");
        } else {
            literal += c;
        }
    }
    end_literal();
}

PieceNamer::Part PieceNamer::parse_field(const std::string& field, const std::string& input_path) {
    if (field == "stem") return {Field::kLiteral, split_name(input_path).stem, 0};
    if (field == "ext") return {Field::kLiteral, split_name(input_path).extension, 0};
    if (field == "value") return {Field::kValue, "", 0};
    struct Row {
        const char* name;
        Field field;
    };
    static constexpr Row kNumbers[] = {
        {"i", Field::kIndex}, {"n", Field::kCount}, {"start", Field::kStart}, {"record", Field::kRecord}};
    const std::size_t colon = field.find(':');
    for (const Row& row : kNumbers) {
        if (field.substr(0, colon) != row.name) continue;
        const unsigned width = colon == std::string::npos ? 0 : parse_width(field.substr(colon + 1), field);
        return {row.field, "", width};
    }
    throw ArgumentError("unknown field '{" + field +
                        "}' in the output template; there are {stem}, {ext}, {i}, {n}, {value}, {start} and {record}");
}

bool PieceNamer::has(Field field) const { return std::ranges::find(parts_, field, &Part::field) != parts_.end(); }

}  // namespace cleave
