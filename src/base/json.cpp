#include "base/json.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

namespace cleave {
namespace {

constexpr std::size_t kMostDepth = 64;

// A scalar as nlohmann writes it. The destructor of a scalar allocates no memory, unlike the destructor of an array or
// object.
std::string scalar_text(const nlohmann::json& scalar) {
    return scalar.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
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

// Builds the value from the events that nlohmann's parser reports; the parser itself builds nothing. A function that
// returns false ends the parse.
class Builder : public nlohmann::json_sax<nlohmann::json> {
public:
    Json take() { return std::move(root_); }

    bool null() override { return put(nullptr); }
    bool boolean(bool value) override { return put(value); }
    bool number_integer(std::int64_t value) override { return put(value); }
    bool number_unsigned(std::uint64_t value) override { return put(value); }
    bool number_float(double value, const std::string& /*text*/) override { return put(value); }
    bool string(std::string& value) override { return put(std::move(value)); }
    bool binary(nlohmann::json::binary_t& /*value*/) override { return false; }  // occurs only in binary formats
    bool start_object(std::size_t /*size*/) override { return open(true); }
    bool end_object() override { return close(); }
    bool start_array(std::size_t /*size*/) override { return open(false); }
    bool end_array() override { return close(); }
    bool key(std::string& key) override {
        open_.back().key = std::move(key);
        return true;
    }
    bool parse_error(std::size_t /*at*/, const std::string& /*token*/,
                     const nlohmann::json::exception& /*error*/) override {
        return false;
    }

private:
    // An unfinished array or object.
    struct Open {
        bool is_object;
        std::string key;  // of the next member
        Json::Object members;
        Json::Array elements;
    };

    bool put(Json value) {
        if (open_.empty()) {
            root_ = std::move(value);
        } else if (open_.back().is_object) {
            open_.back().members.emplace_back(std::move(open_.back().key), std::move(value));
        } else {
            open_.back().elements.push_back(std::move(value));
        }
        return true;
    }

    bool open(bool is_object) {
        if (open_.size() == kMostDepth) return false;
        open_.push_back({is_object, {}, {}, {}});
        return true;
    }

    bool close() {
        Open done = std::move(open_.back());
        open_.pop_back();
        if (!done.is_object) return put(std::move(done.elements));
        merge_equal_names(done.members);
        return put(std::move(done.members));
    }

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
    char separator = '[';
    if (const Array* elements = array()) {
        for (const Json& element : *elements) {
            text += std::exchange(separator, ',');
            element.append_to(text);
        }
        text += elements->empty() ? "[]" : "]";
    } else if (const Object* members = object()) {
        separator = '{';
        for (const auto& [key, value] : *members) {
            text += std::exchange(separator, ',') + scalar_text(key) + ':';
            value.append_to(text);
        }
        text += members->empty() ? "{}" : "}";
    } else {
        std::visit(
            [&text]<class Value>(const Value& value) {
                if constexpr (!std::is_same_v<Value, Array> && !std::is_same_v<Value, Object>)
                    text += scalar_text(value);
            },
            value_);
    }
}

std::optional<Json> parse_json(std::string_view text) {
    Builder builder;
    if (!nlohmann::json::sax_parse(text, &builder)) return std::nullopt;
    return builder.take();
}

}  // namespace cleave
