// The parsed text of an operation in a rule, such as `mask(first=2, char=x)`, and of columns. The parser produces it,
// and each operation reads its own arguments from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cleave/error.h"

namespace cleave {

struct OperationSyntax;
class RuleScope;  // see stage/rule_scope.h

// An item of a list of columns, as written.
struct ColumnSyntax {
    enum class Kind : std::uint8_t {
        kWord,    // a name, NAME[N] or a range, depending on the columns of the input
        kQuoted,  // a name
        kNumber,  // #first, or #first-#last
        kGlob,
        kRest,  // *
    };
    Kind kind = Kind::kWord;
    bool is_excluded = false;  // preceded by `!`
    std::string text;          // the word or glob, or the text between the quotes
    std::uint64_t nth = 0;     // for kQuoted, counted from 1; 0 if not given
    std::uint64_t first = 0;   // for kNumber, counted from 1
    std::uint64_t last = 0;
    std::size_t place = 0;
};

// One argument: VALUE, KEY=VALUE, by=COLUMN, or an operation, as in email(local=hmac(pii)).
struct ArgumentSyntax {
    std::string key;    // empty if the argument has no key
    std::string value;  // without quotes; the name of the operation if `nested` is not empty
    bool is_quoted = false;
    std::optional<ColumnSyntax> column;   // of `by`, which then has no value
    std::size_t place = 0;                // the byte of the rule's text where the argument begins
    std::vector<OperationSyntax> nested;  // empty, or one operation
};

struct OperationSyntax {
    std::string name;
    std::size_t place = 0;  // the byte of the rule's text where the operation begins
    std::vector<ArgumentSyntax> arguments;
};

// Thrown for an invalid argument or operation. `place` is a byte offset in the rule's text. The caller turns it into a
// RuleError.
class SyntaxError : public ArgumentError {
public:
    SyntaxError(const std::string& reason, std::size_t place) : ArgumentError(reason), place_(place) {}
    std::size_t place() const noexcept { return place_; }

private:
    std::size_t place_;
};

}  // namespace cleave
