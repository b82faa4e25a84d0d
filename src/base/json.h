// A JSON value that can be built, printed and compared. Its destructor allocates nothing, unlike those of libraries, so
// that a run may end in good order when memory has run out. Functions throw std::bad_alloc, and nothing else unless
// their comments say so.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace cleave {

// Objects are built member by member: json["key"] = value. There is no constructor from a list of members, because g++
// 12 destroys values twice if an initialiser in a nested list throws.
class Json {
public:
    using Array = std::vector<Json>;
    using Object = std::vector<std::pair<std::string, Json>>;  // in the order in which members were added

    Json() = default;  // null
    // NOLINTBEGIN(google-explicit-constructor): so that any of them can be assigned to json["key"]
    Json(std::nullptr_t) {}
    Json(bool value) : value_(value) {}
    template <std::integral Number>
    Json(Number value) {
        if (value < 0) {
            value_ = static_cast<std::int64_t>(value);
        } else {
            value_ = static_cast<std::uint64_t>(value);
        }
    }
    Json(double value) : value_(value) {}
    Json(const char* text) : value_(std::string(text)) {}
    Json(std::string_view text) : value_(std::string(text)) {}
    Json(std::string text) : value_(std::move(text)) {}
    Json(const std::vector<std::string>& texts);
    Json(Array elements) : value_(std::move(elements)) {}
    Json(Object members) : value_(std::move(members)) {}
    // NOLINTEND(google-explicit-constructor)

    bool operator==(const Json& other) const;

    // The elements or members. Null if this is not an array or not an object.
    const Array* array() const noexcept { return std::get_if<Array>(&value_); }
    const Object* object() const noexcept { return std::get_if<Object>(&value_); }

    // Null if this is not a string.
    const std::string* string() const noexcept { return std::get_if<std::string>(&value_); }
    // The number, if it is from 0 to 2^64 - 1 and was written without a fraction; otherwise nothing.
    std::optional<std::uint64_t> natural() const noexcept {
        const auto* value = std::get_if<std::uint64_t>(&value_);
        return value != nullptr ? std::optional(*value) : std::nullopt;
    }
    // Nothing if this is not a number.
    std::optional<double> number() const noexcept;

    // The member's value. Null if there is no such member or if this is not an object.
    const Json* find(std::string_view key) const noexcept;

    // The member's value. A missing member is added with the value null. For objects only, but a JSON null turns into
    // an object.
    Json& operator[](std::string_view key);
    // Adds an element. For arrays only.
    Json& add(Json element);
    // Removes the member if there is one. For objects only.
    void erase(std::string_view key);

    // The JSON text, on one line. Invalid UTF-8 in a string is replaced with U+FFFD, one for each maximal sequence that
    // begins like a character.
    std::string text() const;

private:
    void append_to(std::string& text) const;

    std::variant<std::nullptr_t, bool, std::uint64_t, std::int64_t, double, std::string, Array, Object> value_;
};

// Parses a JSON document, which may begin with a byte order mark. Returns nothing if it is not JSON, is nested more
// than 64 levels deep, or has half of a pair of surrogates or a number that a double cannot hold. If members have the
// same name, the last one counts.
std::optional<Json> parse_json(std::string_view text);

}  // namespace cleave
