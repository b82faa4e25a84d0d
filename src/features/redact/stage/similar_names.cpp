// Two names are similar if they have the same letters, or if one of them has a character beyond ASCII and they have the
// same shape:
//
//   decomposed = the name in compatibility decomposition (NFKD), without control and default ignorable characters,
//                with each blank replaced with a space
//   letters    = decomposed, case folded, without separators
//   shape      = decomposed, characters replaced with their twins, case folded, without separators, ASCII characters
//                that look alike replaced with one of them
//
// Letters are equal wherever NFKC and case folding make names equal, because two strings have the same NFKC if and only
// if they have the same NFKD. They match É with é, full-width letters with ordinary ones, İ with i, and a no-break
// space with a space. Shapes are skeletons in the sense of Unicode Technical Standard 39, section 4. They match a
// Cyrillic а with a Latin a. The shapes of two ASCII names are not compared, so `x1` and `xl` remain two names.
//
// Separators are blanks, `-`, `_` and `.`. Between two digits they keep numbers apart and stay: `1.5` is not `15`. A
// run of separators between digits loses its blanks; a run of blanks alone becomes one blank.
//
// A byte that is not part of valid UTF-8 stands for itself.
//
// A name of n bytes takes O(n log n) time: marks are sorted, because a name may have many of them.
#include "features/redact/stage/similar_names.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <string>
#include <string_view>
#include <vector>

#include "rows/fields/column_list.h"

