// A text that the user gave, and the error thrown for a rule, a list of columns or a key that cannot be used.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "cleave/error.h"

namespace cleave {

// A rule, a list of columns, or a line of a rules file.
struct RuleText {
    std::string text = {};
    std::string origin = {};  // "--redact", "--select", or "PATH:LINE"

    bool operator==(const RuleText&) const = default;
};

// what() is only the reason. No member contains a value from the input, except names of columns.
class RuleError : public ArgumentError {
public:
    // `place` is the index of a byte in `text`, or the size of `text`.
    RuleError(const std::string& reason, std::string origin, std::string text, std::size_t place)
        : ArgumentError(reason), origin_(std::move(origin)), text_(std::move(text)), place_(place) {}

    // Where the text was given: "--redact", or "mask.rules:3".
    const std::string& origin() const noexcept { return origin_; }
    // One line: the rule or the list of columns.
    const std::string& text() const noexcept { return text_; }
    // The byte of text() where the fault is.
    std::size_t place() const noexcept { return place_; }

private:
    std::string origin_;
    std::string text_;
    std::size_t place_;
};

}  // namespace cleave
