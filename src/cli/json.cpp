#include "cli/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

namespace cleave::cli {
namespace {

constexpr std::size_t kMostDepth = 64;

// How many bytes at the start of `text` are a character of UTF-8, or the longest beginning of one; at least 1. Unicode
// 15, table 3-7.
struct Utf8Prefix {
    std::size_t size = 1;
    bool is_character = false;
};

Utf8Prefix utf8_prefix(std::string_view text) {
    struct Form {
        unsigned char first, last;  // of the first byte
        unsigned char second_first, second_last;
        std::size_t size;
    };
    static constexpr std::array<Form, 9> kForms = {{{0x00, 0x7F, 0x00, 0x00, 1},
                                                    {0xC2, 0xDF, 0x80, 0xBF, 2},
                                                    {0xE0, 0xE0, 0xA0, 0xBF, 3},
                                                    {0xE1, 0xEC, 0x80, 0xBF, 3},
                                                    {0xED, 0xED, 0x80, 0x9F, 3},
                                                    {0xEE, 0xEF, 0x80, 0xBF, 3},
                                                    {0xF0, 0xF0, 0x90, 0xBF, 4},
                                                    {0xF1, 0xF3, 0x80, 0xBF, 4},
                                                    {0xF4, 0xF4, 0x80, 0x8F, 4}}};
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const auto* form = std::ranges::find_if(
        kForms, [&](const Form& candidate) { return candidate.first <= byte(0) && byte(0) <= candidate.last; });
    if (form == kForms.end()) return {};
    std::size_t size = 1;
    for (; size < form->size && size < text.size(); ++size) {
        const bool is_second = size == 1;
        if (byte(size) < (is_second ? form->second_first : 0x80) ||
            byte(size) > (is_second ? form->second_last : 0xBF)) {
            break;
        }
    }
    return {size, size == form->size};
}

void append_ascii(std::string& text, char character) {
    switch (character) {
        case '"': text += "\\\""; return;
        case '\\': text += "\\\\"; return;
        case '\b': text += "\\b"; return;
        case '\f': text += "\\f"; return;
        case '\n': text += "\\n"; return;
        case '\r': text += "\\r"; return;
        case '\t': text += "\\t"; return;
        default: break;
    }
    if (static_cast<unsigned char>(character) < ' ') {
        text += fmt::format("\\u{:04x}", static_cast<unsigned>(character));
    } else {
        text += character;
    }
}

void append_string(std::string& text, std::string_view value) {
    text += '"';
    while (!value.empty()) {
        const Utf8Prefix prefix = utf8_prefix(value);
        if (!prefix.is_character) {
            text += "\xEF\xBF\xBD";
        } else if (prefix.size == 1) {
            append_ascii(text, value.front());
        } else {
            text += value.substr(0, prefix.size);
        }
        value.remove_prefix(prefix.size);
    }
    text += '"';
}

// Builds the value from what nlohmann's parser reports; that parser itself builds nothing then. A member that returns
// false ends the parse.
class Builder : public nlohmann::json_sax<nlohmann::json> {
public:
    Json take() { return std::move(root_); }

    bool null() override { return put(nullptr); }
    bool boolean(bool value) override { return put(value); }
    bool number_integer(std::int64_t value) override { return put(value); }
    bool number_unsigned(std::uint64_t value) override { return put(value); }
    bool number_float(double value, const std::string& /*text*/) override { return put(value); }
    bool string(std::string& value) override { return put(std::move(value)); }
    bool binary(nlohmann::json::binary_t& /*value*/) override { return false; }  // not in texts
    bool start_object(std::size_t /*size*/) override { return open(Json::Object()); }
    bool end_object() override { return close(); }
    bool start_array(std::size_t /*size*/) override { return open(Json::Array()); }
    bool end_array() override { return close(); }
    bool key(std::string& key) override {
        member_ = &(*open_.back())[key];
        return true;
    }
    bool parse_error(std::size_t /*at*/, const std::string& /*token*/,
                     const nlohmann::json::exception& /*error*/) override {
        return false;
    }

private:
    // The place of the next value. It stays valid while values inside it are put: nothing beside it is added meanwhile.
    Json& place(Json value) {
        if (open_.empty()) return root_ = std::move(value);
        if (open_.back()->array() != nullptr) return open_.back()->add(std::move(value));
        return *member_ = std::move(value);
    }

    bool put(Json value) {
        place(std::move(value));
        return true;
    }

    bool open(Json value) {
        if (open_.size() == kMostDepth) return false;
        open_.push_back(&place(std::move(value)));
        return true;
    }

    bool close() {
        open_.pop_back();
        return true;
    }

    Json root_;
    std::vector<Json*> open_;  // arrays and objects, the outermost first
    Json* member_ = nullptr;   // of the innermost object
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
    struct Appender {
        std::string& text;

        void operator()(std::nullptr_t) const { text += "null"; }
        void operator()(bool value) const { text += value ? "true" : "false"; }
        void operator()(std::uint64_t value) const { text += fmt::format_int(value).c_str(); }
        void operator()(std::int64_t value) const { text += fmt::format_int(value).c_str(); }
        void operator()(double value) const { text += fmt::format("{}", value); }
        void operator()(const std::string& value) const { append_string(text, value); }
        void operator()(const Array& elements) const {
            text += '[';
            for (const Json& element : elements) {
                if (&element != elements.data()) text += ',';
                element.append_to(text);
            }
            text += ']';
        }
        void operator()(const Object& members) const {
            text += '{';
            for (const auto& [key, value] : members) {
                if (&key != &members.front().first) text += ',';
                append_string(text, key);
                text += ':';
                value.append_to(text);
            }
            text += '}';
        }
    };
    std::visit(Appender{text}, value_);
}

std::optional<Json> parse_json(std::string_view text) {
    Builder builder;
    if (!nlohmann::json::sax_parse(text, &builder)) return std::nullopt;
    return builder.take();
}

}  // namespace cleave::cli