namespace cleave {
namespace {

constexpr char32_t kFirstByte = 0x110000;  // stands for a stray byte 0; greater than every character

utf8proc_int32_t code_point(char32_t c) { return static_cast<utf8proc_int32_t>(c); }

std::u32string characters(std::string_view name) {
    std::u32string text;
    while (!name.empty()) {
        const auto* const bytes = reinterpret_cast<const utf8proc_uint8_t*>(name.data());
        utf8proc_int32_t character = 0;
        const utf8proc_ssize_t size = utf8proc_iterate(bytes, static_cast<utf8proc_ssize_t>(name.size()), &character);
        text += size > 0 ? static_cast<char32_t>(character) : kFirstByte + *bytes;
        name.remove_prefix(size > 0 ? static_cast<std::size_t>(size) : 1);
    }
    return text;
}

bool is_blank(char32_t c) {
    constexpr char32_t kNextLine = 0x85;
    if ((c >= '\t' && c <= '\r') || c == kNextLine) return true;
    const utf8proc_category_t category = utf8proc_category(code_point(c));
    return category == UTF8PROC_CATEGORY_ZS || category == UTF8PROC_CATEGORY_ZL || category == UTF8PROC_CATEGORY_ZP;
}

bool is_control(char32_t c) {
    const utf8proc_category_t category = utf8proc_category(code_point(c));
    return category == UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_CF;
}

bool is_decimal_digit(char32_t c) { return utf8proc_category(code_point(c)) == UTF8PROC_CATEGORY_ND; }

// Unicode's canonical order: each run of marks is sorted by combining class.
void put_marks_in_order(std::u32string& text) {
    const auto combining_class = [](char32_t c) { return utf8proc_get_property(code_point(c))->combining_class; };
    const auto is_mark = [&](char32_t c) { return combining_class(c) != 0; };
    for (auto marks = text.begin(); marks != text.end();) {
        marks = std::find_if(marks, text.end(), is_mark);
        const auto end = std::find_if_not(marks, text.end(), is_mark);
        std::ranges::stable_sort(marks, end, {}, combining_class);
        marks = end;
    }
}

// The compatibility decomposition, without default ignorable characters. `also` is an additional option for utf8proc.
std::u32string decomposed(const std::u32string& text, int also = 0) {
    // NOLINTNEXTLINE(clang-analyzer-optin.core.EnumCastOutOfRange): an enum of flags, which are combined
    const auto options = static_cast<utf8proc_option_t>(UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT | UTF8PROC_IGNORE | also);
    std::u32string result;
    for (const char32_t c : text) {
        if (c >= kFirstByte) {
            result += c;
            continue;
        }
        std::array<utf8proc_int32_t, 32> parts{};  // U+FDFA has the most, 18
        const utf8proc_ssize_t count =
            utf8proc_decompose_char(code_point(c), parts.data(), parts.size(), options, nullptr);
        assert(count >= 0 && static_cast<std::size_t>(count) <= parts.size());
        result.append(parts.begin(), parts.begin() + count);
    }
    put_marks_in_order(result);
    return result;
}

// Without the dot that an i has anyway: İ becomes an i and a dot.
std::u32string case_folded(const std::u32string& text) {
    constexpr char32_t kDotAbove = 0x307;
    std::u32string result;
    for (const char32_t c : decomposed(text, UTF8PROC_CASEFOLD)) {
        if (c != kDotAbove || !result.ends_with(U'i')) result += c;
    }
    return result;
}

std::u32string without_controls(std::u32string text) {
    std::ranges::replace_if(text, is_blank, U' ');
    std::erase_if(text, is_control);
    return text;
}

std::u32string without_separators(const std::u32string& text) {
    const auto is_separator = [](char32_t c) { return c == ' ' || c == '-' || c == '_' || c == '.'; };
    std::u32string result;
    for (auto at = text.begin(); at != text.end();) {
        const auto end = std::find_if_not(at, text.end(), is_separator);
        if (at == end) {
            result += *at++;
            continue;
        }
        if (at != text.begin() && is_decimal_digit(at[-1]) && end != text.end() && is_decimal_digit(*end)) {
            const std::size_t size = result.size();
            std::remove_copy(at, end, std::back_inserter(result), U' ');
            if (result.size() == size) result += U' ';
        }
        at = end;
    }
    return result;
}

std::u32string with_twins(const std::u32string& text) {
    std::u32string result;
    for (const char32_t c : text) {
        const std::string_view twin = twin_of(c);
        if (twin.empty()) result += c;
        result.append(twin.begin(), twin.end());
    }
    return result;
}

// Takes folded text. A capital I looks like an l and, once folded, is an i.
std::u32string with_ascii_twins(const std::u32string& text) {
    std::u32string result;
    for (const char32_t c : text) {
        switch (c) {
            case '0': result += U'o'; break;
            case '1':
            case 'i':
            case '|': result += U'l'; break;
            case 'm': result += U"rn"; break;
            default: result += c;
        }
    }
    return result;
}

std::u32string letters_of(const std::u32string& text) { return without_separators(case_folded(text)); }

std::u32string shape_of(const std::u32string& text) {
    return with_ascii_twins(without_separators(case_folded(with_twins(text))));
}

bool is_ascii(std::string_view name) {
    return std::ranges::all_of(name, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

}  // namespace

void SimilarNames::add(std::string_view name, std::size_t column) {
    const std::u32string text = decomposed(without_controls(characters(name)));
    by_letters_.emplace(letters_of(text), column);
    std::u32string shape = shape_of(text);
    if (!is_ascii(name)) by_shape_beyond_ascii_.emplace(shape, column);
    by_shape_.emplace(std::move(shape), column);
}

std::optional<std::size_t> SimilarNames::find(std::string_view name) const {
    const std::u32string text = decomposed(without_controls(characters(name)));
    const auto equal = by_letters_.find(letters_of(text));
    if (equal != by_letters_.end()) return equal->second;
    const Columns& shapes = is_ascii(name) ? by_shape_beyond_ascii_ : by_shape_;
    const auto alike = shapes.find(shape_of(text));
    if (alike != shapes.end()) return alike->second;
    return std::nullopt;
}

std::vector<const std::string*> similar_names(std::string_view name, const std::vector<std::string>& names) {
    SimilarNames typed;
    typed.add(name, 0);
    std::vector<const std::string*> similar;
    for (const std::string& other : names) {
        if (typed.find(other)) similar.push_back(&other);
    }
    return similar;
}

}  // namespace cleave
