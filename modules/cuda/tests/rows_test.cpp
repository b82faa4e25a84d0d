// Tests rows_kernel.h with the published example: every pass, many tile shapes, thread orders and kinds of rows.
#include "cuda/rows.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cuda/bench/public_name.h"
#include "cuda/managers.h"
#include "cuda/tests/emulation.h"
#include "cuda/tests/values.h"

namespace cleave::cuda {
namespace {

using Tiny = TileShape<1, 1, 1>;
using TinyTwice = TileShape<1, 2, 1>;
using Small = TileShape<2, 1, 1>;
using SmallThrice = TileShape<2, 3, 1>;  // 384 rows
using TinyMany = TileShape<1, 4, 1>;

// large_test.cpp tests 64-bit offsets, which double the time to compile.
struct SmallName : PublicName {
    static constexpr bool kStaysSmall = true;
};

// Each row becomes one byte.
struct Counted : SizedRows<0, false, false> {
    static constexpr bool kStaysSmall = true;

    template <class Text>
    __device__ Measured measure(const Row<0, Text>&) const {
        return {1};
    }
    template <class Text>
    __device__ void write(const Row<0, Text>&, Measured, std::uint8_t* out) const {
        *out = '.';
    }
    static std::uint64_t bound(const std::uint64_t*, std::uint64_t rows) { return rows; }
};

template <class Shape>
struct BothPasses : testing::Test {
    // Creates the column in one pass, in two, and in one pass with trimming, and compares the results.
    static void check_view(Device& device, const StringsView& names, const StringsView& visibilities,
                           const std::vector<HostValue>& expected) {
        const Columns<SmallName> columns{names, visibilities};
        const DeviceStrings one =
            RowsMaker<SmallName>(device, columns, names.rows, SmallName{}).template in_one_pass<Shape>();
        EXPECT_EQ(to_host(device, one.view()), expected);
        const DeviceStrings two =
            RowsMaker<SmallName>(device, columns, names.rows, SmallName{}).template in_two_passes<Shape>();
        EXPECT_EQ(to_host(device, two.view()), expected);
        const DeviceStrings trimmed =
            RowsMaker<SmallName>(device, columns, names.rows, SmallName{}).template trimmed<Shape>();
        EXPECT_EQ(to_host(device, trimmed.view()), expected);
        EXPECT_EQ(trimmed.bytes.size(), two.bytes.size());
    }

