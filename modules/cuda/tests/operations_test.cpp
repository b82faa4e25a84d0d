// Compares operations of src/features/redact/stage on a device with the same operations on the CPU, which have their
// own unit test, stage/operations.
#include "cuda/tests/operation_rows.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "cuda/device.h"
#include "cuda/managers.h"
#include "cuda/rows.h"
#include "cuda/tests/emulation.h"
#include "cuda/tests/values.h"
#include "features/redact/stage/operations/bucket.h"
#include "features/redact/stage/operations/date.h"
#include "features/redact/stage/operations/email.h"
#include "features/redact/stage/operations/fixed.h"
#include "features/redact/stage/operations/initials.h"
#include "features/redact/stage/operations/keep.h"
#include "features/redact/stage/operations/mask.h"
#include "features/redact/stage/operations/null.h"
#include "features/redact/stage/operations/short_name.h"

namespace cleave::cuda {
namespace {

// Values on which each operation has an effect.
std::vector<HostValue> make_values(std::size_t rows, std::uint64_t seed) {
    static const std::vector<std::string> kPieces{"2024-02-29",
                                                  "2023-13-01T10:00:00Z",
                                                  "-1234.5678",
                                                  "0099",
                                                  "+7",
                                                  "ada@example.org",
                                                  "a.b@c",
                                                  "@",
                                                  "é",
                                                  "日本",
                                                  "😀",
                                                  "\xFF",
                                                  " ",
                                                  "John Doe",
                                                  "999999999999999999999",
                                                  "-0.01",
                                                  "x"};
    std::mt19937_64 random(seed);
    std::vector<HostValue> values;
    for (std::size_t i = 0; i < rows; ++i) {
        values.emplace_back();
        if (random() % 9 == 0) continue;
        values.back().emplace();
        for (std::uint64_t k = random() % 4; k > 0; --k) *values.back() += kPieces[random() % kPieces.size()];
    }
    values[rows / 2] = std::string(40'000, 'y') + "@example.org";
    return values;
}

template <class Operation>
std::vector<HostValue> on_the_cpu(const Operation& operation, const std::vector<HostValue>& values) {
    std::vector<HostValue> result;
    NoHasher hasher;
    for (const HostValue& value : values) {
        result.emplace_back();
        if (!value) continue;
        const Value input{reinterpret_cast<const std::uint8_t*>(value->data()), value->size()};
        std::string out(operation.bound(input.size) + 1, '\0');
        const std::uint64_t size = operation.write(input, reinterpret_cast<std::uint8_t*>(out.data()), hasher);
        if (size != kBecomesNull) result.back() = out.substr(0, size);
    }
    return result;
}

template <class Operation>
void check_operation(const Operation& operation) {
    SCOPED_TRACE(Operation::kName);
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
        SCOPED_TRACE(seed);
        set_seed(seed);
        Device device(open_manager("cuda"));
        const std::vector<HostValue> values = make_values(1300, seed);
        const DeviceStrings column = to_device(device, values);
        const OperationRows<Operation> functor{{}, operation};
        const DeviceStrings made = RowsMaker<OperationRows<Operation>>(device, {column.view()}, column.rows, functor)
                                       .template in_two_passes<ShortRows>();
        EXPECT_EQ(to_host(device, made.view()), on_the_cpu(operation, values));
    }
    EXPECT_EQ(live_allocations(), 0U);
}

TEST(OperationsOnDevice, GiveWhatTheyGiveOnTheCpu) {
    check_operation(Keep{});
    check_operation(Null{});
    check_operation(Initials{});
    check_operation(ShortName{});
    check_operation(Email{});
    Fixed fixed;
    for (const char letter : {'n', 'o', 'n', 'e'}) fixed.text[fixed.size++] = static_cast<std::uint8_t>(letter);
    check_operation(fixed);
    Mask mask;
    mask.first = 1;
    mask.last = 2;
    check_operation(mask);
    Date date;
    date.size = 7;
    check_operation(date);
    Bucket bucket;
    bucket.width = 250;
    bucket.decimals = 2;
    check_operation(bucket);
}

}  // namespace
}  // namespace cleave::cuda
