// What the tests feed to the library: every kind of dialect, and random texts in which significant bytes collide.
// Everything is generated from a seed.
//
// CLEAVE_TEST_SEED=N adds N to every seed of a run, to get different texts from those that the gate tests; `./dev
// prove` sets it. A failing test prints its seed without N, so set the same N to repeat it. CLEAVE_TEST_ROUNDS=N runs N
// percent of the rounds.
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cleave/dialect.h"

namespace cleave::test {

#ifdef CLEAVE_SANITIZED
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

// How many of a random test's `count` rounds to run: a tenth of them, or a fiftieth in sanitised builds, unless
// CLEAVE_TEST_ROUNDS says otherwise; at least one.
unsigned rounds(unsigned count);

// Whether all rounds are run.
bool is_thorough();

// How far apart the inputs are that a test takes from a sequence of similar ones: `usual`, or `sanitized` in sanitised
// builds; 1 in a thorough run. Neither may share a divisor with a period of the sequence.
std::size_t stride(std::size_t usual, std::size_t sanitized);

class Random;

// Every combination of terminator, escape, and quotes or none: 18 dialects in quote mode `field-start`.
std::vector<Dialect> every_dialect();
// The same dialects in both quote modes: 36.
std::vector<Dialect> every_dialect_and_rule();
// Eight of these, with each terminator, escape and rule, with quotes and without; all of them in a thorough run.
std::vector<Dialect> some_dialects();

// The dialect, sometimes with a preamble, which may be longer than the text.
Dialect led_at_random(Dialect dialect, Random& random);

std::string describe(const Dialect& dialect);
// The empty records that a text may begin with, including none: with and without a byte order mark, with every line
// end.
std::vector<std::string> empty_starts();

// The text with everything but plain ASCII written as escapes.
std::string shown(std::string_view text);

inline std::span<const std::uint8_t> bytes_of(std::string_view text) {
    return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

class Random {
public:
    explicit Random(std::uint64_t seed);

    std::size_t below(std::size_t limit) { return static_cast<std::size_t>(engine_() % limit); }
    bool chance(unsigned percent) { return below(100) < percent; }
    char one_of(std::string_view alphabet) { return alphabet[below(alphabet.size())]; }

private:
    std::mt19937_64 engine_;
};

// The bytes that are significant in this dialect or a similar one, and some plain data.
std::string alphabet_of(const Dialect& dialect);

// Random bytes of the alphabet, without any structure.
std::string random_noise(Random& random, std::string_view alphabet, std::size_t size);

// Fields and records as a program that writes the dialect would write them, cut off at `size`. `stray_percent` of the
// fields have a quote where none belongs.
std::string random_csv(Random& random, const Dialect& dialect, std::size_t size, unsigned stray_percent);

// Any of the above, at random.
std::string random_text(Random& random, const Dialect& dialect, std::size_t size);

}  // namespace cleave::test
