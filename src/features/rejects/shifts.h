// Where the bytes of an input are from which records were left out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cleave/error.h"
#include "cleave/function_ref.h"
#include "core/reader/spill.h"

namespace cleave {

// From byte `begin` of what is left on, up to the next of these, `size` bytes were left out.
struct Shift {
    std::uint64_t begin = 0;
    std::uint64_t size = 0;
};

// A list that grows at its end, with a shift for each record. What would take more than 1 MiB of memory goes to an
// unlinked temporary file, except for 8 bytes for each page. Any thread may read it once it is complete.
class Shifts {
public:
    Shifts() { leave_out(0, 0); }

    // Leaves out a record of `size` bytes, once `begin` bytes are left before it. Throws SystemError.
    void leave_out(std::uint64_t begin, std::uint64_t size);
    // How many bytes were left out in all.
    std::uint64_t size() const { return size_; }

    // Calls take(offset, size) for the parts of the input that the bytes [offset, offset + size) of what is left
    // consist of, in order. Throws SystemError and what `take` throws.
    void for_each_part(std::uint64_t offset, std::uint64_t size,
                       FunctionRef<void(std::uint64_t offset, std::size_t size)> take) const;
    // How many of these bytes are next to each other in the input, from the first one on.
    std::uint64_t size_at(std::uint64_t offset, std::uint64_t size) const;
    // Where a place in what is left is in the input.
    Place in_input(Place place) const;

private:
    static constexpr std::size_t kPageSize = 256;  // shifts

    // What applies to bytes up to `end`, where the next shift begins.
    struct Part {
        Shift shift;
        std::uint64_t records;  // that were left out before
        std::uint64_t end;
    };
    void for_each_shift(std::uint64_t offset, FunctionRef<bool(const Part&)> take) const;

    SpillBuffer shifts_;
    std::vector<std::uint64_t> begins_;  // of the pages
    std::uint64_t size_ = 0;
};

}  // namespace cleave
