// Reads the arguments of an operation. Each member throws SyntaxError with the place of the argument that is wrong.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "stage/syntax.h"

namespace cleave {

// An operation takes the arguments that it knows. finish() refuses what is left.
class Arguments {
public:
    // `usage` is how the operation is written, for messages: "mask(first=N, last=N, char=C)". Both arguments must
    // outlive the object.
    Arguments(const OperationSyntax& syntax, const char* usage);

    // The first argument, which has no name and is no operation.
    const ArgumentSyntax& take_first(std::string_view what);
    // The argument `key=...`; nullptr if it was not given. With kOperation it may also be an operation.
    enum class Kind : std::uint8_t { kText, kOperation };
    const ArgumentSyntax* take(std::string_view key, Kind kind = Kind::kText);
    // Whether the word is an argument.
    bool take_word(std::string_view word);
    // `key=NUMBER`, between the limits; `otherwise` if it is not there.
    std::uint64_t take_number(std::string_view key, std::uint64_t least, std::uint64_t most, std::uint64_t otherwise);

    void finish() const;

    [[noreturn]] static void fail(const std::string& reason, const ArgumentSyntax& argument);

private:
    const OperationSyntax& syntax_;
    std::string usage_;
    std::vector<bool> is_taken_;
};

// For operations without arguments.
void refuse_arguments(const OperationSyntax& syntax);

}  // namespace cleave
