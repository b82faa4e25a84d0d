// Compares the manager "pool" with a model that knows, for each unit of memory, who uses it and who used it last. Pages
// that cannot be touched and functions that count their calls stand in for the device.
#include "rows/memory/pool_manager.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <vector>

namespace cleave::pool_manager_test {

constexpr std::size_t kRegion = 64 << 10;
constexpr std::size_t kUnit = PoolManager::kUnit;

// NOLINTNEXTLINE(performance-no-int-to-ptr): a name, which is never dereferenced
void* stream_of(std::uintptr_t number) { return reinterpret_cast<void*>(number); }

// What the pool has asked the device to do. DeviceCalls are plain functions, so there is one log.
struct DeviceLog {
    std::uint64_t time = 0;                    // of the last call or release
    std::map<void*, std::uint64_t> last_wait;  // by stream
    std::size_t waits = 0;
    struct Zero {
        void* pointer;
        std::size_t size;
        void* stream;
    };
    std::vector<Zero> zeros;
    int wait_error = 0;
    int zero_error = 0;
};
DeviceLog device;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables): see above

constexpr DeviceCalls kCalls{[](void* stream) {
                                 if (device.wait_error != 0) return device.wait_error;
                                 ++device.waits;
                                 device.last_wait[stream] = ++device.time;
                                 return 0;
                             },
                             [](void* pointer, std::size_t size, void* stream) {
                                 device.zeros.push_back({pointer, size, stream});
                                 return device.zero_error;
                             }};

// Provides host memory and device pages, up to `limit` bytes in all.
class FakeSource final : public ManagerBase {
public:
    FakeSource() : ManagerBase("fake", CLEAVE_MEMORY_CAN_HOST | CLEAVE_MEMORY_CAN_DEVICE | CLEAVE_MEMORY_CAN_INFO) {}
    ~FakeSource() override { EXPECT_TRUE(regions.empty()); }

    int allocate(cleave_memory_space space, std::size_t size, std::size_t alignment, std::uint32_t, void*,
                 cleave_memory& memory) noexcept override {
        EXPECT_LE(alignment, 4096U);
        if (error != 0) return error;
        if (size > limit || held > limit - size) return ENOMEM;
        const int rights = space == CLEAVE_MEMORY_DEVICE ? PROT_NONE : PROT_READ | PROT_WRITE;
        void* const mapped = ::mmap(nullptr, size, rights, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (mapped == MAP_FAILED) return ENOMEM;
        held += size;
        ++given;
        memory = {mapped, size, nullptr};
        regions[static_cast<std::uint8_t*>(mapped)] = size;
        return 0;
    }
    int release(const cleave_memory& memory, void*) noexcept override {
        EXPECT_EQ(regions.erase(static_cast<std::uint8_t*>(memory.pointer)), 1U);
        held -= memory.size;
        ::munmap(memory.pointer, memory.size);
        return 0;
    }
    int info(cleave_memory_space space, std::uint64_t& free_size, std::uint64_t& total_size) noexcept override {
        if (space == CLEAVE_MEMORY_HOST) return ENOTSUP;
        free_size = limit - held;
        total_size = limit;
        return 0;
    }
    int reset() noexcept override { return 0; }

    std::size_t limit = std::size_t{1} << 30;
    std::size_t held = 0;
    std::size_t given = 0;  // the number of regions handed out since the start
    int error = 0;
    std::map<std::uint8_t*, std::size_t> regions;
};

class PoolManagerTest : public testing::Test {
protected:
    PoolManagerTest() { device = {}; }

    int try_allocate(std::size_t size, cleave_memory& memory, void* stream = nullptr, std::size_t alignment = 0,
                     std::uint32_t flags = 0) {
        return pool_.allocate(space_, size, alignment, flags, stream, memory);
    }
    cleave_memory allocate(std::size_t size, void* stream = nullptr, std::uint32_t flags = 0) {
        cleave_memory memory{};
        EXPECT_EQ(try_allocate(size, memory, stream, 0, flags), 0) << size;
        EXPECT_GE(memory.size, size);
        return memory;
    }
    void release(const cleave_memory& memory, void* stream = nullptr) { EXPECT_EQ(pool_.release(memory, stream), 0); }
    std::uint64_t regions() const { return pool_.statistics().regions; }

