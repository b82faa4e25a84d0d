// Reads the tokens of a rule or of a list of columns from front to back. Knows words and quotes, but no grammar.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "cleave/stage_error.h"

namespace cleave {

// Every function except fail(), at_text(), part() and digits() first skips blanks. Errors are RuleErrors with the
// scanner's place.
class RuleScanner {
public:
    // `source` must outlive the scanner.
    explicit RuleScanner(const RuleText& source) : source_(source) {}

    // The byte offset of the next token.
    std::size_t place();
    // Continues at this offset.
    void go_to(std::size_t place) { place_ = place; }
    bool at_end();
    bool next_is(std::string_view symbol);
    bool next_is_word();
    // Takes `symbol` if it is next.
    bool accept(std::string_view symbol);
    // Takes `symbol`, or throws: "expected WHAT".
    void expect(std::string_view symbol, std::string_view what);

    // Whether `symbol` is at the current position, without blanks before it.
    bool at_text(std::string_view symbol) const { return rest().starts_with(symbol); }

    // Takes a bare word, which points into the source; "" if none is next.
    std::string_view word();
    // Takes the bytes of a word that are at the current position, up to one of `stops`.
    std::string_view part(std::string_view stops);
    // Takes a quoted string and returns what is between the quotes. A quote must be next.
    std::string quoted();
    // Takes digits, which must be at the current position. Returns UINT64_MAX if the number is too large.
    std::uint64_t digits();

    [[noreturn]] void expected(std::string_view what);
    [[noreturn]] void fail(const std::string& reason, std::size_t place) const;

private:
    std::string_view rest() const { return std::string_view(source_.text).substr(place_); }

    const RuleText& source_;
    std::size_t place_ = 0;
};

// Puts `text` in quotes as the rule language does, for messages and rules.
std::string in_quotes(std::string_view text);

// The name of a column as a user would type it: bare if it is a plain ASCII word, otherwise in quotes.
std::string as_typed(std::string_view name);

}  // namespace cleave
