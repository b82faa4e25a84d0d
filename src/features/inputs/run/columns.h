// The columns of several inputs: whether they are the same, and how records get those of the first one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cleave/error.h"
#include "cleave/fields.h"
#include "cleave/kernel.h"
#include "engine/joined.h"
#include "rows/values/index_columns.h"

namespace cleave {

// How the columns of an input become those of the first one.
struct Order {
    static constexpr std::size_t kMissing = SIZE_MAX;
    std::size_t count = 0;            // of fields in a record
    std::vector<std::size_t> fields;  // for each field to write, its number in a record, or kMissing

    bool operator==(const Order&) const = default;
};

// Nothing if the columns are `wanted`, those of the first input. Throws InputError if they cannot become these. Names
// may be values, of a file without a header.
std::optional<Order> order_of(const InputColumns& columns, const InputColumns& wanted, const JoinOptions& options);

// Puts the fields of records into another order, which must outlive it. For one thread.
class Rearranger {
public:
    Rearranger(const Dialect& dialect, const Kernel& kernel, const Order& order, Place place);

    // The records that end in the bytes so far; valid until the next call. Throws InputError for a record with another
    // number of fields, for one that readers may read differently, and for one that is too long.
    std::span<const std::uint8_t> add(std::span<const std::uint8_t> bytes, bool at_end);

private:
    void write(const RecordBlock& block, std::size_t r);

    const Dialect dialect_;
    const Order& order_;
    Place place_;  // of what waits
    FieldReader reader_;
    std::size_t least_ = 0;  // how much must wait before it is read
    std::vector<std::uint8_t> waiting_;
    std::vector<std::uint8_t> out_;
};

}  // namespace cleave
