// The key of a line of JSON. The key is the value at a path:
//
//   a string               its text
//   a number, true, false  as they are written
//   null, no value, and in a blank line   the empty value
//   an object, an array    none; that is a fault in the input
#include <cstddef>
#include <cstring>
#include <string>
#include <utility>

#include "base/json_string.h"
#include "cleave/error.h"
#include "features/json_lines/json_find.h"
#include "rows/values/key_path.h"

namespace cleave {
namespace {

// Follows the scan. `on_path_` is how many steps the objects and arrays around the current place have in common with
// the path, so it can only change at a member of a container that is itself on the path.
class PathSink {
public:
    explicit PathSink(const JsonPath& path) : path_(path) {}

    void key(std::size_t level, JsonBytes string) {
        enter(level, [&](const JsonStep& step) {
            const auto* const name = std::get_if<std::string>(&step);
            return name != nullptr && is_json_text(string.data() + 1, string.data() + string.size() - 1, *name);
        });
    }

    void element(std::size_t level, std::uint64_t index) {
        enter(level, [&](const JsonStep& step) {
            const auto* const wanted = std::get_if<std::uint64_t>(&step);
            return wanted != nullptr && *wanted == index;
        });
    }

    void value(std::size_t level, JsonKind kind, JsonBytes bytes) {
        if (level != path_.size() || on_path_ != level) return;
        found_.kind = kind;
        found_.bytes = bytes;
    }

    JsonFound found() const { return found_; }

private:
    // A member at `level` begins; is_step() says whether a step leads to it.
    template <class IsStep>
    void enter(std::size_t level, const IsStep& is_step) {
        const std::size_t before = level - 1;
        if (before >= path_.size() || on_path_ < before) return;
        on_path_ = before;
        if (!is_step(path_[before])) return;
        on_path_ = level;
        found_ = {};  // whatever an earlier member with the same key contained
    }

    const JsonPath& path_;
    std::size_t on_path_ = 0;
    JsonFound found_;
};

}  // namespace

JsonFound find_json(const JsonPath& path, const std::uint8_t* at, const std::uint8_t* end) {
    PathSink sink(path);
    const auto fault = scan_json(at, end, sink);
    JsonFound found = sink.found();
    found.fault = fault;
    return found;
}

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
