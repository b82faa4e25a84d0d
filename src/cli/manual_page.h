// Manual pages, as man shows them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cleave::cli {

// The file of the page cleave-NAME, where the program is installed or built; otherwise the page's name, which man looks
// up.
std::string manual_page(std::string_view name);

enum class PageShown : std::uint8_t { kYes, kNoMan, kNoPage };

// Shows the page cleave-NAME with man, and waits until the user has left it. Unless it is kYes, nothing was printed.
PageShown show_manual_page(std::string_view name);

// The subjects that have a page of their own.
std::vector<std::string> topics();

}  // namespace cleave::cli
