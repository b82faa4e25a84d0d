// A machine's profile as JSON, with the machine's identity. Knows no files.
#pragma once

#include <string>

#include "cleave/machine_profile.h"

namespace cleave {

// On one line, with a line feed.
std::string profile_text(const MachineProfile& profile);

// `identity` is what the machine is; a device and a driver that are empty are not compared. The result has no path.
ReadProfile parse_profile(const std::string& text, const MachineIdentity& identity);

}  // namespace cleave
