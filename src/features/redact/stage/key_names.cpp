#include "features/redact/stage/key_names.h"

#include <algorithm>

namespace cleave {

std::optional<std::uint32_t> KeyUses::add(const Use& use, std::vector<Use>& uses) const {
    if (std::ranges::find(names_, use.key) == names_.end()) return std::nullopt;
    const auto found = std::ranges::find(uses, use);
    const auto index = static_cast<std::uint32_t>(found - uses.begin());
    if (found == uses.end()) uses.push_back(use);
    return index;
}

std::uint64_t KeyUses::version_of(std::string_view key) const {
    const auto place = static_cast<std::size_t>(std::ranges::find(names_, key) - names_.begin());
    return place < versions_.size() ? versions_[place] : 0;
}

}  // namespace cleave
