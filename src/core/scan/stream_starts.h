// Scans a stream, and finds on the way what goes into its index: the first boundary at or after every multiple of a
// step, and where the header ends.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cleave/scan.h"
#include "core/scan/header_finder.h"
#include "core/scan/walker.h"

namespace cleave {

// Use for one input.
class StreamStarts {
public:
    explicit StreamStarts(std::uint64_t step) : step_(step), boundaries_{Boundary{}} {}

    // Takes the next bytes of the input: moves the walker over them. `header` has been fed with them.
    void pass(Walker& walker, const HeaderFinder& header, std::span<const std::uint8_t> bytes);
    // Call at the end.
    void end(const Findings& findings);

    // At the end: one boundary for every step, and one for the remainder.
    const std::vector<Boundary>& boundaries() const noexcept { return boundaries_; }
    // At the end: the bytes of the header, and of everything before it.
    std::uint64_t header_size() const noexcept { return *header_size_; }

private:
    std::uint64_t next() const noexcept { return boundaries_.size() * step_; }
    void add(const Boundary& boundary, std::uint64_t end);

    std::uint64_t step_;
    std::vector<Boundary> boundaries_;
    std::uint64_t header_records_ = 0;
    std::optional<std::uint64_t> header_size_;  // once these records have ended
};

// Reads the whole stream. `starts` may be null. Throws what scan() throws.
Findings scan_stream(Input& input, const Dialect& dialect, const Execution& execution, StreamStarts* starts);

}  // namespace cleave
