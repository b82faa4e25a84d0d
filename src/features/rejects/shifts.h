// Where the bytes of an input are from which records were left out.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "cleave/error.h"
#include "cleave/function_ref.h"
#include "core/reader/spill.h"

namespace cleave {

// A list that grows at its end, with 16 bytes for each record that was left out. Any thread may read it once it is
// complete. Members throw SystemError.
class Shifts {
public:
    // Leaves out a record of `size` bytes, once `begin` bytes are left before it.
    void leave_out(std::uint64_t begin, std::uint64_t size) {
        size_ += size;
        const Shift shift{begin, size_};
        shifts_.append({reinterpret_cast<const std::uint8_t*>(&shift), sizeof(Shift)});
    }
    // How many bytes were left out in all.
    std::uint64_t size() const { return size_; }

    // Calls take(at, size) for the parts of the input that the bytes [offset, offset + size) of what is left consist
    // of, in order, until it returns false. `at` is where a part is in the input, with the number of records that were
    // left out before it. If `size` is 0, there is one part, which is empty.
    void for_each_part(std::uint64_t offset, std::uint64_t size,
                       FunctionRef<bool(Place at, std::uint64_t size)> take) const {
        std::uint64_t number = 0;  // of shifts that apply to the offset
        for (std::uint64_t end = count(); number < end;) {
            const std::uint64_t middle = number + (end - number) / 2;
            if (shift(middle).begin <= offset) {
                number = middle + 1;
            } else {
                end = middle;
            }
        }
        Shift before = number > 0 ? shift(number - 1) : Shift{};
        for (bool goes_on = true; goes_on; ++number) {
            const Shift after = number < count() ? shift(number) : Shift{std::numeric_limits<std::uint64_t>::max(), 0};
            const std::uint64_t here = std::min(size, after.begin - offset);
            goes_on = (here == 0 && size > 0) || (take({offset + before.size, number}, here) && here < size);
            offset += here;
            size -= here;
            before = after;
        }
    }

    // Where a place in what is left is in the input.
    Place in_input(Place place) const {
        for_each_part(place.offset, 0, [&](Place at, std::uint64_t) {
            place = {at.offset, place.record + at.record};
            return false;
        });
        return place;
    }

private:
    // From byte `begin` of what is left on, up to the next of these, `size` bytes were left out.
    struct Shift {
        std::uint64_t begin = 0;
        std::uint64_t size = 0;
    };

    std::uint64_t count() const { return shifts_.size() / sizeof(Shift); }
    Shift shift(std::uint64_t number) const {
        Shift shift;
        shifts_.read(number * sizeof(Shift), {reinterpret_cast<std::uint8_t*>(&shift), sizeof(Shift)});
        return shift;
    }

    SpillBuffer shifts_;
    std::uint64_t size_ = 0;
};

}  // namespace cleave
