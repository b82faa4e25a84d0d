// Reads a JSON text, strictly as RFC 8259 defines it, from front to back and without recursion or allocation.
//
// The scan alternates between two points: before a value, and after one. It keeps one bit per open object or array,
// which says what may follow a value, and the number of elements so far for each open array.
//
//   before a value   an opening bracket goes one level down, to the first member or, if there is none, to its closing
//                    bracket. Any other value is skipped.
//   after a value    a comma leads to the next member. A closing bracket goes one level up, after a value again.
//
// Accepts every JSON text, whatever its numbers, escapes and repeated keys, except those nested more than kMaxJsonDepth
// levels deep.
//
// Why not a library: a key is compared as it is written, so numbers must keep their text, and a line counts as JSON
// only if all of it is. Debian has simdjson only as a shared library, whose soname changes with each release; its
// on-demand interface does not examine the values that it skips, and its other interface rejects integers above 64
// bits. RapidJSON and nlohmann-json reject texts such as 1e400. Tests compare this scan with nlohmann-json and Python.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace cleave {

constexpr std::size_t kMaxJsonDepth = 1024;

enum class JsonKind : std::uint8_t { kString, kNumber, kTrue, kFalse, kNull, kObject, kArray };

// Where a text stops being JSON, and why, such as "a string is not closed".
struct JsonFault {
    const std::uint8_t* at;
    const char* what;
};

using JsonBytes = std::span<const std::uint8_t>;

const std::uint8_t* skip_all_json_blanks(const std::uint8_t* at, const std::uint8_t* end);
inline const std::uint8_t* skip_json_blanks(const std::uint8_t* at, const std::uint8_t* end) {
    return at == end || *at > ' ' ? at : skip_all_json_blanks(at, end);  // often there are none
}

// Skips the string, number or word that begins at `at`. Returns the byte after it and sets `kind`, or returns null and
// sets `fault`.
const std::uint8_t* skip_json_scalar(const std::uint8_t* at, const std::uint8_t* end, JsonKind& kind, JsonFault& fault);

template <class Sink>
class JsonScan {
public:
    JsonScan(const std::uint8_t* at, const std::uint8_t* end, Sink& sink) : at_(at), end_(end), sink_(sink) {}

    std::optional<JsonFault> run() {
        skip_blanks();
        while (take_value()) {
            while (level_ > 0 && next_is(closing())) close();
            if (level_ == 0 && at_ == end_) return std::nullopt;
            if (level_ == 0) return JsonFault{at_, "more text follows the value"};
            if (!next_is(',')) {
                return JsonFault{at_, is_object_[level_ - 1] ? "a ',' or '}' is missing" : "a ',' or ']' is missing"};
            }
            step();
            if (!begin_member()) break;
        }
        return fault_;
    }

private:
    void skip_blanks() { at_ = skip_json_blanks(at_, end_); }
    bool next_is(char symbol) const { return at_ != end_ && *at_ == static_cast<std::uint8_t>(symbol); }
    // Goes past a symbol and the blanks after it.
    void step() {
        ++at_;
        skip_blanks();
    }
    char closing() const { return is_object_[level_ - 1] ? '}' : ']'; }
    bool fail(const char* what) {
        fault_ = {at_, what};
        return false;
    }

    // Takes a value, or the opening brackets at its front and the first value that is no bracket. Stops before the
    // closing bracket of an object or array without members.
    bool take_value() {
        for (;;) {
            if (!next_is('{') && !next_is('[')) return take_scalar();
            if (!open()) return false;
            if (next_is(closing())) return true;
            if (!begin_member()) return false;
        }
    }

    bool take_scalar() {
        if (at_ == end_) return fail("a value is missing");
        JsonKind kind{};
        const std::uint8_t* const behind = skip_json_scalar(at_, end_, kind, fault_);
        if (behind == nullptr) return false;
        sink_.value(level_, kind, JsonBytes(at_, behind));
        at_ = behind;
        skip_blanks();
        return true;
    }

    bool open() {
        if (level_ == kMaxJsonDepth) return fail("it is nested more than 1024 levels deep");
        is_object_[level_] = next_is('{');
        elements_[level_] = 0;
        sink_.value(level_, is_object_[level_] ? JsonKind::kObject : JsonKind::kArray, JsonBytes(at_, 1));
        ++level_;
        step();
        return true;
    }

    void close() {
        --level_;
        if constexpr (requires { sink_.closed(level_, at_); }) sink_.closed(level_, at_ + 1);
        step();
    }

    // Goes on to the value of the member that begins here.
    bool begin_member() {
        if (!is_object_[level_ - 1]) {
            sink_.element(level_, elements_[level_ - 1]++);
            return true;
        }
        if (!next_is('"')) return fail("a key in quotes is missing");
        JsonKind kind{};
        const std::uint8_t* const behind = skip_json_scalar(at_, end_, kind, fault_);
        if (behind == nullptr) return false;
        sink_.key(level_, JsonBytes(at_, behind));
        at_ = behind;
        skip_blanks();
        if (!next_is(':')) return fail("a ':' is missing after a key");
        step();
        return true;
    }

    const std::uint8_t* at_;
    const std::uint8_t* end_;
    Sink& sink_;
    std::size_t level_ = 0;
    JsonFault fault_{};
    std::bitset<kMaxJsonDepth> is_object_;               // for each open object and array
    std::array<std::uint64_t, kMaxJsonDepth> elements_;  // set where an array opens
};

// Reads the text in [at, end), which may have blanks around it. Returns nothing if it is JSON, otherwise its first
// fault. Calls on `sink`, with the number of objects and arrays around what it finds as `level`:
//
//   key(level, string)          a key of an object, with its quotes; its value follows
//   element(level, index)       an element of an array follows; counted from 0
//   value(level, kind, bytes)   a value: its bytes, or only the opening bracket of an object or array
//   closed(level, behind)       the end of such an object or array; the sink need not have this function
template <class Sink>
std::optional<JsonFault> scan_json(const std::uint8_t* at, const std::uint8_t* end, Sink& sink) {
    return JsonScan<Sink>(at, end, sink).run();
}

}  // namespace cleave
