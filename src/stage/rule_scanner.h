// Reads the tokens of a rule or of a list of columns from front to end. Knows words and quotes, no grammar.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "stage/rules.h"

namespace cleave {

// Every function but fail() and at_text() first skips blanks. Faults are RuleError with the place of the scanner.
class RuleScanner {
public:
    // `source` must outlive the scanner.
    explicit RuleScanner(const RuleText& source) : source_(source) {}

    // The place of the next token.
    std::size_t place();
    bool at_end();
    bool next_is(std::string_view symbol);
    bool next_is_word();
    // Takes `symbol` if it is next.
    bool accept(std::string_view symbol);
    // Takes `symbol`, or throws: "expected WHAT".
    void expect(std::string_view symbol, std::string_view what);

    // Whether `symbol` stands at the place itself, without blanks before it.
    bool at_text(std::string_view symbol) const { return rest().starts_with(symbol); }

    // Takes a bare word; "" if none is next. It points into the source.
    std::string_view word();
    // Takes a quoted text, and gives what is between the quotes. A quote must be next.
    std::string quoted();
    // Takes digits, which must stand at the place itself. A number that is too large is UINT64_MAX.
    std::uint64_t digits();

    [[noreturn]] void expected(std::string_view what);
    [[noreturn]] void fail(const std::string& reason, std::size_t place) const;

private:
    std::string_view rest() const { return std::string_view(source_.text).substr(place_); }

    const RuleText& source_;
    std::size_t place_ = 0;
};

// `text` as a quoted text of the language, for messages and for rules.
std::string in_quotes(std::string_view text);

// The name of a column as a user would type it: bare if it is a plain word of ASCII, in quotes otherwise.
std::string as_typed(std::string_view name);

}  // namespace cleave
