// The key of a line of JSON. The key is the value at a path:
//
//   a string               its text
//   a number, true, false  as they are written
//   null, no value, and in a blank line   the empty value
//   an object, an array    none; that is a fault in the input
#include <cstring>
#include <string>
#include <utility>

#include "base/json_string.h"
#include "cleave/error.h"
#include "features/json_lines/json_find.h"
#include "rows/values/key_path.h"

namespace cleave {
namespace {

bool is_string(Value raw) { return raw.size > 0 && *raw.data == '"'; }

class JsonKey final : public KeyPath {
public:
    explicit JsonKey(JsonPath path) : path_(std::move(path)) {}

    bool is_same(const KeyPath& other) const override {
        const auto* const same = dynamic_cast<const JsonKey*>(&other);
        return same != nullptr && same->path_ == path_;
    }

    std::string header() const override {
        std::string header;
        for (const JsonStep& step : path_) {
            const auto* const key = std::get_if<std::string>(&step);
            if (!header.empty()) header += '.';
            header += key != nullptr ? *key : std::to_string(std::get<std::uint64_t>(step));
        }
        return header;
    }

    // A string has its quotes. There is no key if the record is not JSON, or in an object or an array.
    Value raw(const std::string& name, const RecordBlock& block, std::size_t record) const override;

    bool view(Value raw, Value& value) const override {
        value = is_string(raw) ? Value{raw.data + 1, raw.size - 2} : raw;
        return !is_string(raw) || value.size == 0 || std::memchr(value.data, '\\', value.size) == nullptr;
    }

    std::uint64_t write(Value raw, std::uint8_t* out) const override {
        return write_json_text(raw.data + 1, raw.data + raw.size - 1, out);
    }

private:
    JsonPath path_;
};

Value JsonKey::raw(const std::string& name, const RecordBlock& block, std::size_t record) const {
    const std::uint8_t* const begin = block.bytes.data() + block.rows[record].begin;
    const std::uint8_t* end = block.bytes.data() + block.rows[record + 1].begin;
    while (end != begin && skip_json_blanks(end - 1, end) == end) --end;  // so that a fault at the end is in this line
    const auto place_of = [&](const std::uint8_t* at) {
        return Place{block.place.offset + static_cast<std::uint64_t>(at - block.bytes.data()),
                     block.place.record + record};
    };
    if (begin == end) return {nullptr, 0};
    const JsonFound found = find_json(path_, begin, end);
    if (found.fault)
        throw InputError(std::string("a line is not JSON: ") + found.fault->what, place_of(found.fault->at));
    if (!found.kind || *found.kind == JsonKind::kNull) return {nullptr, 0};
    if (*found.kind == JsonKind::kObject || *found.kind == JsonKind::kArray) {
        const bool is_object = *found.kind == JsonKind::kObject;
        throw InputError("the value of " + name + " is " + (is_object ? "an object" : "an array") +
                             "; give the path of a value in it",
                         place_of(found.bytes.data()));
    }
    return {found.bytes.data(), found.bytes.size()};
}

}  // namespace

std::shared_ptr<const KeyPath> parse_key_path(RuleScanner& scanner) {
    return std::make_shared<const JsonKey>(parse_json_path(scanner, JsonPathSyntax::kOneValue));
}

}  // namespace cleave
