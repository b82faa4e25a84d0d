// Turns values into file names, so that no two keys get the same name.
//
// 1. A value is escaped. Letters, digits, "_", "-", "~", "." and UTF-8 characters beyond ASCII stay. Every other byte
//    becomes %XX, as in a URI. So do the control characters U+0080 to U+009F, "." and "-" at the start, which would
//    hide a file or look like an option, and "." at the end, which FAT drops. A special word stands for the empty
//    value; in a value equal to that word, the first byte is escaped. Unescaping restores the value, so two values
//    never have the same escaped form.
//
// 2. If a key has several values, they are joined by ",", which is always escaped in a value. Under `hive` they become
//    folders, "column=value/column2=value2", and steps 3 and 4 are skipped: readers take the folder's name as the
//    value.
//
// 3. A name of more than 200 bytes is replaced with its first bytes, "@", and the XXH3-64 of the whole name, at most
//    200 bytes in all. The cut splits neither a %XX nor a character.
//
// 4. Of names that are equal, or differ only in the case of ASCII letters, the first stays as it is. Later ones get
//    "@2", "@3" and so on.
//
// Values contain no "@", since it is always escaped. So a name with a number differs from every name without one, and
// two names with the same number differ by more than case before the number. A hash has 16 digits, more than the number
// of any key, so a hash and a number are never confused. Different keys with equal hashes, which someone can construct
// on purpose, are told apart in step 4.
//
// Step 4 takes 16 to 32 bytes per key while it runs. The time is linear in the bytes of the values.
#include "rows/values/value_names.h"

#define XXH_INLINE_ALL  // compiles the hash in; no library is linked
#include <xxhash.h>

#include <cstdint>
#include <unordered_map>

#include "base/equal_names.h"
#include "base/text_bytes.h"
#include "base/utf8.h"
#include "cleave/error.h"

