// Reads the arguments of an operation. Each member throws SyntaxError with the place of the offending argument.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "features/redact/stage/syntax.h"

namespace cleave {

// A decimal number in a rule: units / 10^decimals.
struct ScaledLimit {
    std::uint64_t units = 0;
    std::uint64_t decimals = 0;
};

// An operation takes the arguments that it knows; finish() then refuses any that remain.
class Arguments {
public:
    // `usage` is the syntax of the operation for messages: "mask(first=N, last=N, char=C)". Both arguments must outlive
    // the object.
    Arguments(const OperationSyntax& syntax, const char* usage);

    // The argument at this index, which must have no name and must not be an operation.
    const ArgumentSyntax& take_plain(std::size_t index, std::string_view what);
    const ArgumentSyntax& take_first(std::string_view what) { return take_plain(0, what); }
    // The argument `key=...`; nullptr if it was not given. With kOperation, its value may also be an operation.
    enum class Kind : std::uint8_t { kText, kOperation };
    const ArgumentSyntax* take(std::string_view key, Kind kind = Kind::kText);
    // Takes the argument that is just `word`. Returns whether it was given.
    bool take_word(std::string_view word);
    // The value of `key=NUMBER`, which must be within the limits, or `otherwise` if it was not given.
    std::uint64_t take_number(std::string_view key, std::uint64_t least, std::uint64_t most, std::uint64_t otherwise);

    void finish() const;

    // The argument's value, a decimal number without a sign. Fails if it has more than `max_digits` digits, at most 18.
    static ScaledLimit to_scaled(const ArgumentSyntax& argument, std::uint64_t max_digits);

    [[noreturn]] static void fail(const std::string& reason, const ArgumentSyntax& argument);

private:
    const OperationSyntax& syntax_;
    std::string usage_;
    std::vector<bool> is_taken_;
};

// For operations without arguments.
void refuse_arguments(const OperationSyntax& syntax);

// For operations whose only argument is a width, which is above 0. Otherwise like Arguments.
ScaledLimit take_width(const OperationSyntax& syntax, const char* usage, std::uint64_t max_digits);

}  // namespace cleave
