#include "base/json.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <system_error>
#include <tuple>
#include <utility>

#include "base/json_scan.h"
#include "base/json_string.h"
#include "base/text_bytes.h"
#include "base/utf8.h"

namespace cleave {
namespace {

constexpr std::size_t kMostDepth = 64;

// A text between quotes. Bytes that are not UTF-8 become U+FFFD: one for each longest sequence that begins like a
// character (the Unicode standard, section 3.9, "maximal subparts").
void append_string(std::string& out, std::string_view string) {
    std::string mended;
    std::optional<std::uint64_t> size = escaped_size(bytes_of(string));
    if (!size) {
        const auto* at = reinterpret_cast<const std::uint8_t*>(string.data());
        for (const auto* const end = at + string.size(); at != end;) {
            const std::uint64_t taken = utf8_size(at, end);
            const auto* const text = reinterpret_cast<const char*>(at);
            mended += taken > 0 ? std::string_view(text, taken) : std::string_view("\xEF\xBF\xBD");
            at += taken > 0 ? taken : utf8_start_size(at, end);
        }
        string = mended;
        size = escaped_size(bytes_of(string));
    }
    const std::size_t begin = out.size();
    out.resize(begin + *size + 2, '"');
    write_escaped(bytes_of(string), reinterpret_cast<std::uint8_t*>(out.data()) + begin + 1);
}

template <std::integral Number>
void append_number(std::string& out, Number number) {
    std::array<char, 32> digits{};
    out.append(digits.data(), std::to_chars(digits.begin(), digits.end(), number).ptr);
}

// With what the C library writes and reads in place of a decimal point: programs that use this one's code may have set
// another locale. The functions of <charconv> do not depend on it, but for doubles they bring libm, whose relocation
// would take 6 % of the instructions of a short run.
std::string with_point(std::string_view number, bool is_of_locale) {
    std::array<char, 8> half{};
    std::ignore = std::snprintf(half.data(), half.size(), "%.1f", 0.5);
    std::string_view in_locale(half.data() + 1);
    in_locale.remove_suffix(1);
    const std::string_view from = is_of_locale ? in_locale : ".";
    std::string text(number);
    const std::size_t at = text.find(from);
    return at == std::string::npos ? text : text.replace(at, from.size(), is_of_locale ? "." : in_locale);
}

// The fewest digits that stand for the number, with a fraction or an exponent, so that it is read as a double again.
void append_double(std::string& out, double number) {
    if (!std::isfinite(number)) {
        out += "null";
        return;
    }
    std::array<char, 32> digits{};
    for (int count = 15; count <= 17; ++count) {
        std::ignore = std::snprintf(digits.data(), digits.size(), "%.*g", count, number);
        if (std::strtod(digits.data(), nullptr) == number) break;
    }
    const std::string text = with_point(digits.data(), true);
    out += text;
    if (text.find_first_of(".e") == std::string::npos) out += ".0";
}

// If members have the same name, keeps the value of the last one in the position of the first. The names are sorted,
// because searching the earlier members for each name could take hours on an object that was crafted for that purpose.
void merge_equal_names(Json::Object& members) {
    std::vector<std::size_t> order(members.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::sort(order, {},
                      [&](std::size_t i) { return std::pair<std::string_view, std::size_t>(members[i].first, i); });
    std::vector<std::size_t> extra;
    for (std::size_t i = 1, first = 0; i < order.size(); ++i) {
        if (members[order[i]].first != members[order[first]].first) {
            first = i;
            continue;
        }
        members[order[first]].second = std::move(members[order[i]].second);
        extra.push_back(order[i]);
    }
    if (extra.empty()) return;
    std::ranges::sort(extra);
    std::size_t place = 0;
    std::erase_if(members, [&, next = extra.begin()](const auto&) mutable {
        if (next == extra.end() || *next != place++) return false;
        ++next;
        return true;
    });
}

// Builds the value from what the scan finds.
class Builder {
public:
    // Nothing if the text has a value that a Json cannot hold.
    std::optional<Json> take() {
        close_to(0);
        return fits_ ? std::optional(std::move(root_)) : std::nullopt;
    }

    void key(std::size_t level, JsonBytes string) {
        close_to(level);
        if (!open_.empty()) open_.back().key = text_of(string);
    }
    void element(std::size_t level, std::uint64_t /*index*/) { close_to(level); }
    void value(std::size_t level, JsonKind kind, JsonBytes bytes) {
        if (level >= kMostDepth) fits_ = false;
        if (!fits_) return;
        switch (kind) {
            case JsonKind::kNull: return put(nullptr);
            case JsonKind::kTrue: return put(true);
            case JsonKind::kFalse: return put(false);
            case JsonKind::kString: return put(text_of(bytes));
            case JsonKind::kNumber: return put(number_of({reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
            case JsonKind::kObject:
            case JsonKind::kArray: open_.push_back({kind == JsonKind::kObject, {}, {}, {}});
        }
    }

private:
    // An unfinished array or object.
    struct Open {
        bool is_object;
        std::string key;  // of the next member
        Json::Object members;
        Json::Array elements;
    };

    // What a string stands for, given with its quotes.
    std::string text_of(JsonBytes string) {
        std::string text(string.size() - 2, '\0');
        auto* const out = reinterpret_cast<std::uint8_t*>(text.data());
        text.resize(write_json_text(&string.front() + 1, &string.back(), out));
        for (const std::uint8_t *at = out, *end = out + text.size(); at != end; at += utf8_size(at, end)) {
            if (utf8_size(at, end) > 0) continue;
            fits_ = false;  // half of a pair of surrogates
            break;
        }
        return text;
    }

    template <std::integral Number>
    static std::optional<Number> integer_of(std::string_view text) {
        Number number{};
        const auto [end, error] = std::from_chars(text.begin(), text.end(), number);
        return error == std::errc() && end == text.end() ? std::optional(number) : std::nullopt;
    }

    // An integer, if it is one and fits in 64 bits, otherwise a double, if it fits in that.
    Json number_of(std::string_view text) {
        if (const auto natural = integer_of<std::uint64_t>(text)) return *natural;
        if (const auto integer = integer_of<std::int64_t>(text)) return *integer;
        const double real = std::strtod(with_point(text, false).c_str(), nullptr);
        if (!std::isfinite(real)) fits_ = false;
        return real;
    }

    void put(Json value) {
        if (open_.empty()) {
            root_ = std::move(value);
        } else if (open_.back().is_object) {
            open_.back().members.emplace_back(std::move(open_.back().key), std::move(value));
        } else {
            open_.back().elements.push_back(std::move(value));
        }
    }

    // Closes what the scan has left: it tells only what opens.
    void close_to(std::size_t level) {
        while (fits_ && open_.size() > level) {
            Open done = std::move(open_.back());
            open_.pop_back();
            if (done.is_object) merge_equal_names(done.members);
            put(done.is_object ? Json(std::move(done.members)) : Json(std::move(done.elements)));
        }
    }

    bool fits_ = true;
    Json root_;
    std::vector<Open> open_;  // outermost first
};

}  // namespace

Json::Json(const std::vector<std::string>& texts) : value_(Array(texts.begin(), texts.end())) {}

bool Json::operator==(const Json& other) const { return value_ == other.value_; }

const Json* Json::find(std::string_view key) const noexcept {
    const Object* members = object();
    if (members == nullptr) return nullptr;
    const auto found = std::ranges::find(*members, key, &Object::value_type::first);
    return found != members->end() ? &found->second : nullptr;
}

std::optional<double> Json::number() const noexcept {
    if (const auto* natural = std::get_if<std::uint64_t>(&value_)) return static_cast<double>(*natural);
    if (const auto* integer = std::get_if<std::int64_t>(&value_)) return static_cast<double>(*integer);
    if (const auto* real = std::get_if<double>(&value_)) return *real;
    return std::nullopt;
}

Json& Json::operator[](std::string_view key) {
    if (std::holds_alternative<std::nullptr_t>(value_)) value_ = Object();
    auto& members = std::get<Object>(value_);
    const auto found = std::ranges::find(members, key, &Object::value_type::first);
    return found != members.end() ? found->second : members.emplace_back(key, nullptr).second;
}

Json& Json::add(Json element) { return std::get<Array>(value_).emplace_back(std::move(element)); }

void Json::erase(std::string_view key) {
    std::erase_if(std::get<Object>(value_), [&](const auto& member) { return member.first == key; });
}

std::string Json::text() const {
    std::string text;
    append_to(text);
    return text;
}

void Json::append_to(std::string& text) const {
    struct Printer {
        std::string& out;

        void operator()(std::nullptr_t) const { out += "null"; }
        void operator()(bool value) const { out += value ? "true" : "false"; }
        void operator()(std::uint64_t value) const { append_number(out, value); }
        void operator()(std::int64_t value) const { append_number(out, value); }
        void operator()(double value) const { append_double(out, value); }
        void operator()(const std::string& value) const { append_string(out, value); }
        void operator()(const Array& elements) const {
            out += '[';
            for (const Json& element : elements) {
                if (&element != elements.data()) out += ',';
                element.append_to(out);
            }
            out += ']';
        }
        void operator()(const Object& members) const {
            out += '{';
            for (const auto& member : members) {
                if (&member != members.data()) out += ',';
                append_string(out, member.first);
                out += ':';
                member.second.append_to(out);
            }
            out += '}';
        }
    };
    std::visit(Printer{text}, value_);
}

std::optional<Json> parse_json(std::string_view text) {
    if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
    const auto* const begin = reinterpret_cast<const std::uint8_t*>(text.data());
    Builder builder;
    if (scan_json(begin, begin + text.size(), builder)) return std::nullopt;
    return builder.take();
}

}  // namespace cleave