namespace cleave {
namespace {

constexpr std::string_view kEmpty = "__EMPTY__";
constexpr std::string_view kEmptyFolder = "__HIVE_DEFAULT_PARTITION__";
constexpr std::size_t kMaxFolder = 255;  // Linux's NAME_MAX
constexpr char kMark = '@';              // before a hash or a number
constexpr std::size_t kHashDigits = 16;
constexpr std::size_t kMaxPrefix = kMaxValueName - 1 - kHashDigits;

// The size of the non-ASCII character that begins at `at`; 0 if there is none that a name may contain.
std::uint64_t wide_size(const std::uint8_t* at, const std::uint8_t* end) {
    if (*at < 0x80) return 0;
    const bool is_control = at[0] == 0xC2 && end - at > 1 && at[1] < 0xA0;
    return is_control ? 0 : utf8_size(at, end);
}

// Whether the ASCII byte may appear unescaped in a name, except perhaps at its ends.
bool is_plain(std::uint8_t byte) {
    const auto c = static_cast<char>(byte);
    return (to_lower(c) >= 'a' && to_lower(c) <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '~' ||
           c == '.';
}

void append_hex(std::string& text, std::uint64_t number, std::size_t digits, std::string_view alphabet) {
    while (digits-- > 0) text += alphabet[number >> (4 * digits) & 15U];
}

// A name that grows, and the size of its longest prefix that fits into kMaxPrefix bytes and ends between characters.
class GrowingName {
public:
    void append(char c) {
        text_ += c;
        note_end();
    }

    // `empty` stands for the empty value.
    void append_value(std::string_view value, std::string_view empty) {
        if (value.empty()) {
            text_ += empty;
            note_end();
            return;
        }
        const auto* const first = reinterpret_cast<const std::uint8_t*>(value.data());
        const auto* const end = first + value.size();
        const bool is_word = value == empty;
        for (const auto* at = first; at != end;) {
            if (const std::uint64_t size = wide_size(at, end); size != 0) {
                text_.append(value, static_cast<std::size_t>(at - first), size);
                at += size;
            } else {
                const bool is_escaped = !is_plain(*at) || (at == first && (is_word || *at == '.' || *at == '-')) ||
                                        (at + 1 == end && *at == '.');
                append_byte(*at, is_escaped);
                ++at;
            }
            note_end();
        }
    }

    void shorten() {
        if (text_.size() <= kMaxValueName) return;
        const std::uint64_t hash = XXH3_64bits(text_.data(), text_.size());
        text_.resize(prefix_);
        text_ += kMark;
        append_hex(text_, hash, kHashDigits, "0123456789abcdef");
    }

    // Valid until the next change. A copy takes no more memory than it needs.
    const std::string& text() const { return text_; }

    void clear() {
        text_.clear();
        prefix_ = 0;
    }

private:
    void append_byte(std::uint8_t byte, bool is_escaped) {
        if (is_escaped) {
            text_ += '%';
            append_hex(text_, byte, 2, "0123456789ABCDEF");
        } else {
            text_ += static_cast<char>(byte);
        }
    }

    void note_end() {
        if (text_.size() <= kMaxPrefix) prefix_ = text_.size();
    }

    std::string text_;
    std::size_t prefix_ = 0;
};

std::vector<std::string> joined_values(std::size_t count, const KeyValues& value, std::size_t columns) {
    std::vector<std::string> names;
    names.reserve(count);
    GrowingName name;
    for (std::size_t key = 0; key < count; ++key) {
        name.clear();
        for (std::size_t i = 0; i < columns; ++i) {
            if (i > 0) name.append(',');
            name.append_value(value(key, i), kEmpty);
        }
        name.shorten();
        names.push_back(name.text());
    }
    return names;
}

// "column=" of each column.
std::vector<std::string> folder_starts(const std::vector<std::string>& columns) {
    std::vector<std::string> starts;
    for (const std::string& column : columns) {
        if (column.empty()) throw ArgumentError("a column without a name cannot be the name of a folder");
        GrowingName name;
        name.append_value(column, "");
        name.append('=');
        starts.push_back(name.text());
    }
    return starts;
}

std::string too_long(const std::string& start, std::size_t size) {
    return "the folder '" + start + "...' of a value needs a name of " + std::to_string(size) + " bytes, and at most " +
           std::to_string(kMaxFolder) + " are possible";
}

std::vector<std::string> folders(std::size_t count, const KeyValues& value, const std::vector<std::string>& columns) {
    const std::vector<std::string> starts = folder_starts(columns);
    std::vector<std::string> paths;
    paths.reserve(count);
    GrowingName name;
    std::string path;
    for (std::size_t key = 0; key < count; ++key) {
        path.clear();
        for (std::size_t i = 0; i < starts.size(); ++i) {
            name.clear();
            name.append_value(value(key, i), kEmptyFolder);
            const std::size_t size = starts[i].size() + name.text().size();
            if (size > kMaxFolder) throw ValueNameError(key, too_long(starts[i], size));
            path.append(i > 0 ? 1 : 0, '/').append(starts[i]).append(name.text());
        }
        paths.push_back(path);
    }
    return paths;
}

void number_equal_names(std::vector<std::string>& names) {
    EqualNames found(names.size(), EqualNames::Case::kIsIgnored);
    const auto name_at = [&](std::size_t i) -> std::string_view { return names[i]; };
    // Maps the position of the first of several names that are equal apart from case to their number so far.
    std::unordered_map<std::size_t, std::size_t> counts;
    for (std::size_t i = 0; i < names.size(); ++i) {
        const std::size_t first = found.add(i, name_at);
        if (first == i) continue;
        const std::size_t number = ++counts.try_emplace(first, 1).first->second;
        names[i].append(1, kMark).append(std::to_string(number));
    }
}

}  // namespace

std::vector<std::string> value_names(std::size_t count, const KeyValues& value, const ValueNameOptions& options) {
    if (options.columns.empty()) throw ArgumentError("names of values need a column");
    if (options.hive) return folders(count, value, options.columns);
    std::vector<std::string> names = joined_values(count, value, options.columns.size());
    number_equal_names(names);
    return names;
}

}  // namespace cleave
