#include "base/equal_names.h"

#define XXH_INLINE_ALL  // includes the code of the hash instead of linking a library
#include <xxhash.h>

#include <algorithm>
#include <bit>

#include "base/random_seed.h"
#include "base/text_bytes.h"

namespace cleave {

EqualNames::EqualNames(std::size_t count, Case letters)
    : letters_(letters), seed_(random_seed()), slots_(std::bit_ceil(2 * count + 1)) {}

std::size_t EqualNames::add(std::size_t place, FunctionRef<std::string_view(std::size_t)> name_at) {
    const std::string_view name = folded(name_at(place), wanted_);
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = XXH3_64bits_withSeed(name.data(), name.size(), seed_) & mask;
    for (; slots_[at] != 0; at = (at + 1) & mask) {
        if (folded(name_at(slots_[at] - 1), other_) == name) return slots_[at] - 1;
    }
    slots_[at] = place + 1;
    return place;
}

std::string_view EqualNames::folded(std::string_view name, std::string& buffer) const {
    if (letters_ == Case::kCounts) return name;
    buffer.resize(name.size());
    std::ranges::transform(name, buffer.begin(), to_lower);
    return buffer;
}

}  // namespace cleave
