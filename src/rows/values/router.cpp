#include "rows/values/router.h"

#include <algorithm>

#include "rows/values/key_reader.h"

namespace cleave {

Router::Router(const ByValue& by, std::uint64_t first_record)
    : piece_count_(by.buckets ? static_cast<std::size_t>(*by.buckets) : by.parts.size()),
      is_draw_(by.is_draw()),
      seed_(by.seed),
      first_record_(first_record) {
    std::uint64_t end = 0;
    for (const Part& part : by.parts) ends_.push_back(end += part.weight);
}

std::uint32_t Router::piece_of(std::uint64_t hash, std::uint64_t record) const {
    __extension__ using Wide = unsigned __int128;  // for the product of a hash and a weight
    if (ends_.empty()) return static_cast<std::uint32_t>(hash % piece_count_);
    if (is_draw_) {
        const std::uint64_t number = record - first_record_ + 1;
        hash = hash_of_key({reinterpret_cast<const char*>(&number), sizeof number}, seed_);
    }
    const auto place = static_cast<std::uint64_t>(static_cast<Wide>(hash) * ends_.back() >> 64U);
    return static_cast<std::uint32_t>(std::ranges::upper_bound(ends_, place) - ends_.begin());
}

}  // namespace cleave