    static void check(Device& device, const People& people) {
        const DeviceStrings names = to_device(device, people.names);
        const DeviceStrings visibilities = to_device(device, people.visibilities);
        check_view(device, names.view(), visibilities.view(), redacted(people));
    }
};

#if defined(CLEAVE_CUDA_EMULATED) && defined(CLEAVE_SANITIZED)
using Shapes = testing::Types<TinyTwice, SmallThrice, ShortRowsToShorten, LongRows>;
#elif defined(CLEAVE_CUDA_EMULATED)
using Shapes = testing::Types<Tiny, TinyTwice, TinyMany, Small, SmallThrice, ShortRows, ShortRowsToShorten, LongRows>;
#else
using Shapes = testing::Types<SmallThrice, ShortRows, ShortRowsToShorten, LongRows>;  // each takes nvcc a few seconds
#endif
TYPED_TEST_SUITE(BothPasses, Shapes);

TYPED_TEST(BothPasses, AnyCountOfRows) {
    constexpr std::size_t kTile = TypeParam::kRows;
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
        SCOPED_TRACE(seed);
        set_seed(seed);
        Device device(open_manager("cuda"));
        for (const std::size_t rows : {std::size_t{0}, std::size_t{1}, std::size_t{31}, kTile - 1, kTile, kTile + 1,
                                       2 * kTile, 5 * kTile + 17}) {
            SCOPED_TRACE(rows);
            this->check(device, make_people(rows, seed));
            this->check(device, make_people(rows, seed, 3));
        }
    }
    EXPECT_EQ(live_allocations(), 0U);
}

// Long values produce tiles that do not fit in shared memory, between tiles that do.
TYPED_TEST(BothPasses, LongValues) {
    constexpr std::size_t kTile = TypeParam::kRows;
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
        SCOPED_TRACE(seed);
        set_seed(seed);
        Device device(open_manager("cuda-async"));
        People people = make_people(6 * kTile + 3, seed, 9);
        const std::string first(100'000, 'f');
        people.names[kTile / 2] = first + " Last";
        people.visibilities[kTile / 2] = "public";
        people.names[3 * kTile] = "First " + std::string(100'000, 'l');
        people.visibilities[3 * kTile] = "public";
        people.visibilities[5 * kTile + 1] = "public" + std::string(50'000, ' ');
        this->check(device, people);
        people.names.assign(people.names.size(), std::string(3000, 'n') + " m");  // for all rows
        this->check(device, people);
    }
    EXPECT_EQ(live_allocations(), 0U);
}

// In parts of columns, offsets, bytes and bits may begin anywhere, and nothing outside may be read.
TYPED_TEST(BothPasses, PartsOfColumns) {
    const People people = make_people(2 * TypeParam::kRows + 77, 5, 4);
    const std::vector<HostValue> expected = redacted(people);
    Device device(open_manager("cuda"));
    const DeviceStrings names = to_device(device, people.names);
    const DeviceStrings visibilities = to_device(device, people.visibilities);
    for (const std::int32_t begin : {1, 2, 3, 31, 32, 33}) {
        SCOPED_TRACE(begin);
        set_seed(static_cast<std::uint64_t>(begin));
        const auto part_of = [&](const DeviceStrings& column) {
            std::vector<std::int32_t> offsets(static_cast<std::size_t>(column.rows) + 1);
            check(cudaMemcpyAsync(offsets.data(), column.offsets.data(), 4 * offsets.size(), cudaMemcpyDeviceToHost,
                                  nullptr),
                  "copy");
            device.wait();
            StringsView view = column.view();
            view.offsets += begin;
            view.validity_begin = begin;
            view.rows -= begin + 7;
            view.size = offsets[static_cast<std::size_t>(begin) + static_cast<std::size_t>(view.rows)];
            return view;
        };
        this->check_view(device, part_of(names), part_of(visibilities), {expected.begin() + begin, expected.end() - 7});
    }
}

// The bytes of both columns begin at any address.
TYPED_TEST(BothPasses, AnyAlignment) {
    const People people = make_people(TypeParam::kRows + 5, 11);
    const std::vector<HostValue> expected = redacted(people);
    Device device(open_manager("cuda"));
    const DeviceStrings names = to_device(device, people.names);
    const DeviceStrings visibilities = to_device(device, people.visibilities);
    for (std::size_t shift = 1; shift < 16; shift += 2) {
        const Memory moved = device.allocate(static_cast<std::size_t>(names.size) + shift);
        check(cudaMemcpyAsync(moved.data() + shift, names.bytes.data(), static_cast<std::size_t>(names.size),
                              cudaMemcpyDeviceToDevice, nullptr),
              "copy");
        StringsView view = names.view();
        view.bytes = moved.data() + shift;
        this->check_view(device, view, visibilities.view(), expected);
    }
}

// The bytes of one tile grow until they no longer fit in shared memory.
TYPED_TEST(BothPasses, TilesThatJustFit) {
    constexpr std::size_t kTile = TypeParam::kRows;
    if (kTile > 128 && kIsEmulated) GTEST_SKIP() << "takes long with large tiles";
    Device device(open_manager("cuda"));
    People people = make_people(3 * kTile, 2);
    for (std::size_t i = kTile; i < 2 * kTile; ++i) people.names[i] = "Ada L";
    people.visibilities[kTile + 9] = "public";
    for (std::size_t size = 10 * kTile; size < 22 * kTile + 300; size += kTile / 16) {
        people.names[kTile + 9] = std::string(size, 'n') + " m";
        this->check(device, people);
    }
}

// Arrow allows a null to have bytes.
TYPED_TEST(BothPasses, NullsWithBytes) {
    Device device(open_manager("cuda"));
    const DeviceStrings names = to_device(device, std::vector<HostValue>(3, "Ada L"));
    const DeviceStrings visibilities = to_device(device, std::vector<HostValue>(3, "public"));
    const auto with_validity = [&](const DeviceStrings& column, const Memory& bits, std::uint32_t word) {
        check(cudaMemcpyAsync(bits.data(), &word, sizeof(word), cudaMemcpyHostToDevice, nullptr), "copy");
        device.wait();
        StringsView view = column.view();
        view.validity = reinterpret_cast<const std::uint32_t*>(bits.data());
        return view;
    };
    const Memory name_bits = device.allocate(4);
    const Memory visibility_bits = device.allocate(4);
    this->check_view(device, with_validity(names, name_bits, 0b011),
                     with_validity(visibilities, visibility_bits, 0b101), {"L Ada", "X X", {}});
}

// Many blocks run at the same time.
TYPED_TEST(BothPasses, ManyTiles) {
    const std::uint64_t seeds = TypeParam::kRows > 128 && kIsEmulated ? 1 : kSeeds;
    for (std::uint64_t seed = 0; seed < seeds; ++seed) {
        SCOPED_TRACE(seed);
        set_seed(seed);
        set_processors(TypeParam::kRows > 128 ? 3 : 24);
        Device device(open_manager("cuda-pool:1048576"));
        this->check(device, make_people(100 * TypeParam::kRows + 1, seed));
        set_processors(3);
    }
    EXPECT_EQ(live_allocations(), 0U);
}

// More tiles than a device initially has words for, then few again: words must be 0 whichever kernels ran before.
TEST(Rows, WordsOfTilesAreUsedInTurn) {
    if (!kIsEmulated) GTEST_SKIP() << "covered by the others";
    Device device(open_manager("cuda"));
    const Columns<Counted> none{};
    for (const std::int32_t rows : {140'000, 64, 1000, 640, 10'000, 3}) {
        const DeviceStrings made = RowsMaker<Counted>(device, none, rows, Counted{}).template in_two_passes<Tiny>();
        EXPECT_EQ(made.size, rows);
    }
}

TEST(Rows, FewLaunches) {
    Device device(open_manager("cuda"));
    const People people = make_people(1000, 1);
    const DeviceStrings names = to_device(device, people.names);
    const DeviceStrings visibilities = to_device(device, people.visibilities);
    const std::size_t before = launches();
    make_in_one_pass(device, {names.view(), visibilities.view()}, 1000, SmallName{});
    if (kIsEmulated) {
        EXPECT_EQ(launches() - before, 1U);
    }
    make_in_two_passes(device, {names.view(), visibilities.view()}, 1000, SmallName{});
    if (kIsEmulated) {
        EXPECT_EQ(launches() - before, 3U);
    }
    make_and_trim(device, {names.view(), visibilities.view()}, 1000, SmallName{});
    if (kIsEmulated) {
        EXPECT_EQ(launches() - before, 4U);
    }
}

// The result's memory is exactly what the manager allocates for its size.
TEST(Rows, TrimmedMemoryIsExact) {
    Device device(open_manager("cuda"));
    const DeviceStrings names = to_device(device, std::vector<HostValue>{"Ada Lovelace", "Bo Ek", std::nullopt});
    const DeviceStrings visibilities = to_device(device, std::vector<HostValue>{"public", "private", "public"});
    const DeviceStrings made = make_and_trim(device, {names.view(), visibilities.view()}, 3, SmallName{});
    EXPECT_EQ(made.size, 8);  // L Ada, X X
    EXPECT_EQ(made.bytes.size(), device.allocate(8).size());
    EXPECT_EQ(to_host(device, made.view()), (std::vector<HostValue>{"L Ada", "X X", std::nullopt}));
}

// Makes "cuda" carry out the releases that it has put off, with a request that fails. Otherwise the next request that
// fails would succeed after them.
void carry_out_releases(MemoryManager& manager) {
    EXPECT_THROW(manager.allocate({.size = SIZE_MAX / 4, .space = MemorySpace::kDevice}), MemoryError);
}

// If working memory cannot be allocated, the rows are measured and then written.
TEST(Rows, WorkingMemoryMayFail) {
    const People people = make_people(300, 3, 5);
    const auto manager = open_manager("cuda");
    Device device(manager);
    const DeviceStrings names = to_device(device, people.names);
    const DeviceStrings visibilities = to_device(device, people.visibilities);
    const Columns<SmallName> columns{names.view(), visibilities.view()};
    carry_out_releases(*manager);
    const std::size_t live = live_allocations();
    const auto launched = [&](int failing) {
        carry_out_releases(*manager);
        const std::size_t before = launches();
        fail_allocation(failing);
        const DeviceStrings made = make_and_trim(device, columns, 300, SmallName{});
        fail_allocation(-1);
        EXPECT_EQ(to_host(device, made.view()), redacted(people));
        return launches() - before;
    };
    const std::size_t usual = launched(-1);
    const std::size_t without = launched(2);  // offsets and validity come first
    if (kIsEmulated) {
        EXPECT_EQ(usual, 1U);
        EXPECT_EQ(without, 2U);
    }
    carry_out_releases(*manager);
    fail_allocation(3);  // the result itself
    EXPECT_THROW(make_and_trim(device, columns, 300, SmallName{}), MemoryError);
    fail_allocation(-1);
    carry_out_releases(*manager);
    EXPECT_EQ(live_allocations(), live);
}

// All rows are public and long, so the output exceeds its usual share.
TEST(Rows, MoreOutputThanUsual) {
    Device device(open_manager("cuda"));
    const std::string name(30, 'n');
    const DeviceStrings names = to_device(device, std::vector<HostValue>(3000, name + " m"));
    const DeviceStrings visibilities = to_device(device, std::vector<HostValue>(3000, "public"));
    const DeviceStrings made = make_in_one_pass(device, {names.view(), visibilities.view()}, 3000, SmallName{});
    EXPECT_EQ(to_host(device, made.view()), std::vector<HostValue>(3000, "m " + name));
}

__global__ void touch_kernel(std::uint32_t* blocks) {
    if (threadIdx.x == 0) {
        block_memory()[0] = 1;
        atomicAdd(blocks, 1U);
    }
}

// Launches a kernel with much shared memory, with little, and with much again.
TEST(Device, LaunchesWithLessSharedMemoryAndWithMoreAgain) {
    Device device(open_manager("cuda"));
    const Memory blocks = device.allocate(sizeof(std::uint32_t), CLEAVE_MEMORY_ZEROED);
    auto* const count = reinterpret_cast<std::uint32_t*>(blocks.data());
    for (const std::size_t shared : {100'000U, 20'000U, 100'000U, 20'000U}) {
        EXPECT_GE(device.blocks_at_once(&touch_kernel, 32, shared), 1);
        device.launch(&touch_kernel, 3, 32, shared, count);
    }
    std::uint32_t result = 0;
    check(cudaMemcpyAsync(&result, count, sizeof(result), cudaMemcpyDeviceToHost, nullptr), "copy");
    device.wait();
    EXPECT_EQ(result, 12U);
}

TEST(Device, RefusesLaunchesThatCannotBe) {
    Device device(open_manager("cuda"));
    const Memory blocks = device.allocate(sizeof(std::uint32_t), CLEAVE_MEMORY_ZEROED);
    auto* const count = reinterpret_cast<std::uint32_t*>(blocks.data());
    EXPECT_THROW(device.launch(&touch_kernel, 0, 32, 16, count), CudaError);
    EXPECT_THROW(device.launch(&touch_kernel, 1, 1025, 16, count), CudaError);
    EXPECT_THROW(device.launch(&touch_kernel, 1, 32, std::size_t{1} << 20, count), CudaError);
    device.launch(&touch_kernel, 1, 1024, 16, count);
    device.wait();
}

// Each row becomes 2^30 bytes.
struct Giant : SizedRows<0, false, false> {
    static constexpr bool kStaysSmall = true;

    template <class Text>
    __device__ Measured measure(const Row<0, Text>&) const {
        return {1U << 30};
    }
    template <class Text>
    __device__ void write(const Row<0, Text>&, Measured, std::uint8_t*) const {}
    static std::uint64_t bound(const std::uint64_t*, std::uint64_t) { return 0; }
};

// Each row becomes `count` bytes, which bound() does not allow for.
struct Letters : SizedRows<0, false, false> {
    static constexpr bool kStaysSmall = true;

    std::uint32_t count;
    template <class Text>
    __device__ Measured measure(const Row<0, Text>&) const {
        return {count};
    }
    template <class Text>
    __device__ void write(const Row<0, Text>& row, Measured measured, std::uint8_t* out) const {
        for (std::uint32_t i = 0; i < measured.size; ++i) out[i] = static_cast<std::uint8_t>('a' + row.index % 26);
    }
    static std::uint64_t bound(const std::uint64_t*, std::uint64_t) { return 0; }
};

// Output that just fits in shared memory, and output that does not.
TEST(Rows, MoreOutputThanWasGuessed) {
    Device device(open_manager("cuda"));
    for (std::uint32_t count = 0; count < 9; ++count) {
        SCOPED_TRACE(count);
        set_seed(count);
        const DeviceStrings made = RowsMaker<Letters>(device, {}, 100, Letters{{}, count}).in_two_passes<TinyTwice>();
        std::vector<HostValue> expected;
        expected.reserve(100);
        for (int i = 0; i < 100; ++i) expected.emplace_back(std::string(count, static_cast<char>('a' + i % 26)));
        EXPECT_EQ(to_host(device, made.view()), expected);
    }
}

// Tile `i` publishes i + 1 and gets the sum of the tiles before it. All tiles run at the same time.
__global__ void look_back_kernel(TileState* states, std::uint64_t* sums) {
    const auto tile = static_cast<std::int32_t>(blockIdx.x);
    const std::uint64_t sum = look_back(states, tile, static_cast<std::uint64_t>(tile) + 1);
    if (threadIdx.x == 0) sums[tile] = sum;
}

TEST(LookBack, OverMoreTilesThanItSeesAtOnce) {
    constexpr std::size_t kTiles = 120;
    set_all_at_once(true);
    for (std::uint64_t seed = 0; seed < 10 * kSeeds; ++seed) {
        set_seed(seed);
        Device device(open_manager("cuda"));
        const Memory states = device.allocate(kTiles * sizeof(TileState), CLEAVE_MEMORY_ZEROED);
        const Memory sums = device.allocate(kTiles * 8);
        device.launch(&look_back_kernel, kTiles, 32, 0, reinterpret_cast<TileState*>(states.data()),
                      reinterpret_cast<std::uint64_t*>(sums.data()));
        std::vector<std::uint64_t> result(kTiles);
        check(cudaMemcpyAsync(result.data(), sums.data(), kTiles * 8, cudaMemcpyDeviceToHost, nullptr), "copy");
        device.wait();
        for (std::size_t i = 0; i < kTiles; ++i) EXPECT_EQ(result[i], i * (i + 1) / 2) << "tile " << i;
    }
    set_all_at_once(false);
}

TEST(Rows, TooManyBytesAreAnError) {
    Device device(open_manager("cuda"));
    EXPECT_THROW(make_in_two_passes(device, {}, 2, Giant{}), ColumnTooLarge);
    EXPECT_THROW(make_in_two_passes(device, {}, 1000, Giant{}), ColumnTooLarge);
}

TEST(Rows, EveryAllocationMayFail) {
    const People people = make_people(300, 3, 5);
    for (const bool is_one_pass : {true, false}) {
        int failures = 0;
        for (bool has_failed = true; has_failed; ++failures) {
            const auto manager = open_manager("cuda");
            Device device(manager);
            const DeviceStrings names = to_device(device, people.names);
            const DeviceStrings visibilities = to_device(device, people.visibilities);
            const Columns<SmallName> columns{names.view(), visibilities.view()};
            carry_out_releases(*manager);
            const std::size_t before = live_allocations();
            fail_allocation(failures);
            try {
                const DeviceStrings made = is_one_pass ? make_in_one_pass(device, columns, 300, SmallName{})
                                                       : make_in_two_passes(device, columns, 300, SmallName{});
                has_failed = false;
                fail_allocation(-1);
                EXPECT_EQ(to_host(device, made.view()), redacted(people));
            } catch (const MemoryError&) {
                fail_allocation(-1);
                carry_out_releases(*manager);
                EXPECT_EQ(live_allocations(), before);
            }
        }
        EXPECT_EQ(failures - 1, 3);  // offsets, validity, bytes
    }
    EXPECT_EQ(live_allocations(), 0U);
}

}  // namespace
}  // namespace cleave::cuda
