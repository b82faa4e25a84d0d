// Counts what is in JSON Lines: the lines that are not JSON, and the keys of the objects.
//
// Lines are read as a whole, so one that arrives in several parts is put together first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/json_scan.h"
#include "cleave/dialect.h"
#include "cleave/examine.h"

namespace cleave {

// Counts keys as JsonCensus says. Use from one thread at a time.
class JsonKeyCounter {
public:
    // Adds `count` occurrences of a key. Does nothing once there are too many keys.
    void add(std::string_view name, std::uint64_t count);
    // Adds a key as it is written, with its quotes.
    void add_string(JsonBytes string);
    void add_all(const JsonCensus& census);
    // Moves the keys to `census`.
    void finish(JsonCensus& census);

private:
    struct Hash : std::hash<std::string_view> {
        using is_transparent = void;
    };

    std::vector<JsonKeyCount> keys_;
    std::unordered_map<std::string, std::size_t, Hash, std::equal_to<>> numbers_;
    std::size_t next_ = 0;  // the number of the key that probably comes next, because most records look the same
    bool has_more_ = false;
};

// Use from one thread at a time.
class JsonCensusTaker {
public:
    // Starts at `begin`, where a record starts; at the start of an input, behind its lead. The census lists at most
    // `max_listed` lines that are not JSON.
    JsonCensusTaker(const Dialect& dialect, Boundary begin, const Lead& lead, std::uint64_t max_listed);

    void feed(std::span<const std::uint8_t> bytes);

    // Call this at the end of the input or of a record.
    void finish();

    JsonCensus census() && { return std::move(census_); }

private:
    std::size_t end_of_line(std::span<const std::uint8_t> bytes) const;
    void keep(std::span<const std::uint8_t> part);
    void end_line(std::span<const std::uint8_t> part, std::size_t terminator_size);
    void take(std::span<const std::uint8_t> line);
    void note(std::span<const std::uint8_t> line, const JsonFault& fault);

    Terminator terminator_;
    std::uint64_t max_listed_;
    std::uint64_t to_skip_;           // bytes of the lead that are still to come
    Place start_;                     // of the current line
    std::vector<std::uint8_t> kept_;  // the parts of the current line before the bytes that are being fed
    bool is_too_long_ = false;        // the current line is too long to be kept
    bool is_after_return_ = false;    // a CR has ended a line, so an LF that follows belongs to it
    std::vector<JsonBytes> strings_;  // the keys of the current line
    JsonKeyCounter counter_;
    JsonCensus census_;
};

// Adds `next`, the census of the lines that follow, to `census`, except for its keys. Lists at most `max_listed` lines
// in total.
void append(JsonCensus& census, const JsonCensus& next, std::uint64_t max_listed);

}  // namespace cleave