    FakeSource& source_ = *new FakeSource;  // the pool destroys it
    PoolManager pool_{source_.face(), kRegion, kCalls};
    cleave_memory_space space_ = CLEAVE_MEMORY_DEVICE;
};

// Makes random requests, and checks each against the model.
class Model {
public:
    Model(PoolManager& pool, const FakeSource& source, cleave_memory_space space, unsigned streams, unsigned seed)
        : pool_(pool), source_(source), space_(space), streams_(streams), random_(seed) {}

    void step() {
        if (live_.empty() || (random_() % 100 < 52 && live_.size() < 200)) {
            allocate();
        } else {
            auto at = live_.begin();
            std::advance(at, static_cast<std::ptrdiff_t>(random_() % live_.size()));
            release(at);
        }
        ASSERT_EQ(pool_.statistics().used_size, used_);
        ASSERT_EQ(pool_.statistics().regions, source_.regions.size());
        ASSERT_EQ(pool_.statistics().region_size, source_.held);
    }

    void release_all() {
        while (!live_.empty()) release(live_.begin());
    }

private:
    struct Last {
        void* stream;
        std::uint64_t time;
    };
    using Live = std::map<std::uint8_t*, cleave_memory>;

    void allocate() {
        const std::size_t size = random_() % (random_() % 8 == 0 ? 3 * kRegion : 5000);
        const std::size_t alignment = random_() % 3 == 0 ? 0 : std::size_t{1} << random_() % 15;
        void* const stream = stream_of(random_() % streams_);
        cleave_memory memory{};
        const int error = pool_.allocate(space_, size, alignment, 0, stream, memory);
        if (error == ENOMEM && source_.held + size + alignment + kUnit > source_.limit - kRegion) return;
        ASSERT_EQ(error, 0);
        auto* const begin = static_cast<std::uint8_t*>(memory.pointer);
        ASSERT_GE(memory.size, size);
        ASSERT_LT(memory.size, size + 2 * kUnit) << "more than asked for";
        const std::size_t standard = space_ == CLEAVE_MEMORY_DEVICE ? 256 : 64;
        ASSERT_EQ(reinterpret_cast<std::uintptr_t>(begin) % (alignment == 0 ? standard : alignment), 0U);
        expect_in_region(begin, memory.size);
        expect_free(begin, memory.size);
        if (space_ == CLEAVE_MEMORY_DEVICE) expect_ready(begin, memory.size, stream);
        live_[begin] = memory;
        used_ += memory.size;
    }

    void release(Live::iterator at) {
        const cleave_memory memory = at->second;
        void* const stream = stream_of(random_() % streams_);
        const std::uint64_t now = ++device.time;
        for (std::size_t i = 0; i < memory.size; i += kUnit) last_[at->first + i] = {stream, now};
        live_.erase(at);
        used_ -= memory.size;
        ASSERT_EQ(pool_.release(memory, stream), 0);
    }

    void expect_in_region(std::uint8_t* begin, std::size_t size) {
        auto region = source_.regions.upper_bound(begin);
        ASSERT_NE(region, source_.regions.begin());
        --region;
        ASSERT_LE(begin + size, region->first + region->second);
    }

    void expect_free(std::uint8_t* begin, std::size_t size) {
        const auto next = live_.lower_bound(begin);
        if (next != live_.end()) {
            ASSERT_LE(begin + size, next->first) << "overlaps";
        }
        if (next != live_.begin()) {
            const auto& before = std::prev(next)->second;
            ASSERT_LE(static_cast<std::uint8_t*>(before.pointer) + before.size, begin) << "overlaps";
        }
    }

    // Memory released on a different stream must have been waited for.
    void expect_ready(std::uint8_t* begin, std::size_t size, void* stream) {
        for (std::size_t i = 0; i < size; i += kUnit) {
            const auto last = last_.find(begin + i);
            if (last == last_.end() || last->second.stream == stream) continue;
            ASSERT_GT(device.last_wait[last->second.stream], last->second.time) << "in use by another stream";
        }
    }

