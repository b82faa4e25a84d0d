// A JSON value: can be built, printed and compared. nlohmann's library parses texts and writes scalars. Arrays and
// objects are kept here, because those of nlohmann allocate memory in their destructors; that ends the process if there
// is no memory. Functions throw std::bad_alloc, and nothing else unless they say so.
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

// An object is made member by member: json["key"] = value. There is no constructor from a list of members: where an
// initializer in a nested list throws, g++ 12 destroys values twice.
class Json {
public:
    using Array = std::vector<Json>;
    using Object = std::vector<std::pair<std::string, Json>>;  // in the order in which the members were added

    Json() = default;  // null
    // NOLINTBEGIN(google-explicit-constructor): so that json["key"] takes any of them
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

    // Null if it is not an array, or not an object.
    const Array* array() const noexcept { return std::get_if<Array>(&value_); }
    const Object* object() const noexcept { return std::get_if<Object>(&value_); }

    // Null if it is not a string.
    const std::string* string() const noexcept { return std::get_if<std::string>(&value_); }
    // Nothing if it is not a number from 0 to 2^64 - 1 that is written without a fraction.
    std::optional<std::uint64_t> natural() const noexcept {
        const auto* value = std::get_if<std::uint64_t>(&value_);
        return value != nullptr ? std::optional(*value) : std::nullopt;
    }
    // Nothing if it is not a number.
    std::optional<double> number() const noexcept;

    // The member's value; null if it has no such member, or is not an object.
    const Json* find(std::string_view key) const noexcept;

    // The member's value, which is null in JSON's sense if the member is new. For objects; null becomes an object.
    Json& operator[](std::string_view key);
    // Adds an element. For arrays only.
    Json& add(Json element);
    // Removes the member if there is one. For objects only.
    void erase(std::string_view key);

    // On one line. A string's bytes that are not UTF-8 become U+FFFD, one for each longest beginning of a character.
    std::string text() const;

private:
    void append_to(std::string& text) const;

    std::variant<std::nullptr_t, bool, std::uint64_t, std::int64_t, double, std::string, Array, Object> value_;
};

// The value of a JSON text; nothing if the text is not JSON, or is nested more than 64 deep. Of members with the same
// name the last one counts.
std::optional<Json> parse_json(std::string_view text);

}  // namespace cleave
