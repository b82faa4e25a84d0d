// The parsed text of an operation in a rule, such as `mask(first=2, char=x)`. The parser produces it, and each
// operation reads its own arguments from it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "cleave/error.h"
#include "rows/fields/columns.h"

namespace cleave {

struct OperationSyntax;
class RuleScope;  // see stage/rule_scope.h

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
