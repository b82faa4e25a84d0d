// The 128-bit division of the portable command, under other names, compared with the compiler's.
#include <gtest/gtest.h>

#include <cstdint>
#include <random>

__extension__ using Wide = unsigned __int128;
__extension__ using SignedWide = __int128;
extern "C" Wide portable_udivti3(Wide dividend, Wide divisor);
extern "C" SignedWide portable_divti3(SignedWide dividend, SignedWide divisor);

namespace {

// Numbers of any width, concentrated at the widths where the code branches.
Wide draw(std::mt19937_64& random) {
    Wide number = Wide{random()} << 64U | random();
    number >>= random() % 128;
    if (random() % 4 == 0) number = ~Wide{0} >> random() % 128;
    if (random() % 4 == 0) number = Wide{1} << random() % 128;
    return number + random() % 3 - 1;
}

void compare(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    for (int i = 0; i < 100000; ++i) {
        const Wide dividend = draw(random);
        const Wide divisor = draw(random);
        if (divisor == 0) continue;
        const auto one = static_cast<SignedWide>(dividend);
        const auto other = static_cast<SignedWide>(divisor);
        const bool is_too_large = dividend == Wide{1} << 127U && other == -1;  // the quotient does not fit
        ASSERT_TRUE(is_too_large || portable_divti3(one, other) == one / other);
        ASSERT_TRUE(portable_udivti3(dividend, divisor) == dividend / divisor)
            << static_cast<std::uint64_t>(dividend >> 64U) << ' ' << static_cast<std::uint64_t>(dividend) << " / "
            << static_cast<std::uint64_t>(divisor >> 64U) << ' ' << static_cast<std::uint64_t>(divisor);
    }
}

TEST(WideDivision, IsThatOfTheCompiler) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) compare(seed);
}

}  // namespace
