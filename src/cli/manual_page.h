// Manual pages, as man shows them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cleave::cli {

// Shows the page cleave-NAME with man, and waits until the user has left it. Returns false, having printed nothing, if
// man or the page is missing.
bool show_manual_page(std::string_view name);

// The subjects that have a page of their own.
std::vector<std::string> topics();

}  // namespace cleave::cli
