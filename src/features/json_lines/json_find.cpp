#include "features/json_lines/json_find.h"

#include <cstddef>

#include "base/json_string.h"

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

}  // namespace cleave
