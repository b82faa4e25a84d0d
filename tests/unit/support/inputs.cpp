#include "inputs.h"

#include <array>
#include <cstdio>
#include <cstdlib>

namespace cleave::test {
namespace {

constexpr std::array kTerminators = {Terminator::kLf, Terminator::kCr, Terminator::kAny};

// Adds a quoted field whose quotes are doubled or escaped.
void add_quoted_field(Random& random, const Dialect& dialect, std::size_t size, std::string& text) {
    const std::string alphabet = alphabet_of(dialect);
    const char quote = static_cast<char>(*dialect.quote);
    text += quote;
    for (std::size_t i = 0; i < size; ++i) {
        const char byte = random.one_of(alphabet);
        const bool special = byte == quote || dialect.escape == static_cast<std::uint8_t>(byte);
        if (special)
            text += dialect.escape && (byte != quote || random.chance(50)) ? static_cast<char>(*dialect.escape) : quote;
        text += byte;
    }
    text += quote;
}

void add_unquoted_field(Random& random, const Dialect& dialect, std::size_t size, std::string& text) {
    for (std::size_t i = 0; i < size; ++i) {
        if (dialect.escape && random.chance(10)) {
            text += static_cast<char>(*dialect.escape);
            if (dialect.escape_scope == EscapeScope::kEverywhere) text += random.one_of(alphabet_of(dialect));
        } else {
            text += random.one_of("abc'");
        }
    }
}

std::string random_terminator(Random& random, Terminator terminator) {
    if (terminator == Terminator::kLf) return random.chance(50) ? "\n" : "\r\n";
    if (terminator == Terminator::kCr) return "\r";
    return std::array<std::string, 3>{"\n", "\r", "\r\n"}[random.below(3)];
}

std::uint64_t first_seed() {
    static const char* const kFirst = std::getenv("CLEAVE_TEST_SEED");  // NOLINT(concurrency-mt-unsafe): nobody sets it
    static const std::uint64_t kSeed = kFirst == nullptr ? 0 : std::stoull(kFirst);
    return kSeed;
}

unsigned percent_of_rounds() {
    static const char* const kWanted = std::getenv("CLEAVE_TEST_ROUNDS");  // NOLINT(concurrency-mt-unsafe): likewise
    static const std::uint64_t kPercent = kWanted == nullptr ? (kSanitized ? 2 : 10) : std::stoull(kWanted);
    return static_cast<unsigned>(kPercent);
}

}  // namespace

unsigned rounds(unsigned count) { return std::max(1U, (count * percent_of_rounds() + 99) / 100); }

bool is_thorough() { return percent_of_rounds() >= 100; }

std::size_t stride(std::size_t usual, std::size_t sanitized) {
    if (is_thorough()) return 1;
    return kSanitized ? sanitized : usual;
}

Random::Random(std::uint64_t seed) : engine_(first_seed() + seed) {}

std::vector<Dialect> every_dialect() {
    std::vector<Dialect> dialects;
    for (const Terminator terminator : kTerminators) {
        for (const bool quotes : {true, false}) {
            Dialect dialect;
            dialect.terminator = terminator;
            if (!quotes) dialect.quote.reset();
            dialects.push_back(dialect);
            dialect.escape = '\\';
            dialects.push_back(dialect);
            dialect.escape_scope = EscapeScope::kQuoted;
            dialects.push_back(dialect);
        }
    }
#ifdef __SANITIZE_THREAD__
    dialects = {dialects[0], dialects[7]};  // the other dialects use nothing more that threads share
#endif
    return dialects;
}

std::vector<Dialect> every_dialect_and_rule() {
    std::vector<Dialect> dialects = every_dialect();
    for (Dialect dialect : every_dialect()) {
        dialect.quoting = Quoting::kAnywhere;
        dialects.push_back(dialect);
    }
    return dialects;
}

std::vector<Dialect> some_dialects() {
    const std::vector<Dialect> all = every_dialect_and_rule();
    std::vector<Dialect> some;
    for (std::size_t i = 0; i < all.size(); i += all.size() < 18 ? 1 : stride(5, 5)) some.push_back(all[i]);
    return some;
}

Dialect led_at_random(Dialect dialect, Random& random) {
    if (random.chance(20)) dialect.preamble = 1 + random.below(random.chance(50) ? 10 : 400);
    return dialect;
}

std::vector<std::string> empty_starts() {
    std::vector<std::string> starts;
    for (const std::string mark : {"", "\xEF\xBB\xBF"}) {
        for (const char* breaks : {"", "\n", "\r\n", "\r", "\n\n", "\r\r\n", "\n\r", "\r\n\r\n\n", "\r\r\r"}) {
            starts.push_back(mark + breaks);
        }
    }
    return starts;
}

std::string describe(const Dialect& dialect) {
    std::string text = dialect.quoting == Quoting::kFieldStart ? "field-start" : "anywhere";
    text += std::array{", lf", ", cr", ", any"}[static_cast<std::size_t>(dialect.terminator)];
    text += dialect.quote ? ", quotes" : ", no quotes";
    if (dialect.header == HeaderRecord::kFirst) text += ", header first";
    if (dialect.header == HeaderRecord::kNone) text += ", no header";
    if (dialect.preamble > 0) text += ", preamble " + std::to_string(dialect.preamble);
    if (!dialect.escape) return text + ", no escape";
    return text + (dialect.escape_scope == EscapeScope::kEverywhere ? ", escape everywhere" : ", escape quoted");
}

std::string shown(std::string_view text) {
    std::string result;
    for (const char c : text) {
        if (c == '\n') {
            result += "\\n";
        } else if (c == '\r') {
            result += "\\r";
        } else if (c == '\\') {
            result += "\\\\";
        } else if (c >= ' ' && c <= '~') {
            result += c;
        } else {
            std::array<char, 5> code{};
            (void)std::snprintf(code.data(), code.size(), "\\x%02X",
                                static_cast<unsigned>(static_cast<unsigned char>(c)));
            result += code.data();
        }
    }
    return result;
}

std::string alphabet_of(const Dialect& dialect) {
    std::string alphabet = "a\n\r";
    alphabet += static_cast<char>(dialect.quote.value_or('"'));
    alphabet += static_cast<char>(dialect.delimiter);
    if (dialect.escape) alphabet += static_cast<char>(*dialect.escape);
    return alphabet;
}

std::string random_noise(Random& random, std::string_view alphabet, std::size_t size) {
    std::string text(size, 'a');
    // Sometimes dense, sometimes mostly plain data.
    const unsigned density = random.chance(50) ? 100 : 10;
    for (char& byte : text) {
        if (random.chance(density)) byte = random.one_of(alphabet);
    }
    return text;
}

std::string random_csv(Random& random, const Dialect& dialect, std::size_t size, unsigned stray_percent) {
    std::string text;
    const unsigned quoted_percent = dialect.quote ? static_cast<unsigned>(random.below(101)) : 0;
    const std::size_t longest = random.chance(30) ? 200 : 5;
    while (text.size() < size) {
        const std::size_t field_size = random.below(longest + 1);
        if (random.chance(quoted_percent)) {
            add_quoted_field(random, dialect, field_size, text);
        } else {
            add_unquoted_field(random, dialect, field_size, text);
        }
        if (random.chance(stray_percent)) text += static_cast<char>(dialect.quote.value_or('"'));
        if (random.chance(70)) {
            text += static_cast<char>(dialect.delimiter);
        } else {
            text += random_terminator(random, dialect.terminator);
        }
    }
    text.resize(size);
    return text;
}

std::string random_text(Random& random, const Dialect& dialect, std::size_t size) {
    switch (random.below(4)) {
        case 0: return random_noise(random, alphabet_of(dialect), size);
        case 1: return random_csv(random, dialect, size, 5);
        default: return random_csv(random, dialect, size, 0);
    }
}

}  // namespace cleave::test
