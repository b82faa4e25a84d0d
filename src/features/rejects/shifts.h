// Where the bytes of an input are from which others were left out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cleave/error.h"
#include "cleave/function_ref.h"
#include "core/reader/fd.h"

namespace cleave {

// From byte `begin` of what is left on, up to the next of these, `size` bytes and `records` records were left out.
struct Shift {
    std::uint64_t begin = 0;
    std::uint64_t size = 0;
    std::uint64_t records = 0;
};

// A list that grows at its end. Pages of it that would take more than 1 MiB of memory go to an unlinked temporary file,
// and only their first entries stay in memory: 8 bytes for each 1,024. Any thread may read it once it is complete.
class Shifts {
public:
    Shifts() { add({}); }

    // Leaves out `size` more bytes of `records` records, once `begin` bytes are left before them. Throws SystemError.
    void leave_out(std::uint64_t begin, std::uint64_t size, std::uint64_t records);
    // What was left out in all.
    const Shift& last() const { return page_.back(); }

    // Calls take(offset, size) for the parts of the input that the bytes [offset, offset + size) of what is left
    // consist of, in order. Throws SystemError and what `take` throws.
    void for_each_part(std::uint64_t offset, std::uint64_t size,
                       FunctionRef<void(std::uint64_t offset, std::size_t size)> take) const;
    // How many of these bytes are next to each other in the input, from the first one on.
    std::uint64_t size_at(std::uint64_t offset, std::uint64_t size) const;
    // Where a place in what is left is in the input.
    Place in_input(Place place) const;

private:
    static constexpr std::size_t kPageSize = 1024;
    static constexpr std::size_t kMostKept = (std::size_t{1} << 20) / (kPageSize * sizeof(Shift));  // pages

    void add(const Shift& shift);
    const std::vector<Shift>& page(std::size_t number, std::vector<Shift>& buffer) const;
    void for_each_shift(std::uint64_t offset, FunctionRef<bool(const Shift& shift, std::uint64_t end)> take) const;

    std::vector<std::uint64_t> begins_;      // of the pages
    std::vector<Shift> page_;                // the last one
    std::vector<std::vector<Shift>> pages_;  // those before, as many as are kept
    Fd file_;                                // the others
};

}  // namespace cleave
