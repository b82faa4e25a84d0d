// bucket(WIDTH): a decimal number of any length is rounded down to a multiple of WIDTH, with as many decimals as WIDTH
// has. Anything else becomes null.
//
// Let WIDTH be W / 10^d, with d decimals. The value without its sign, times 10^d, is an integer n plus a fraction. Let
// r = n mod W. A value of zero or more becomes n - r. A negative value becomes -n if both r and the fraction are 0, and
// otherwise -(n - r + W). Then the point is put before the last d digits.
//
//   n of up to 18 digits (nearly always): a single 64-bit number
//   longer: r is found digit by digit (r < 10^18, so 10 r + 9 fits into 64 bits). n is split into a head and an
//   18-digit tail. The tail is a number; a borrow or a carry changes the head by one. That affects only the run of 0s
//   or 9s at the end of the head, and the digit before the run.
#pragma once

#include <cstdint>

#include "features/redact/stage/arguments.h"
#include "features/redact/stage/decimal.h"
#include "features/redact/stage/syntax.h"
#include "features/redact/stage/value.h"

namespace cleave {

struct Bucket {
    static constexpr const char* kName = "bucket";
    static constexpr std::uint64_t kMaxDigits = 18;
    static constexpr std::uint64_t kTail = 1'000'000'000'000'000'000;  // 10^18

    static Bucket parse(const OperationSyntax& syntax, RuleScope&) {
        const ScaledLimit limit = take_width(syntax, "bucket(WIDTH)", kMaxDigits);
        return {limit.units, limit.decimals};
    }

    // Room for a sign, the point and a carried digit, plus the digits of the value or, if that is more, of WIDTH with a
    // leading 0.
    CLEAVE_DEVICE std::uint64_t bound(std::uint64_t size) const {
        return 3 + (size < kMaxDigits + 1 ? kMaxDigits + 1 : size) + decimals;
    }

    template <class H>
    CLEAVE_DEVICE std::uint64_t measure(Value value, H&) const {
        const Number number = number_of(value);
        return number.is_number ? size_of(rounded(number)) : kBecomesNull;
    }

    template <class H>
    CLEAVE_DEVICE std::uint64_t write(Value value, std::uint8_t* out, H&) const {
        const Number number = number_of(value);
        if (!number.is_number) return kBecomesNull;
        const Result result = rounded(number);
        std::uint8_t* at = out;
        if (result.is_negative) *at++ = '-';

        // First writes the digits without the point, then moves the decimals up by one byte.
        if (result.head_digits == 0) {
            at += write_digits(result.tail, result.digits, at);
        } else {
            write_head(number, result, at);
            at += result.head_digits;
            at += write_digits(result.tail, kMaxDigits, at);
        }
        if (decimals > 0) {
            for (std::uint64_t i = 0; i < decimals; ++i) *(at - i) = *(at - i - 1);
            *(at - decimals) = '.';
            ++at;
        }
        return static_cast<std::uint64_t>(at - out);
    }

    std::uint64_t width = 1;     // W
    std::uint64_t decimals = 0;  // d

private:
    // The parts of the value. Digit i of n is `whole[i]`, then come the decimals, then zeros.
    struct Number {
        bool is_number;
        bool is_negative;
        bool has_rest;              // a digit after the first d decimals is not 0
        const std::uint8_t* whole;  // without leading zeros
        std::uint64_t whole_size;
        const std::uint8_t* decimals;
        std::uint64_t decimals_size;
    };

    struct Result {
        bool is_negative;
        int step;                   // -1, 0 or 1: the change of the head
        std::uint64_t head_digits;  // the number of digits in the head after the change; 0 if there is no head
        std::uint64_t tail;
        std::uint64_t digits;  // the number of digits in the result, at least d + 1
    };

    CLEAVE_DEVICE Number number_of(Value value) const {
        Number number{};
        const std::uint8_t* at = value.data;
        const std::uint8_t* const end = at + value.size;
        if (at != end && (*at == '-' || *at == '+')) number.is_negative = *at++ == '-';
        const std::uint8_t* const first = at;
        while (at != end && is_digit(*at)) ++at;
        if (at == first) return number;
        number.whole = first;
        number.whole_size = static_cast<std::uint64_t>(at - first);
        if (at != end) {
            if (*at != '.' || at + 1 == end) return number;
            number.decimals = ++at;
            number.decimals_size = static_cast<std::uint64_t>(end - at);
            for (std::uint64_t i = 0; i < number.decimals_size; ++i, ++at) {
                if (!is_digit(*at)) return number;
                number.has_rest = number.has_rest || (i >= decimals && *at != '0');
            }
        }
        while (number.whole_size > 0 && *number.whole == '0') {
            ++number.whole;
            --number.whole_size;
        }
        number.is_number = true;
        return number;
    }

