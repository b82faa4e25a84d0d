// A plain library for the columns of a table: texts, flags that select rows, filters and sums. table.h annotates it.
#pragma once

#include <string>

#include "numbers.h"

namespace numbers {

using Flags = Column<std::uint8_t>;  // 0 or 1

// Text i is from offsets[i] to offsets[i + 1], counted from `first` before the first byte; at most 4 GiB in total.
struct Texts {
    Column<std::uint32_t> offsets;  // one more than there are texts
    Column<char> bytes;
    std::uint32_t first = 0;

    std::uint64_t size() const { return offsets.size - 1; }
};

// A number for all rows together.
struct Total {
    Numbers sum;  // one number

    double value() const { return sum.data[0]; }
};

Flags operator>(const Numbers& x, double limit);
Flags operator<(const Numbers& x, double limit);
Flags operator&(const Flags& x, const Flags& y);
Flags starts_with(const Texts& texts, const std::string& prefix);
// The numbers whose flag is set.
Numbers filter(const Numbers& x, const Flags& flags);
// `value` where the flag is set, and the number elsewhere.
Numbers replace(const Numbers& x, const Flags& flags, double value);
Total sum(const Numbers& x);

}  // namespace numbers
