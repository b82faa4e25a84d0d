#include "features/rejects/shifts.h"

#include <algorithm>
#include <array>
#include <limits>
#include <span>

namespace cleave {

void Shifts::leave_out(std::uint64_t begin, std::uint64_t size) {
    size_ += size;
    const Shift shift{begin, size_};
    if (shifts_.size() % (kPageSize * sizeof(Shift)) == 0) begins_.push_back(begin);
    shifts_.append({reinterpret_cast<const std::uint8_t*>(&shift), sizeof(Shift)});
}

// Calls `take` from the shift that applies to `offset` on, until it returns false.
void Shifts::for_each_shift(std::uint64_t offset, FunctionRef<bool(const Part&)> take) const {
    auto number = static_cast<std::size_t>(std::ranges::upper_bound(begins_, offset) - begins_.begin()) - 1;
    std::array<Shift, kPageSize> page;
    for (; number < begins_.size(); ++number) {
        const std::uint64_t before = number * kPageSize;
        const auto count = std::min<std::uint64_t>(kPageSize, shifts_.size() / sizeof(Shift) - before);
        const auto shifts = std::span(page).first(static_cast<std::size_t>(count));
        shifts_.read(before * sizeof(Shift), {reinterpret_cast<std::uint8_t*>(shifts.data()), shifts.size_bytes()});
        auto at = std::ranges::upper_bound(shifts, offset, {}, &Shift::begin);
        if (at != shifts.begin()) --at;
        const bool is_last = number + 1 == begins_.size();
        const std::uint64_t after = is_last ? std::numeric_limits<std::uint64_t>::max() : begins_[number + 1];
        for (; at != shifts.end(); ++at) {
            const auto records = before + static_cast<std::uint64_t>(at - shifts.begin());
            if (!take({*at, records, at + 1 != shifts.end() ? (at + 1)->begin : after})) return;
        }
    }
}

void Shifts::for_each_part(std::uint64_t offset, std::uint64_t size,
                           FunctionRef<void(std::uint64_t offset, std::size_t size)> take) const {
    if (size == 0) return;
    for_each_shift(offset, [&](const Part& part) {
        const auto here = static_cast<std::size_t>(std::min(size, part.end - offset));
        if (here > 0) take(offset + part.shift.size, here);
        offset += here;
        size -= here;
        return size > 0;
    });
}

std::uint64_t Shifts::size_at(std::uint64_t offset, std::uint64_t size) const {
    for_each_shift(offset, [&](const Part& part) {
        size = std::min(size, part.end - offset);
        return false;
    });
    return size;
}

Place Shifts::in_input(Place place) const {
    for_each_shift(place.offset, [&](const Part& part) {
        place = {place.offset + part.shift.size, place.record + part.records};
        return false;
    });
    return place;
}

}  // namespace cleave
