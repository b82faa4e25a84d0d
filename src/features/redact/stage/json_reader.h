// Finds in a line of JSON what rules need to know: where the values are that paths name, what --select leaves out, and
// what no rule names.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_set>
#include <vector>

#include "base/json_scan.h"
#include "cleave/error.h"
#include "features/redact/stage/json_paths.h"
#include "rows/memory/value_buffer.h"

namespace cleave {

// Something in a line. Offsets count from the first byte of the block that the line is in.
struct JsonSpot {
    static constexpr std::uint32_t kNone = UINT32_MAX;

    enum class Role : std::uint8_t {
        kNamed,    // a value with rules
        kOther,    // a string or number without
        kName,     // the name of a member
        kSimilar,  // the name of a member without rules that is similar to the name of one with rules
    };
    Role role;
    JsonKind kind;    // of a value
    bool is_written;  // false if --select leaves it out
    std::uint32_t begin;
    std::uint32_t end;
    std::uint32_t place;   // in JsonPaths; kNone for kOther and names
    std::uint32_t around;  // the spot of the innermost object or array around it that has rules, or kNone
    std::uint32_t scope;   // the innermost element of an array around it that a path leads through, or kNone
};

struct JsonRange {
    std::uint32_t begin;
    std::uint32_t end;
};

// What a reader looks for besides values with rules.
struct JsonWishes {
    bool watches = false;        // strings, numbers and names that stay
    bool takes_strings = false;  // strings without rules
    bool finds_similar = false;  // names of members that may have been meant by a rule
};

// For use by one thread at a time. What it returns is valid until the next call of read().
class JsonReader {
public:
    // `paths` must outlive the reader, and `memory` must not be null.
    JsonReader(const JsonPaths& paths, const JsonWishes& wishes, std::shared_ptr<MemoryManager> memory);

    // Reads the line in [begin, end) of `bytes`; `place` is where `bytes` begins, with the number of the line. Returns
    // false if the line is blank. Throws InputError if it is not JSON, neither an object nor an array that a path leads
    // into, or if it has two members of the same name in an object or half a surrogate pair: readers disagree about
    // what these mean.
    bool read(const std::uint8_t* bytes, std::uint32_t begin, std::uint32_t end, const Place& place);

    std::span<const JsonSpot> spots() const { return spots_; }  // in order
    // What --select leaves out, with commas, in order.
    std::span<const JsonRange> gaps() const { return gaps_; }
    // The value at a path that is looked up, in the same elements of arrays as `from`. Null if it is missing.
    const JsonSpot* find(std::uint32_t path, const JsonSpot& from) const;
    // How many values each path has met since the last reset.
    std::vector<std::uint64_t>& met() { return met_; }

private:
    friend class JsonScan<JsonReader>;

    // An open object or array. The first level stands for the line.
    struct Level {
        std::uint32_t place = JsonPlace::kNone;
        std::uint32_t spot = JsonSpot::kNone;     // of the object or array itself
        std::uint32_t scope = JsonSpot::kNone;    // as in JsonSpot, for what is inside
        std::uint32_t around = JsonSpot::kNone;   // the same
        std::uint32_t element = JsonSpot::kNone;  // the scope that ends with it
        std::uint32_t begin = 0;                  // of the bracket
        std::uint32_t gap = JsonSpot::kNone;      // where the next gap begins
        std::uint32_t end = JsonSpot::kNone;      // of the last member
        bool is_object = true;
        bool is_written = true;
        bool stays = true;         // whether members stay that --select does not name
        bool has_written = false;  // a member has been written
        bool leaves_out = false;   // the current member is left out
        std::size_t names = 0;     // where the hashes of its names begin
    };

    // An element of an array, with the elements around it.
    struct Scope {
        JsonRange range;
        std::uint32_t around;
        std::uint32_t depth;  // 1 for the outermost
    };

    // Called by the scan.
    void key(std::size_t level, JsonBytes string);
    void element(std::size_t level, std::uint64_t index);
    void value(std::size_t level, JsonKind kind, JsonBytes bytes);
    void closed(std::size_t level, const std::uint8_t* behind);

    std::string_view text_of(JsonBytes string);
    void begin_line(JsonKind kind, std::uint32_t begin);
    void add_name(JsonSpot spot);
    std::uint32_t add_value(JsonSpot& spot, const JsonPlace* place);
    void begin_member(Level& in, std::uint32_t begin, bool is_written);
    void end_member(Level& in, std::uint32_t end);
    bool is_similar(std::uint32_t place, std::string_view name, std::uint64_t hash);
    static bool has_twins(std::span<std::uint64_t> hashes);
    void refuse(const char* what, std::uint32_t at);
    std::uint32_t at(const std::uint8_t* byte) const { return static_cast<std::uint32_t>(byte - bytes_); }

    const JsonPaths& paths_;
    const JsonWishes wishes_;
    const std::uint64_t seed_;
    ValueBuffer name_text_;  // of a name with escapes
    const std::uint8_t* bytes_ = nullptr;
    const std::uint8_t* line_end_ = nullptr;
    std::array<Level, kMaxJsonDepth + 1> levels_;
    // The member whose value comes next:
    JsonBytes name_;  // with its quotes
    std::uint32_t place_ = JsonPlace::kNone;
    bool is_similar_ = false;

    std::vector<JsonSpot> spots_;
    std::vector<JsonRange> gaps_;
    std::vector<Scope> scopes_;
    std::vector<std::vector<JsonSpot>> found_;  // for each path that is looked up: what it has met in this line
    std::vector<std::uint64_t> met_;
    std::vector<std::uint64_t> hashes_;  // of the names in open objects
    std::unordered_set<std::uint64_t> dissimilar_;
    const char* fault_ = nullptr;
    std::uint32_t fault_at_ = 0;
};

}  // namespace cleave
