#include "stage/key_names.h"

#include <algorithm>

namespace cleave {

std::optional<std::uint32_t> KeyUses::add(std::string_view key, std::string_view context) {
    if (std::ranges::find(names_, key) == names_.end()) return std::nullopt;
    const Use use{std::string(key), std::string(context)};
    const auto found = std::ranges::find(uses_, use);
    const auto index = static_cast<std::uint32_t>(found - uses_.begin());
    if (found == uses_.end()) uses_.push_back(use);
    return index;
}

}  // namespace cleave
