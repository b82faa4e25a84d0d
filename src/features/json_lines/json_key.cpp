// The key of a line of JSON: the syntax of the path that names it, and its value.
//
//   path    the simple part of jq's: .a.b, ."a key, in quotes", .a[0] for the first element of an array, and . for the
//           whole line. A quote inside quotes is doubled, as in the names of columns.
//   value   a string: its text. A number, true and false: as they are written. null, a value that is not there, and a
//           blank line: the empty value. An object or an array: none; that is a fault in the input.
#include <cstring>
#include <string>
#include <utility>

#include "base/json_string.h"
#include "cleave/error.h"
#include "features/json_lines/json_path.h"
#include "rows/values/key_path.h"

namespace cleave {
namespace {

constexpr std::string_view kStops = ".[]";

std::uint64_t parse_index(RuleScanner& scanner) {
    scanner.accept("[");
    const std::uint64_t index = scanner.digits();
    if (!scanner.at_text("]")) scanner.expected("']' after the number");
    scanner.accept("]");
    return index;
}

bool is_string(Value raw) { return raw.size > 0 && *raw.data == '"'; }

JsonPath parse_json_path(RuleScanner& scanner) {
    const std::size_t place = scanner.place();
    if (!scanner.next_is(".")) {
        scanner.fail("in JSON Lines, a key is named by a path that begins with '.', such as .id or .user.country",
                     place);
    }
    JsonPath path;
    bool is_first = true;
    while (scanner.at_text(".") || scanner.at_text("[")) {
        if (scanner.at_text("[")) {
            path.emplace_back(parse_index(scanner));
        } else {
            scanner.accept(".");
            if (scanner.at_text("\"")) {
                path.emplace_back(scanner.quoted());
            } else if (const std::string_view name = scanner.part(kStops); !name.empty()) {
                path.emplace_back(std::string(name));
            } else if (!is_first || scanner.at_text(".")) {
                scanner.expected("a key after '.'");
            }
        }
        is_first = false;
    }
    return path;
}

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
    return std::make_shared<const JsonKey>(parse_json_path(scanner));
}

}  // namespace cleave
