// A machine's profile, with the machine's identity, as JSON. Knows nothing about files.
#pragma once

#include <optional>
#include <string>

#include "cleave/experimental/machine_profile.h"

namespace cleave {

// What a reader returns that finds no usable profile, and why.
inline ReadProfile unusable(const char* reason) { return {std::nullopt, reason, ""}; }

// Returns a single line that ends with a line feed.
std::string profile_text(const MachineProfile& profile);

// `identity` describes this machine; if its device is empty, device and driver are not compared. The result does not
// contain a path.
ReadProfile parse_profile(const std::string& text, const MachineIdentity& identity);

}  // namespace cleave
