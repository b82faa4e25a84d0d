// Inputs that are mapped, as the command's are.
#pragma once

#include <optional>
#include <string>

#include "cleave/input.h"
#include "cleave/mapping_guard.h"

namespace cleave::test {

// Calls open() while there is a guard. A mapping outlives it.
template <class Open>
Input while_guarded(const Open& open) {
    std::optional<MappingGuard> guard;
    if (!MappingGuard::is_active()) guard.emplace();
    return open();
}

inline Input open_mapped(const std::string& path, const Cancellation* cancellation = nullptr) {
    return while_guarded([&] { return Input::open(path, cancellation, Access::kMapped); });
}

inline Input open_mapped_snapshot(const std::string& path) {
    return while_guarded([&] { return Input::open_snapshot(path, nullptr, Access::kMapped); });
}

}  // namespace cleave::test
