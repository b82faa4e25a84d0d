// A text that the user gave, and what messages about it name.
#pragma once

#include <string>

namespace cleave {

// A rule, a list of columns, or a line of a rules file.
struct RuleText {
    std::string text = {};
    std::string origin = {};  // "--redact", "--select", or "PATH:LINE"

    bool operator==(const RuleText&) const = default;
};

}  // namespace cleave
