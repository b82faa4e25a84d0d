// 128-bit division for the command that is linked with glibc. The compiler's own library has it in one object with
// copies of memcpy() and related functions. A program that links the division gets these copies too, and they replace
// glibc's versions, which are tuned to the processor. With the copies, `split --by` takes 1.2 times as long.
//
// Most numbers fit in 64 bits. Others are divided bit by bit: the remainder so far is shifted to take in the next bit
// of the dividend, and if the divisor fits, it is subtracted and the bit of the quotient is 1. This takes 128 steps.
#include <cstdint>

#ifdef CLEAVE_WIDE_DIVISION_TEST
#define CLEAVE_WIDE_DIVISION(name) portable##name
#else
#define CLEAVE_WIDE_DIVISION(name) _##name
#endif

__extension__ using Wide = unsigned __int128;
__extension__ using SignedWide = __int128;

extern "C" Wide CLEAVE_WIDE_DIVISION(_udivti3)(Wide dividend, Wide divisor) {
    const auto is_narrow = [](Wide number) { return static_cast<std::uint64_t>(number >> 64U) == 0; };
    if (is_narrow(dividend) && is_narrow(divisor)) {
        return static_cast<std::uint64_t>(dividend) / static_cast<std::uint64_t>(divisor);
    }
    Wide quotient = 0;
    Wide rest = 0;
    for (unsigned bit = 128; bit-- > 0;) {
        const bool is_carried = (rest >> 127U) != 0;  // the remainder then has 129 bits, and the divisor fits
        rest = rest << 1U | (dividend >> bit & 1U);
        if (!is_carried && rest < divisor) continue;
        rest -= divisor;
        quotient |= Wide{1} << bit;
    }
    return quotient;
}

// Rounds towards 0. libc++ uses it to divide file times.
extern "C" SignedWide CLEAVE_WIDE_DIVISION(_divti3)(SignedWide dividend, SignedWide divisor) {
    const auto size_of = [](SignedWide number) {
        return number < 0 ? -static_cast<Wide>(number) : static_cast<Wide>(number);
    };
    const Wide quotient = CLEAVE_WIDE_DIVISION(_udivti3)(size_of(dividend), size_of(divisor));
    return static_cast<SignedWide>((dividend < 0) != (divisor < 0) ? -quotient : quotient);
}
