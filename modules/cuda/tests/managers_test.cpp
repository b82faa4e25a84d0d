// What tests/system/memory does not see of the managers: when releases are carried out, and cards that lack something.
#include "cuda/managers.h"

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cleave/memory.h"
#include "cuda/tests/emulation.h"

namespace cleave::cuda {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr const char* kNames[] = {"cuda", "cuda-async", "cuda-pool:1048576", "pinned-pool:1048576"};

// A small emulated machine, or the real one.
class Managers : public testing::Test {
protected:
    void SetUp() override {
#ifdef CLEAVE_CUDA_EMULATED
        emulator::set_machine(13000, 2, 64 * kMiB);
#endif
    }
    void TearDown() override {
        EXPECT_EQ(live_allocations(), 0U);
#ifdef CLEAVE_CUDA_EMULATED
        emulator::set_machine(13000, 2, std::size_t{1} << 36);
#endif
    }

    // Bytes of the device.
    static std::size_t total() {
        std::size_t available = 0;
        std::size_t all = 0;
        EXPECT_EQ(cudaMemGetInfo(&available, &all), cudaSuccess);
        return all;
    }
};

Memory allocate(MemoryManager& manager, std::size_t size, std::uint32_t flags = 0) {
    return manager.allocate({.size = size, .space = MemorySpace::kDevice, .flags = flags});
}

int begin_deferral(MemoryManager& manager) { return manager.manager().defer_cleanup_begin(manager.manager().state); }
int end_deferral(MemoryManager& manager) { return manager.manager().defer_cleanup_end(manager.manager().state); }

TEST_F(Managers, CarryOutReleasesWhenMoreThanTenArePending) {
    const auto manager = open_manager("cuda");
    for (const MemorySpace space : {MemorySpace::kDevice, MemorySpace::kPinned}) {
        std::vector<Memory> held;
        for (int i = 0; i < 11; ++i) held.push_back(manager->allocate({.size = 1000, .space = space}));
        for (int i = 0; i < 10; ++i) held.pop_back();
        EXPECT_EQ(live_allocations(), 11U);
        held.pop_back();
        EXPECT_EQ(live_allocations(), 0U);
    }
}

TEST_F(Managers, CarryOutReleasesOfMoreThanAFifthOfTheDevice) {
    const auto manager = open_manager("cuda");
    const std::size_t tenth = total() / 10;
    allocate(*manager, tenth);
    EXPECT_EQ(live_allocations(), 1U);
    allocate(*manager, tenth + kMiB);
    EXPECT_EQ(live_allocations(), 0U);
}

TEST_F(Managers, CarryOutNothingWhileTheyDefer) {
    const auto manager = open_manager("cuda");
    ASSERT_EQ(begin_deferral(*manager), 0);
    ASSERT_EQ(begin_deferral(*manager), 0);
    for (int i = 0; i < 30; ++i) allocate(*manager, total() / 100);
    EXPECT_EQ(live_allocations(), 30U);
    EXPECT_EQ(end_deferral(*manager), 0);
    EXPECT_EQ(live_allocations(), 30U);
    EXPECT_EQ(end_deferral(*manager), 0);
    EXPECT_EQ(live_allocations(), 0U);
}

TEST_F(Managers, CarryOutReleasesWhenMemoryRunsOut) {
    for (const std::string name : {"cuda", "cuda-async", "cuda-pool:1048576"}) {
        const auto manager = open_manager(name);
        ASSERT_EQ(begin_deferral(*manager), 0);
        const std::size_t most = total() / 8 * 5;
        for (int i = 0; i < 3; ++i) EXPECT_NE(allocate(*manager, most).data(), nullptr) << name;
        EXPECT_EQ(end_deferral(*manager), 0);
    }
}

TEST_F(Managers, ZeroSecretMemoryAtItsReleaseAllTheSame) {
    const auto manager = open_manager("cuda");
    std::vector<char> bytes(1000, 'x');
    Memory memory = allocate(*manager, bytes.size(), CLEAVE_MEMORY_SECRET);
    const void* const address = memory.data();
    ASSERT_EQ(cudaMemcpy(memory.data(), bytes.data(), bytes.size(), cudaMemcpyHostToDevice), cudaSuccess);
    ASSERT_EQ(begin_deferral(*manager), 0);
    memory.release();
    ASSERT_EQ(live_allocations(), 1U);  // so it can still be read
    ASSERT_EQ(cudaMemcpy(bytes.data(), address, bytes.size(), cudaMemcpyDeviceToHost), cudaSuccess);
    EXPECT_EQ(bytes, std::vector<char>(1000, 0));
}

TEST_F(Managers, NameWhatTheyCanDo) {
    constexpr std::uint32_t kExchange = CLEAVE_MEMORY_CAN_EXPORT | CLEAVE_MEMORY_CAN_OPEN;
    constexpr std::uint32_t kAlways = CLEAVE_MEMORY_CAN_PIN | CLEAVE_MEMORY_CAN_DEFER;
    for (const std::string name : kNames) {
        const auto manager = open_manager(name);
        const bool has_handles = name == "cuda" || name.starts_with("cuda-pool");
        EXPECT_EQ(manager->manager().capabilities & (kAlways | kExchange), kAlways | (has_handles ? kExchange : 0U));
    }
}

#ifdef CLEAVE_CUDA_EMULATED
const cleave_memory_owner kNobody{nullptr, [](void*) {}, [](void*) {}};

TEST_F(Managers, NeedNoDriverToFreeNothing) {
    emulator::set_machine(0, 0, 0);
    for (const char* const name : kNames) {
        emulator::fail_call(-1, cudaSuccess, false);
        const cleave_memory_manager& manager = make_manager(name);
        EXPECT_EQ(manager.reset(manager.state), 0);
        manager.destroy(manager.state);
        EXPECT_EQ(emulator::calls(), 0);
    }
}

TEST_F(Managers, PinMappedMemoryOnlyWhereTheAddressIsTheSame) {
    std::vector<char> bytes(5000);
    for (const char* const name : kNames) {
        const auto manager = open_manager(name);
        const cleave_memory_manager& face = manager->manager();
        const auto pin = [&](std::uint32_t flags) {
            cleave_memory pinned{};
            const int error = face.pin(face.state, &kNobody, bytes.data(), bytes.size(), flags, &pinned);
            if (error == 0) face.release(face.state, &pinned, nullptr);
            return error;
        };
        EXPECT_EQ(pin(CLEAVE_MEMORY_PIN_MAPPED), 0);
        emulator::set_one_address(false);
        EXPECT_EQ(pin(CLEAVE_MEMORY_PIN_MAPPED), ENOTSUP);
        EXPECT_EQ(pin(0), 0);
        emulator::set_one_address(true);
    }
}

TEST_F(Managers, LeakNothingIfACallFails) {
    std::vector<char> bytes(5000);
    for (const char* const name : kNames) {
        for (int n = 0, calls = 1; n < calls; ++n) {
            emulator::fail_call(n, cudaErrorIllegalAddress, n % 2 == 1);
            const cleave_memory_manager& manager = make_manager(name);
            cleave_memory memory{};
            for (const auto space : {CLEAVE_MEMORY_DEVICE, CLEAVE_MEMORY_PINNED}) {
                for (const std::uint32_t flags : {0U, CLEAVE_MEMORY_SECRET | CLEAVE_MEMORY_ZEROED}) {
                    for (int i = 0; i < 3; ++i) {
                        if (manager.allocate(manager.state, space, 300'000, 0, flags, nullptr, &memory) != 0) continue;
                        if (i > 0) manager.release(manager.state, &memory, nullptr);
                    }
                }
            }
            for (int i = 0; i < 2; ++i) {
                const int error =
                    manager.pin(manager.state, &kNobody, bytes.data(), bytes.size(), CLEAVE_MEMORY_PIN_MAPPED, &memory);
                if (error == 0 && i == 0) manager.release(manager.state, &memory, nullptr);
            }
            manager.reset(manager.state);
            ASSERT_EQ(live_allocations(), 0U) << name << ", call " << n;
            manager.destroy(manager.state);
            calls = emulator::calls();
        }
    }
    emulator::fail_call(-1, cudaSuccess, false);
}
#endif

}  // namespace
}  // namespace cleave::cuda
