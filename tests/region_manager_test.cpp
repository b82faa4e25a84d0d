// Regions that grow: blocks do not overlap, whatever is released when, and regions go back to where they came from.
#include "memory/region_manager.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "inputs.h"

namespace cleave::test {
namespace {

class RegionManagerTest : public testing::Test {
protected:
    // A pool counts what the regions take of it.
    PoolStatistics taken() const { return source_->pool_statistics().value(); }

    std::shared_ptr<MemoryManager> source_ = MemoryManager::open("pool:1M");
    std::shared_ptr<MemoryManager> manager_ = RegionManager::open(source_);
};

struct Block {
    Memory memory;
    std::uint8_t value;
};

TEST_F(RegionManagerTest, BlocksKeepTheirBytes) {
    Random random(1);
    std::vector<Block> blocks;
    for (unsigned i = 0; i < 4000; ++i) {
        if (!blocks.empty() && random.chance(48)) {
            const std::size_t gone = random.below(blocks.size());
            std::swap(blocks[gone], blocks.back());
            const Block& last = blocks.back();
            ASSERT_TRUE(std::all_of(last.memory.data(), last.memory.data() + last.memory.size(),
                                    [&](std::uint8_t byte) { return byte == last.value; }));
            blocks.pop_back();
            continue;
        }
        const std::size_t size = random.chance(1) ? random.below(9 << 20) : random.below(3000);
        const std::size_t alignment = std::size_t{1} << random.below(13);
        const bool is_zeroed = random.chance(20);
        const std::uint32_t flags = is_zeroed ? CLEAVE_MEMORY_ZEROED : 0;
        Memory memory = manager_->allocate({.size = size, .alignment = alignment, .flags = flags});
        ASSERT_GE(memory.size(), size);
        ASSERT_EQ(reinterpret_cast<std::uintptr_t>(memory.data()) % alignment, 0U);
        if (is_zeroed) {
            ASSERT_TRUE(std::all_of(memory.data(), memory.data() + size, [](std::uint8_t byte) { return byte == 0; }));
        }
        const auto value = static_cast<std::uint8_t>(i);
        std::fill_n(memory.data(), memory.size(), value);
        blocks.push_back({std::move(memory), value});
    }
    blocks.clear();
    EXPECT_LE(taken().used_size, 10U << 20) << "more than the current region is left";
}

TEST_F(RegionManagerTest, RegionsGrowAndAreGivenBack) {
    std::vector<Memory> blocks;
    const auto take = [&](std::size_t total) {
        for (std::size_t size = 0; size < total; size += 64 << 10)
            blocks.push_back(manager_->allocate({.size = 64 << 10}));
    };
    blocks.push_back(manager_->allocate({.size = 1000}));
    EXPECT_EQ(taken().used_size, RegionManager::kLeast);
    take(40 << 20);
    EXPECT_GE(taken().used_size, 40U << 20);
    EXPECT_LE(taken().used_size, (44U << 20) + RegionManager::kMost);
    EXPECT_LE(taken().requests, 20U);
    // A block that stays keeps its region only.
    blocks.erase(blocks.begin() + 1, blocks.end());
    EXPECT_LE(taken().used_size, 2 * RegionManager::kMost);
    blocks.clear();
    EXPECT_LE(taken().used_size, RegionManager::kMost);
    manager_.reset();
    EXPECT_EQ(taken().used_size, 0U);
}

TEST_F(RegionManagerTest, AnEmptyRegionBeginsAnew) {
    for (unsigned i = 0; i < 1000; ++i) manager_->allocate({.size = 100 << 10});
    EXPECT_EQ(taken().requests, 1U);
}

TEST_F(RegionManagerTest, MemoryOutlivesTheManager) {
    Memory block = manager_->allocate({.size = 100});
    manager_.reset();
    std::fill_n(block.data(), 100, std::uint8_t{7});
    EXPECT_GT(taken().used_size, 0U);
    block.release();
    EXPECT_EQ(taken().used_size, 0U);
}

TEST_F(RegionManagerTest, ThreadsShareIt) {
    std::vector<std::jthread> threads;
    for (unsigned t = 0; t < 4; ++t) {
        threads.emplace_back([&, t] {
            std::vector<Block> blocks;
            for (unsigned i = 0; i < 500; ++i) {
                Block block{manager_->allocate({.size = 1000 + i}), static_cast<std::uint8_t>(t * 50 + i % 50)};
                std::fill_n(block.memory.data(), block.memory.size(), block.value);
                blocks.push_back(std::move(block));
                if (i % 3 == 0) blocks.erase(blocks.begin());
            }
            for (const Block& block : blocks) {
                EXPECT_EQ(std::count(block.memory.data(), block.memory.data() + block.memory.size(), block.value),
                          static_cast<std::ptrdiff_t>(block.memory.size()));
            }
        });
    }
}

}  // namespace
}  // namespace cleave::test