    PoolManager& pool_;
    const FakeSource& source_;
    const cleave_memory_space space_;
    const unsigned streams_;
    std::mt19937_64 random_;
    Live live_;
    std::map<std::uint8_t*, Last> last_;  // the last release, by unit
    std::uint64_t used_ = 0;
};

#ifdef CLEAVE_SANITIZED
constexpr int kSteps = 2000;
#else
constexpr int kSteps = 10'000;
#endif

void play(cleave_memory_space space, unsigned streams, std::size_t limit) {
    for (unsigned seed = 0; seed < 4; ++seed) {
        SCOPED_TRACE(seed);
        device = {};
        auto& source = *new FakeSource;  // the pool destroys it
        source.limit = limit;
        PoolManager pool(source.face(), kRegion, kCalls);
        Model model(pool, source, space, streams, seed);
        for (int i = 0; i < kSteps; ++i) {
            model.step();
            if (testing::Test::HasFatalFailure()) return;
        }
        model.release_all();
        EXPECT_EQ(pool.statistics().used_size, 0U);
        if (streams > 1) continue;
        // Every region is one block again, so a request for the full size of each is met without a new region.
        const std::uint64_t count = pool.statistics().regions;
        std::vector<std::size_t> sizes;
        sizes.reserve(source.regions.size());
        for (const auto& [begin, size] : source.regions) sizes.push_back(size / kUnit * kUnit);
        std::ranges::sort(sizes, std::greater());
        for (const std::size_t size : sizes) {
            cleave_memory memory{};
            EXPECT_EQ(pool.allocate(space, size, 1, 0, nullptr, memory), 0);
        }
        EXPECT_EQ(pool.statistics().regions, count);
        EXPECT_EQ(pool.reset(), 0);
    }
}

TEST(PoolModel, HostMemory) { play(CLEAVE_MEMORY_HOST, 1, std::size_t{1} << 30); }
TEST(PoolModel, DeviceMemoryOfOneStream) { play(CLEAVE_MEMORY_DEVICE, 1, std::size_t{1} << 30); }
TEST(PoolModel, DeviceMemoryOfThreeStreams) { play(CLEAVE_MEMORY_DEVICE, 3, std::size_t{1} << 30); }
TEST(PoolModel, DeviceMemoryThatRunsOut) { play(CLEAVE_MEMORY_DEVICE, 3, 12 * kRegion); }
TEST(PoolModel, HostMemoryThatRunsOut) { play(CLEAVE_MEMORY_HOST, 1, 12 * kRegion); }

TEST_F(PoolManagerTest, HasNoRegionBeforeTheFirstRequest) {
    EXPECT_EQ(regions(), 0U);
    EXPECT_EQ(source_.held, 0U);
}

TEST_F(PoolManagerTest, CountsWhatItDoes) {
    const cleave_memory first = allocate(1000);
    const cleave_memory second = allocate(0);
    const PoolStatistics full = pool_.statistics();
    EXPECT_EQ(full.regions, 1U);
    EXPECT_EQ(full.region_size, kRegion);
    EXPECT_EQ(full.used_size, 1024U + 256U);
    release(first);
    release(second);
    const PoolStatistics empty = pool_.statistics();
    EXPECT_EQ(empty.used_size, 0U);
    EXPECT_EQ(empty.peak_size, 1024U + 256U);
    EXPECT_EQ(empty.requests, 2U);
    EXPECT_EQ(empty.regions, 1U);
}

TEST_F(PoolManagerTest, ALargerRequestGetsARegionOfItsOwn) {
    const cleave_memory memory = allocate(5 * kRegion + 1);
    EXPECT_EQ(regions(), 1U);
    EXPECT_EQ(pool_.statistics().region_size, 5 * kRegion + kUnit);
    release(memory);
}

TEST_F(PoolManagerTest, TakesAsLittleOfALargeBlockAsItCan) {
    const cleave_memory first = allocate(kUnit);
    const cleave_memory second = allocate(kRegion - kUnit);
    EXPECT_EQ(regions(), 1U) << "the two fill the region";
    release(first);
    EXPECT_EQ(allocate(1).pointer, first.pointer);
    release(second);
}

TEST_F(PoolManagerTest, AnAlignmentLeavesWhatIsBeforeFree) {
    const cleave_memory first = allocate(kUnit);
    cleave_memory memory{};
    ASSERT_EQ(try_allocate(kUnit, memory, nullptr, 16384), 0);
    // A region begins on a page boundary, and any page may be at a multiple of 16384.
    const auto gap = static_cast<std::uint8_t*>(memory.pointer) - static_cast<std::uint8_t*>(first.pointer);
    ASSERT_GE(gap, 4096);
    const cleave_memory between = allocate(static_cast<std::size_t>(gap) - kUnit);
    EXPECT_EQ(between.pointer, static_cast<std::uint8_t*>(first.pointer) + kUnit);
    EXPECT_EQ(regions(), 1U);
}

TEST_F(PoolManagerTest, TheSameStreamGetsAReleasedBlockWithoutWaiting) {
    void* const stream = stream_of(1);
    const cleave_memory first = allocate(kRegion, stream);
    release(first, stream);
    const std::size_t before = device.waits;
    EXPECT_EQ(allocate(kRegion, stream).pointer, first.pointer);
    EXPECT_EQ(device.waits, before);
    EXPECT_EQ(regions(), 1U);
}

TEST_F(PoolManagerTest, AnotherStreamWaitsForTheOneThatReleased) {
    const cleave_memory first = allocate(kRegion, stream_of(1));
    release(first, stream_of(2));
    device.last_wait.clear();
    EXPECT_EQ(allocate(kRegion, stream_of(3)).pointer, first.pointer);
    EXPECT_EQ(device.last_wait.size(), 1U);
    EXPECT_EQ(device.last_wait.count(stream_of(2)), 1U);
}

TEST_F(PoolManagerTest, HostMemoryIsReadyForEveryStream) {
    space_ = CLEAVE_MEMORY_HOST;
    release(allocate(kRegion, stream_of(1)), stream_of(2));
    allocate(kRegion, stream_of(3));
    EXPECT_EQ(device.waits, 0U);
}

TEST_F(PoolManagerTest, ABlockThatCouldNotBeWaitedForStaysWithItsStream) {
    const cleave_memory first = allocate(kRegion, stream_of(1));
    release(first, stream_of(1));
    device.wait_error = EIO;
    cleave_memory memory{};
    EXPECT_EQ(try_allocate(kRegion, memory, stream_of(2)), EIO);
    EXPECT_EQ(pool_.statistics().used_size, 0U);
    device.wait_error = 0;
    device.last_wait.clear();
    EXPECT_EQ(allocate(kRegion, stream_of(2)).pointer, first.pointer);
    EXPECT_EQ(device.last_wait.count(stream_of(1)), 1U);
}

TEST_F(PoolManagerTest, NeighboursOfTwoStreamsAreJoinedWhenMemoryRunsOut) {
    source_.limit = kRegion;
    const cleave_memory first = allocate(kRegion / 2, stream_of(1));
    const cleave_memory second = allocate(kRegion / 2, stream_of(2));
    release(first, stream_of(1));
    release(second, stream_of(2));
    device.last_wait.clear();
    EXPECT_EQ(allocate(kRegion, stream_of(1)).pointer, first.pointer);
    EXPECT_EQ(source_.given, 1U);  // the region was not returned and taken again
    EXPECT_EQ(regions(), 1U);
    EXPECT_EQ(device.last_wait.count(stream_of(1)), 1U);
    EXPECT_EQ(device.last_wait.count(stream_of(2)), 1U);
}

TEST_F(PoolManagerTest, FreeRegionsAreGivenBackWhenMemoryRunsOut) {
    source_.limit = 4 * kRegion;
    const cleave_memory small = allocate(kRegion);
    const cleave_memory kept = allocate(kRegion / 2);
    release(small);
    EXPECT_EQ(regions(), 2U);
    release(allocate(3 * kRegion));
    EXPECT_EQ(regions(), 2U) << "the free region went, the other one is in use";
    release(kept);
}

TEST_F(PoolManagerTest, SaysWhenThereIsNoMemory) {
    source_.limit = 2 * kRegion;
    const cleave_memory kept = allocate(kRegion / 2);
    cleave_memory memory{nullptr, 77, nullptr};
    EXPECT_EQ(try_allocate(2 * kRegion, memory), ENOMEM);
    EXPECT_EQ(memory.size, 77U);
    EXPECT_EQ(pool_.statistics().used_size, kRegion / 2);
    release(kept);
    EXPECT_EQ(allocate(2 * kRegion).size, 2 * kRegion);
}

TEST_F(PoolManagerTest, AnotherErrorOfTheSourceIsPassedOn) {
    source_.error = ENODEV;
    cleave_memory memory{};
    EXPECT_EQ(try_allocate(1, memory), ENODEV);
}

TEST_F(PoolManagerTest, ZeroesAndWipesDeviceMemoryInTheOrderOfTheStream) {
    const cleave_memory memory = allocate(1000, stream_of(1), CLEAVE_MEMORY_ZEROED | CLEAVE_MEMORY_SECRET);
    ASSERT_EQ(device.zeros.size(), 1U);
    EXPECT_EQ(device.zeros[0].pointer, memory.pointer);
    EXPECT_EQ(device.zeros[0].size, memory.size);
    EXPECT_EQ(device.zeros[0].stream, stream_of(1));
    release(memory, stream_of(2));
    ASSERT_EQ(device.zeros.size(), 2U);
    EXPECT_EQ(device.zeros[1].pointer, memory.pointer);
    EXPECT_EQ(device.zeros[1].size, memory.size);
    EXPECT_EQ(device.zeros[1].stream, stream_of(2));
    release(allocate(1000, stream_of(2)), stream_of(2));
    EXPECT_EQ(device.zeros.size(), 2U) << "the next memory there is not secret";
}

TEST_F(PoolManagerTest, MemoryThatCannotBeZeroedIsNotGiven) {
    device.zero_error = EIO;
    cleave_memory memory{};
    EXPECT_EQ(try_allocate(1000, memory, nullptr, 0, CLEAVE_MEMORY_ZEROED), EIO);
    EXPECT_EQ(pool_.statistics().used_size, 0U);
}

TEST_F(PoolManagerTest, ResetWipesWhatIsSecretAndWaitsForAllStreams) {
    allocate(1000, stream_of(1), CLEAVE_MEMORY_SECRET);
    const cleave_memory second = allocate(1000, stream_of(2));
    allocate(1000, stream_of(3));
    release(second, stream_of(2));
    device.last_wait.clear();
    EXPECT_EQ(pool_.reset(), 0);
    EXPECT_EQ(device.zeros.size(), 1U);
    for (const std::uintptr_t number : {1U, 2U, 3U}) EXPECT_EQ(device.last_wait.count(stream_of(number)), 1U) << number;
    EXPECT_EQ(regions(), 0U);
    EXPECT_EQ(pool_.statistics().used_size, 0U);
    release(allocate(1000));
}

TEST_F(PoolManagerTest, FreeBlocksCountAsFreeMemory) {
    source_.limit = 10 * kRegion;
    allocate(kUnit);
    std::uint64_t free_size = 0;
    std::uint64_t total_size = 0;
    EXPECT_EQ(pool_.info(CLEAVE_MEMORY_DEVICE, free_size, total_size), 0);
    EXPECT_EQ(total_size, 10 * kRegion);
    EXPECT_EQ(free_size, 10 * kRegion - kUnit);
    EXPECT_EQ(pool_.info(CLEAVE_MEMORY_HOST, free_size, total_size), ENOTSUP);
}

TEST_F(PoolManagerTest, HasTheSpacesOfItsSource) {
    cleave_memory memory{};
    EXPECT_EQ(pool_.allocate(CLEAVE_MEMORY_PINNED, 1, 0, 0, nullptr, memory), ENOTSUP);
    EXPECT_EQ(pool_.allocate(CLEAVE_MEMORY_MAPPED, 1, 0, 0, nullptr, memory), ENOTSUP);
    EXPECT_EQ(pool_.face().capabilities & CLEAVE_MEMORY_CAN_PINNED, 0U);
}

}  // namespace cleave::pool_manager_test