    // Digit i of n.
    CLEAVE_DEVICE static unsigned digit_at(const Number& number, std::uint64_t i) {
        if (i < number.whole_size) return number.whole[i] - '0';
        i -= number.whole_size;
        return i < number.decimals_size ? number.decimals[i] - '0' : 0U;
    }

    CLEAVE_DEVICE static std::uint64_t digits_of(const Number& number, std::uint64_t from, std::uint64_t to) {
        std::uint64_t result = 0;
        for (std::uint64_t i = from; i < to; ++i) result = 10 * result + digit_at(number, i);
        return result;
    }

    // All of n, if it has at most 18 digits.
    CLEAVE_DEVICE std::uint64_t small_number(const Number& number) const {
        std::uint64_t n = 0;
        for (std::uint64_t i = 0; i < number.whole_size; ++i) n = 10 * n + (number.whole[i] - '0');
        for (std::uint64_t i = 0; i < decimals; ++i) {
            n = 10 * n + (i < number.decimals_size ? number.decimals[i] - '0' : 0U);
        }
        return n;
    }

    CLEAVE_DEVICE Result rounded(const Number& number) const {
        const std::uint64_t count =
            number.whole_size + decimals;  // digits of n, with zeros in front if whole_size is 0
        Result result{};
        if (count <= kMaxDigits) {
            const std::uint64_t n = small_number(number);
            const std::uint64_t remainder = n % width;
            const bool is_up = number.is_negative && (remainder != 0 || number.has_rest);
            result.tail = n - remainder + (is_up ? width : 0);
            result.is_negative = number.is_negative && result.tail != 0;
            return with_digits(result);
        }
        std::uint64_t remainder = 0;
        for (std::uint64_t i = 0; i < count; ++i) remainder = (10 * remainder + digit_at(number, i)) % width;
        const std::uint64_t head = count - kMaxDigits;
        result.tail = digits_of(number, head, count);
        result.head_digits = head;
        if (number.is_negative && (remainder != 0 || number.has_rest)) {
            result.tail += width - remainder;
            if (result.tail >= kTail) {
                result.tail -= kTail;
                result.step = 1;
                if (run_at_end(number, head, 9) == head) ++result.head_digits;
            }
        } else if (result.tail >= remainder) {
            result.tail -= remainder;
        } else {
            result.tail += kTail - remainder;
            result.step = -1;
            // The head is a 1 followed by zeros.
            if (digit_at(number, 0) == 1 && run_at_end(number, head, 0) == head - 1) --result.head_digits;
        }
        // A head is not 0 before it changes, so a result of 0 has no head.
        result.is_negative = number.is_negative && (result.head_digits != 0 || result.tail != 0);
        return with_digits(result);
    }

    CLEAVE_DEVICE Result with_digits(Result result) const {
        const std::uint64_t digits =
            result.head_digits != 0 ? result.head_digits + kMaxDigits : digit_count(result.tail);
        result.digits = digits > decimals ? digits : decimals + 1;
        return result;
    }

    CLEAVE_DEVICE std::uint64_t size_of(const Result& result) const {
        return (result.is_negative ? 1 : 0) + result.digits + (decimals > 0 ? 1 + decimals : 0) - decimals;
    }

    // The length of the run of `digit` at the end of the first `count` digits of n.
    CLEAVE_DEVICE static std::uint64_t run_at_end(const Number& number, std::uint64_t count, unsigned digit) {
        std::uint64_t run = 0;
        while (run < count && digit_at(number, count - 1 - run) == digit) ++run;
        return run;
    }

    // Writes the changed head, right-aligned with the head of n.
    CLEAVE_DEVICE void write_head(const Number& number, const Result& result, std::uint8_t* out) const {
        const std::uint64_t count = number.whole_size + decimals - kMaxDigits;
        bool is_changing = result.step != 0;
        for (std::uint64_t i = 0; i < result.head_digits; ++i) {
            const unsigned old = i < count ? digit_at(number, count - 1 - i) : 0;
            unsigned digit = old;
            if (is_changing) {
                const unsigned wraps_at = result.step > 0 ? 9 : 0;
                digit = old == wraps_at ? 9 - wraps_at : static_cast<unsigned>(static_cast<int>(old) + result.step);
                is_changing = old == wraps_at;
            }
            out[result.head_digits - 1 - i] = static_cast<std::uint8_t>('0' + digit);
        }
    }
};

}  // namespace cleave
