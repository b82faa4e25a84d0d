// Tests columns with 64-bit offsets. Here the limit of 32-bit ones is lowered, so that small columns become large; on a
// device there is a column of 3 GB, too.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "cuda/bench/people.h"
#include "cuda/bench/public_name.h"
#include "cuda/bench/redact.h"
#include "cuda/device.h"
#include "cuda/managers.h"
#include "cuda/offsets.h"
#include "cuda/rows.h"
#include "cuda/tests/emulation.h"
#include "cuda/tests/values.h"

namespace cleave::cuda {
namespace {

using Form = DeviceStrings (*)(Device& device, const StringsView& names, const StringsView& visibilities);
constexpr std::array<Form, 5> kForms{&redact_composed, &redact_with_malloc, &redact_with_working_memory,
                                     &redact_in_two_passes, &redact_in_one_pass};
constexpr std::uint64_t kUsualLimit = INT32_MAX;

DeviceStrings to_device(Device& device, const std::vector<HostValue>& values, bool is_large) {
    return is_large ? to_device<std::int64_t>(device, values) : to_device(device, values);
}

// Calls `check(device, names, visibilities, limit)` with each column large and not, and with each limit.
template <class Check>
void for_all_kinds(const People& people, const std::vector<std::uint64_t>& limits, Check check) {
    for (const int kinds : {0, 1, 2, 3}) {
        if ((kinds == 1 || kinds == 2) && !is_thorough()) continue;
        for (const std::uint64_t limit : limits) {
            SCOPED_TRACE(testing::Message() << "kinds " << kinds << ", limit " << limit);
            Device device(open_manager("cuda"));
            device.set_small_limit(limit);
            const DeviceStrings names = to_device(device, people.names, (kinds & 1) != 0);
            const DeviceStrings visibilities = to_device(device, people.visibilities, (kinds & 2) != 0);
            check(device, names.view(), visibilities.view(), limit);
        }
    }
}

TEST(LargeColumns, FormsGiveTheSame) {
    for (const std::size_t rows : {0, 1, 257, 900}) {
        SCOPED_TRACE(rows);
        const People people = make_people(rows, rows, 5);
        set_seed(rows);
        for_all_kinds(people, {0, kUsualLimit}, [&](Device& device, const auto& names, const auto& shown, auto limit) {
            for (const Form form : kForms) {
                const DeviceStrings made = form(device, names, shown);
                EXPECT_EQ(to_host(device, made.view()), redacted(people));
                EXPECT_EQ(made.is_large, static_cast<std::uint64_t>(made.size) > limit);
            }
        });
    }
    EXPECT_EQ(live_allocations(), 0U);
}

#ifdef CLEAVE_CUDA_EMULATED  // Each shape takes nvcc a few seconds.
// Values that fit in shared memory and others, and a limit around what is guessed and around what it becomes.
template <class Shape>
void check_shape() {
    People people = make_people(3 * Shape::kRows + 17, 5, 9);
    people.names[Shape::kRows / 2] = std::string(100'000, 'f') + " Last";
    people.visibilities[Shape::kRows / 2] = "public";
    people.visibilities[Shape::kRows + 1] = "public" + std::string(50'000, ' ');
    const std::vector<HostValue> expected = redacted(people);
    std::uint64_t size = 0;
    for (const HostValue& value : expected) size += value ? value->size() : 0;
    for_all_kinds(people, {100, size - 1, size, kUsualLimit},
                  [&](Device& device, const StringsView& names, const StringsView& visibilities, std::uint64_t limit) {
                      using Maker = RowsMaker<PublicName>;
                      const auto maker = [&] { return Maker(device, {names, visibilities}, names.rows, {}); };
                      const DeviceStrings all[] = {maker().template in_one_pass<Shape>(),
                                                   maker().template in_two_passes<Shape>(),
                                                   maker().template trimmed<Shape>()};
                      for (const DeviceStrings& made : all) {
                          EXPECT_EQ(to_host(device, made.view()), expected);
                          EXPECT_EQ(made.is_large, size > limit);
                      }
                  });
    EXPECT_EQ(live_allocations(), 0U);
}

TEST(LargeColumns, EveryShape) {
    set_seed(3);
    check_shape<ShortRowsToShorten>();
    check_shape<LongRows>();
    check_shape<TileShape<1, 2, 1>>();
}
#endif

// Nearly 2^31 bytes, or 2^30, or none, which are not written: places exceed 2^32 in strips, warps and tiles.
struct Giant : SizedRows<0, false, false> {
    __host__ __device__ static std::uint32_t size_of(std::int32_t row) {
        return row % 5 == 0 ? INT32_MAX : row % 5 == 1 ? 0 : 1U << 30;
    }
    template <class Text>
    __device__ Measured measure(const Row<0, Text>& row) const {
        return {size_of(row.index)};
    }
    template <class Text>
    __device__ void write(const Row<0, Text>&, Measured, std::uint8_t*) const {}
    static std::uint64_t bound(const std::uint64_t*, std::uint64_t) { return 0; }
};

struct SmallGiant : Giant {
    static constexpr bool kStaysSmall = true;
};

TEST(LargeColumns, PlacesAbove32Bits) {
    Device device(open_manager("cuda"));
    for (const std::int32_t rows : {2, 3, 64, 300, 2000}) {
        SCOPED_TRACE(rows);
        const DeviceStrings made = RowsMaker<Giant>(device, {}, rows, {}).in_one_pass<ShortRows>();
        ASSERT_TRUE(made.is_large == (rows > 2));
        std::vector<std::int64_t> offsets(static_cast<std::size_t>(rows) + 1);
        if (!made.is_large) continue;
        check(cudaMemcpyAsync(offsets.data(), made.offsets.data(), 8 * offsets.size(), cudaMemcpyDeviceToHost, nullptr),
              "copy");
        device.wait();
        std::int64_t sum = 0;
        for (std::int32_t row = 0; row < rows; sum += Giant::size_of(row++)) {
            ASSERT_EQ(offsets[static_cast<std::size_t>(row)], sum) << row;
        }
        EXPECT_EQ(offsets.back(), sum);
        EXPECT_EQ(made.size, sum);
    }
}

TEST(LargeColumns, Refuses) {
    Device device(open_manager("cuda"));
    EXPECT_THROW(RowsMaker<Giant>(device, {}, 30'000, {}).in_one_pass<ShortRows>(),
                 ColumnTooLarge);  // more than 2^44 bytes
    EXPECT_THROW(RowsMaker<SmallGiant>(device, {}, 3, {}).in_two_passes<ShortRows>(), ColumnTooLarge);

    // A name of 3 GiB, of which only the beginning is there.
    const DeviceStrings names =
        to_device(device, std::vector<std::int64_t>{0, 3, 3 + (std::int64_t{3} << 30)}, "a ba b");
    const DeviceStrings visibilities = to_device(device, std::vector<HostValue>(2, "public"));
    try {
#ifdef CLEAVE_CUDA_EMULATED  // without 3 GiB of working memory
        make_in_two_passes(device, {names.view(), visibilities.view()}, 2, PublicName{});
#else
        redact_in_two_passes(device, names.view(), visibilities.view());
#endif
        ADD_FAILURE() << "a value of 3 GiB";
    } catch (const ColumnTooLarge& error) {
        EXPECT_NE(std::string(error.what()).find("a value of more than 2^31 - 1 bytes"), std::string::npos);
    }

    StringsView view = visibilities.view();
    view.size = std::int64_t{1} << 45;
    EXPECT_THROW(redact_in_one_pass(device, view, view), ColumnTooLarge);
}

TEST(LargeColumns, OffsetsAreConverted) {
    const std::vector<HostValue> values{"a", std::nullopt, "bcd", ""};
    Device device(open_manager("cuda"));
    DeviceStrings column = to_device(device, values);
    for (const bool is_large : {true, true, false, false}) {
        set_large(device, column, is_large);
        EXPECT_EQ(column.is_large, is_large);
        EXPECT_EQ(to_host(device, column.view()), values);
    }
    set_large(device, column, true);
    device.set_small_limit(3);
    EXPECT_THROW(set_large(device, column, false), ColumnTooLarge);
    EXPECT_EQ(to_host(device, column.view()), values);
}

TEST(LargeColumns, ThreeGigabytes) {
    if (kIsEmulated) GTEST_SKIP() << "needs a device";
    constexpr std::int64_t kRows = 261'000'000;
    const HostColumn names = repeat(&Person::name, kRows);
    const HostColumn visibilities = repeat(&Person::visibility, kRows);
    const HostColumn expected = repeat(&Person::redacted, kRows);
    ASSERT_GT(names.bytes.size(), 3'000'000'000U);
    Device device(open_manager("cuda"));
    const DeviceStrings name_column = to_device(device, names);
    const DeviceStrings visibility_column = to_device(device, visibilities);
    EXPECT_TRUE(name_column.is_large);
    EXPECT_FALSE(visibility_column.is_large);
    for (const std::uint64_t limit : {kUsualLimit, std::uint64_t{1} << 30}) {
        device.set_small_limit(limit);
        for (const Form form : kForms) {
            if (form == &redact_with_malloc) continue;  // takes minutes
            DeviceStrings made = form(device, name_column.view(), visibility_column.view());
            EXPECT_TRUE(is_right(device, made, expected));
        }
    }
}

}  // namespace
}  // namespace cleave::cuda
