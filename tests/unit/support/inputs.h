// What the tests feed to the library: every kind of dialect, and random texts in which the bytes that mean something
// collide. Everything is made from a seed.
//
// CLEAVE_TEST_SEED=N adds N to every seed of a run, for other texts than those of the gate: `./dev prove` sets it. A
// test that fails names its seed without N, so set the same N to repeat it. CLEAVE_TEST_ROUNDS=N runs N percent of the
// rounds.
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

// How many rounds of a random test to run, of the `count` that it has: half, and a quarter where each is slow, unless
// CLEAVE_TEST_ROUNDS says otherwise. At least one.
unsigned rounds(unsigned count);

class Random;

// Terminators times escapes times with and without quotes: 18 dialects of the `field-start` rule.
std::vector<Dialect> every_dialect();
// The same under both rules: 36.
std::vector<Dialect> every_dialect_and_rule();

// The dialect, now and then with a preamble, which may be longer than the text.
Dialect led_at_random(Dialect dialect, Random& random);

std::string describe(const Dialect& dialect);
// Empty records that a text may begin with, and nothing: with and without a byte order mark, with every line end.
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

// The bytes that mean something in the dialect or in one like it, and plain data.
std::string alphabet_of(const Dialect& dialect);

// Any bytes of the alphabet, without rhyme or reason.
std::string random_noise(Random& random, std::string_view alphabet, std::size_t size);

// Fields and records as a writer of the dialect makes them, cut off at `size`. `stray_percent` of the fields have a
// quote where none should be.
std::string random_csv(Random& random, const Dialect& dialect, std::size_t size, unsigned stray_percent);

// Of the above by chance.
std::string random_text(Random& random, const Dialect& dialect, std::size_t size);

}  // namespace cleave::test
