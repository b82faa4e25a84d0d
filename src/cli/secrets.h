// Keys. The feature `redact` defines all of it; a build without it has without/redact.cpp.
#pragma once

#include "cli/context.h"
#include "cli/sandbox.h"

namespace cleave::cli {

// Under rules, and with keys, disables core dumps so that they cannot reveal a value or a key. Loads keys and a memory
// manager's library, and chooses the device. Call this before the sandbox closes.
void load_secrets(Context& context);

// What the verbs key and verify may open. `permissions` has what every verb may.
Permissions permissions_of_key(const Arguments& arguments);
Permissions permissions_of_verify(const Arguments& arguments, Permissions permissions);

}  // namespace cleave::cli
