#include "features/rejects/shifts.h"

#include <algorithm>
#include <cerrno>
#include <limits>
#include <span>
#include <system_error>
#include <utility>

namespace cleave {
namespace {

constexpr std::uint64_t kEnd = std::numeric_limits<std::uint64_t>::max();

}  // namespace

void Shifts::add(const Shift& shift) {
    if (page_.size() == kPageSize && pages_.size() < kMostKept) {
        pages_.push_back(std::exchange(page_, {}));
    } else if (page_.size() == kPageSize) {
        if (!file_.is_open()) file_ = open_unlinked_temporary();
        write_all(file_.get(), {reinterpret_cast<const std::uint8_t*>(page_.data()), kPageSize * sizeof(Shift)},
                  temporary_name());
        page_.clear();
    }
    if (page_.empty()) begins_.push_back(shift.begin);
    page_.push_back(shift);
}

void Shifts::leave_out(std::uint64_t begin, std::uint64_t size, std::uint64_t records) {
    const Shift next{begin, last().size + size, last().records + records};
    if (last().begin == begin) {
        page_.back() = next;
    } else {
        add(next);
    }
}

const std::vector<Shift>& Shifts::page(std::size_t number, std::vector<Shift>& buffer) const {
    if (number + 1 == begins_.size()) return page_;
    if (number < pages_.size()) return pages_[number];
    buffer.resize(kPageSize);
    const std::span<std::uint8_t> bytes(reinterpret_cast<std::uint8_t*>(buffer.data()), kPageSize * sizeof(Shift));
    if (read_at(file_.get(), (number - pages_.size()) * bytes.size(), bytes, temporary_name()) < bytes.size()) {
        throw SystemError(EIO, std::generic_category(), temporary_name());  // all of it was written
    }
    return buffer;
}

// Calls take(shift, where the next one begins) from the shift that applies to `offset` on, until it returns false.
void Shifts::for_each_shift(std::uint64_t offset, FunctionRef<bool(const Shift& shift, std::uint64_t end)> take) const {
    auto number = static_cast<std::size_t>(std::ranges::upper_bound(begins_, offset) - begins_.begin()) - 1;
    std::vector<Shift> buffer;
    for (; number < begins_.size(); ++number) {
        const std::vector<Shift>& shifts = page(number, buffer);
        auto at = std::ranges::upper_bound(shifts, offset, {}, &Shift::begin);
        if (at != shifts.begin()) --at;
        const std::uint64_t after = number + 1 < begins_.size() ? begins_[number + 1] : kEnd;
        for (; at != shifts.end(); ++at) {
            if (!take(*at, at + 1 != shifts.end() ? (at + 1)->begin : after)) return;
        }
    }
}

void Shifts::for_each_part(std::uint64_t offset, std::uint64_t size,
                           FunctionRef<void(std::uint64_t offset, std::size_t size)> take) const {
    if (size == 0) return;
    for_each_shift(offset, [&](const Shift& shift, std::uint64_t end) {
        const auto here = static_cast<std::size_t>(std::min(size, end - offset));
        take(offset + shift.size, here);
        offset += here;
        size -= here;
        return size > 0;
    });
}

std::uint64_t Shifts::size_at(std::uint64_t offset, std::uint64_t size) const {
    for_each_shift(offset, [&](const Shift&, std::uint64_t end) {
        size = std::min(size, end - offset);
        return false;
    });
    return size;
}

Place Shifts::in_input(Place place) const {
    for_each_shift(place.offset, [&](const Shift& shift, std::uint64_t) {
        place = {place.offset + shift.size, place.record + shift.records};
        return false;
    });
    return place;
}

}  // namespace cleave
