// Manual pages, as man shows them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cleave::cli {

// Runs man with the page cleave-NAME and waits for it. Returns false, having printed nothing, if there is no man or no
// such page.
bool show_manual_page(std::string_view name);

// The subjects that have a page of their own.
std::vector<std::string> topics();

}  // namespace cleave::cli
