// The scheduler for cuda_runtime.h in this folder.
//
//   run_grid: blocks start in a random order, at most `resident` of them at once
//   loop: a random runnable fiber runs until it waits or pauses. One block is slow, so that others overtake it
//   a barrier releases its fibers when all threads of the block wait there; an exchange, when all lanes of its mask do
#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <deque>
#include <memory>
#include <mutex>
#include <random>
#include <unordered_map>
#include <utility>
#include <vector>

#include "fiber.h"

namespace cleave::cuda::emulator {
namespace {

constexpr unsigned kLanes = 32;
constexpr std::uint64_t kTurnsForEver = 50'000'000;

[[noreturn]] void fail(const char* text) {
    std::fprintf(stderr, "emulated CUDA: %s (block %u, thread %u)\n", text, place().block.x, place().thread.x);
    std::abort();
}

struct Copy {
    std::uint8_t* to;
    const std::uint8_t* from;
};

struct Block;

struct Thread {
    Fiber fiber;
    Block* block = nullptr;
    Place place;
    std::vector<Copy> open_copies;
    std::deque<std::vector<Copy>> copies;  // groups of copies, oldest first
};

// Lanes that exchange values. The values of the previous exchange are kept while the next one gathers.
struct Warp {
    unsigned mask = 0;
    unsigned arrived = 0;
    const char* kind = nullptr;
    unsigned turn = 0;
    std::array<std::array<std::uint64_t, kLanes>, 2> values{};
    std::vector<Thread*> waiting;
};

struct Block {
    std::vector<std::unique_ptr<Thread>> threads;
    std::vector<Warp> warps;
    std::vector<Thread*> at_barrier;
    std::size_t alive = 0;
    std::unique_ptr<std::uint8_t[]> memory;
    std::uint8_t* shared = nullptr;  // inside `memory`, aligned to 16 bytes
    std::size_t shared_size = 0;
};

struct Grid {
    const std::function<void()>* body = nullptr;
    std::vector<Thread*> ready;
    std::size_t alive = 0;
    std::uint64_t idle_turns = 0;
};

[[maybe_unused]] constexpr std::size_t kGuard = 256;
constexpr std::uint8_t kGuardByte = 0xCB;
constexpr std::uint8_t kRubbish = 0xA5;
#ifdef __SANITIZE_ADDRESS__
constexpr std::size_t kMargin = 0;  // the sanitizer has its own margins
#else
constexpr std::size_t kMargin = kGuard;
#endif

std::mt19937_64 generator(1);
Grid grid;
Thread* current = nullptr;
std::vector<std::unique_ptr<Block>> spare_blocks;
std::size_t launch_count = 0;
int processor_count = 3;
bool are_all_at_once = false;
std::unordered_map<const void*, std::size_t> shared_limits;  // for kernels that have set one

constexpr std::size_t kSharedAtFirst = 48 << 10;
constexpr std::size_t kSharedAtMost = 227 << 10;
constexpr unsigned kMostThreads = 1024;

std::size_t random_below(std::size_t count) { return static_cast<std::size_t>(generator() % count); }

void wait() {
    Thread* const self = current;
    Fiber::stop();
    current = self;
}

void make_ready(std::vector<Thread*>& threads) {
    grid.ready.insert(grid.ready.end(), threads.begin(), threads.end());
    threads.clear();
}

void run_thread(void* thread) {
    auto* const self = static_cast<Thread*>(thread);
    (*grid.body)();
    current = self;
    if (!self->open_copies.empty() || !self->copies.empty()) fail("a thread ends before its copies");
    Block& block = *self->block;
    --block.alive;
    --grid.alive;
    grid.idle_turns = 0;
    if (!block.at_barrier.empty() && block.alive == block.at_barrier.size()) fail("a barrier that a thread passed by");
}

std::unique_ptr<Block> make_block(const cudaLaunchConfig_t& config, unsigned number) {
    std::unique_ptr<Block> block;
    if (spare_blocks.empty()) {
        block = std::make_unique<Block>();
    } else {
        block = std::move(spare_blocks.back());
        spare_blocks.pop_back();
    }
    const unsigned size = config.blockDim.x;
    while (block->threads.size() < size) block->threads.push_back(std::make_unique<Thread>());
    block->warps.assign((size + kLanes - 1) / kLanes, Warp{});
    block->alive = size;
    block->shared_size = config.dynamicSmemBytes;
    block->memory = std::make_unique<std::uint8_t[]>(config.dynamicSmemBytes + 15 + kMargin);
    const auto address = reinterpret_cast<std::uintptr_t>(block->memory.get()) + 15;
    block->shared = block->memory.get() + (15 - address % 16);
    for (std::size_t i = 0; i < config.dynamicSmemBytes; ++i) {
        block->shared[i] = static_cast<std::uint8_t>(kRubbish + i * 7);
    }
    std::memset(block->shared + config.dynamicSmemBytes, kGuardByte, kMargin);
    for (unsigned i = 0; i < size; ++i) {
        Thread& thread = *block->threads[i];
        thread.block = block.get();
        thread.place = Place{dim3{i, 0, 0}, dim3{number, 0, 0}, config.blockDim, config.gridDim};
        thread.fiber.start(&run_thread, &thread);
        grid.ready.push_back(&thread);
    }
    grid.alive += size;
    return block;
}

void finish_copies(Thread& thread, std::size_t pending) {
    while (thread.copies.size() > pending) {
        for (const Copy& copy : thread.copies.front()) std::memcpy(copy.to, copy.from, 16);
        thread.copies.pop_front();
    }
}

}  // namespace

const Place& place() noexcept {
    static const Place none;
    return current != nullptr ? current->place : none;
}

void set_seed(std::uint64_t seed) noexcept { generator.seed(seed); }
void set_all_at_once(bool is_set) noexcept { are_all_at_once = is_set; }
void set_processors(int count) noexcept { processor_count = count; }
int processors() noexcept { return processor_count; }

std::size_t launches() noexcept { return launch_count; }

cudaError_t set_shared_limit(const void* kernel, int size) {
    if (size < 0 || std::cmp_greater(size, kSharedAtMost)) return cudaErrorInvalidValue;
    shared_limits[kernel] = static_cast<std::size_t>(size);
    return cudaSuccess;
}

cudaError_t check_launch(const cudaLaunchConfig_t& config, const void* kernel) {
    const auto found = shared_limits.find(kernel);
    const std::size_t limit = found == shared_limits.end() ? kSharedAtFirst : found->second;
    const bool has_threads = config.blockDim.x > 0 && config.blockDim.x <= kMostThreads && config.gridDim.x > 0;
    return has_threads && config.dynamicSmemBytes <= limit ? cudaSuccess : cudaErrorInvalidValue;
}

void run_grid(const cudaLaunchConfig_t& config, const std::function<void()>& thread) {
    static std::mutex mutex;
    const std::scoped_lock lock(mutex);  // grids of different threads run one after another
    ++launch_count;
    if (config.blockDim.y * config.blockDim.z * config.gridDim.y * config.gridDim.z != 1)
        fail("a grid of one dimension");
    grid.body = &thread;
    grid.idle_turns = 0;
    std::vector<unsigned> order(config.gridDim.x);
    for (unsigned i = 0; i < config.gridDim.x; ++i) order[i] = i;
    std::shuffle(order.begin(), order.end(), generator);
    const std::size_t resident = generator() % 2 == 0 || are_all_at_once ? order.size() : 1 + random_below(6);
    const auto slow = static_cast<unsigned>(random_below(order.size()));
    const std::uint64_t haste = 1 + random_below(64);  // for the other blocks
    std::vector<std::unique_ptr<Block>> blocks;
    std::size_t next = 0;
    while (next < order.size() || !blocks.empty()) {
        while (blocks.size() < resident && next < order.size()) blocks.push_back(make_block(config, order[next++]));
        if (grid.ready.empty()) fail("all threads wait: a barrier or an exchange that some do not reach");
        if (++grid.idle_turns > kTurnsForEver) fail("threads wait for ever");
        std::size_t chosen = random_below(grid.ready.size());
        if (grid.ready[chosen]->place.block.x == slow && generator() % haste != 0) {
            chosen = random_below(grid.ready.size());
        }
        current = grid.ready[chosen];
        grid.ready[chosen] = grid.ready.back();
        grid.ready.pop_back();
        Block* const block = current->block;
        current->fiber.run();
        current = nullptr;
        if (block->alive != 0) continue;
        for (std::size_t i = 0; i < kMargin; ++i) {
            if (block->shared[block->shared_size + i] != kGuardByte) fail("written behind the shared memory");
        }
        for (auto& one : blocks) {
            if (one.get() != block) continue;
            spare_blocks.push_back(std::move(one));
            one = std::move(blocks.back());
            blocks.pop_back();
            break;
        }
    }
}

void block_barrier() {
    Block& block = *current->block;
    block.at_barrier.push_back(current);
    if (block.at_barrier.size() == block.alive) {
        if (block.alive != block.threads.size() && block.alive != current->place.block_size.x) {
            fail("a barrier that a thread passed by");
        }
        make_ready(block.at_barrier);
        grid.idle_turns = 0;
    }
    wait();
}

unsigned lane() noexcept { return current->place.thread.x % kLanes; }

const std::uint64_t* exchange(unsigned mask, std::uint64_t value, const char* kind) {
    Warp& warp = current->block->warps[current->place.thread.x / kLanes];
    if ((mask >> lane() & 1) == 0) fail("a lane is not in its own mask");
    if (warp.arrived == 0) {
        warp.mask = mask;
        warp.kind = kind;
    } else if (warp.mask != mask || std::strcmp(warp.kind, kind) != 0) {
        fail("lanes of a warp exchange in different ways");
    }
    const unsigned turn = warp.turn & 1;
    warp.values[turn][lane()] = value;
    warp.arrived |= 1U << lane();
    warp.waiting.push_back(current);
    if (warp.arrived == warp.mask) {
        warp.arrived = 0;
        ++warp.turn;
        make_ready(warp.waiting);
    }
    wait();
    return warp.values[turn].data();
}

void pause() noexcept {
    if (current == nullptr) return;
    grid.idle_turns = 0;
    if (generator() % 4 != 0) return;
    grid.ready.push_back(current);
    wait();
}

void wait_a_turn() noexcept {
    grid.ready.push_back(current);
    wait();
}

std::uint8_t* block_memory() noexcept { return current->block->shared; }

void copy_16_async(std::uint8_t* to, const std::uint8_t* from) {
    if (reinterpret_cast<std::uintptr_t>(to) % 16 != 0 || reinterpret_cast<std::uintptr_t>(from) % 16 != 0) {
        fail("a copy that is not aligned");
    }
    // Some copies are fast; most happen as late as they are allowed to.
    if (generator() % 8 == 0) {
        std::memcpy(to, from, 16);
    } else {
        current->open_copies.push_back({to, from});
    }
}

void end_copy_group() {
    current->copies.push_back(std::move(current->open_copies));
    current->open_copies.clear();
}

void wait_for_copies(int pending) { finish_copies(*current, static_cast<std::size_t>(pending)); }

}  // namespace cleave::cuda::emulator
