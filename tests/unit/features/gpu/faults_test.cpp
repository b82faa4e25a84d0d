// The n-th call of the device fails, for every n, in each of three ways.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>

#include "column.h"
#include "rows/memory/manager_base.h"

namespace cleave::faults_test {

#ifdef CLEAVE_SANITIZED
constexpr std::uint64_t kSize = 10;
#else
constexpr std::uint64_t kSize = 20;
#endif

// What is done while calls fail.
struct Scenario {
    const char* name;
    DevicePolicy policy;
    std::uint64_t limit;  // of the device's memory, in bytes
    bool is_stream;
};

struct Outcome {
    bool is_right = false;
    bool threw = false;
    DeviceFault fault = DeviceFault::kNone;
};

std::uint64_t triple(std::uint64_t x) { return 3 * x; }
std::uint64_t add(std::uint64_t x, std::uint64_t y) { return x + y; }

Numbers plain(const Numbers& numbers, bool is_stream) {
    Numbers wanted = numbers;
    for (std::uint64_t& number : wanted) number = is_stream ? 3 * number : 4 * number;
    if (!is_stream) std::ranges::reverse(wanted);
    return wanted;
}

Numbers stream(Context& context, const Column& x, const Functions& functions) {
    Numbers out;
    std::uint64_t at = 0;
    context.stream<Column, Column>(
        functions.unary("triple", triple),
        [&]() -> std::optional<Column> {
            if (at == kSize) return std::nullopt;
            at += 5;
            return SplitType<Column>::split(x, at - 5, at);
        },
        [&](const Column& page) {
            const Numbers numbers = numbers_of(page);
            out.insert(out.end(), numbers.begin(), numbers.end());
        });
    return out;
}

Outcome run(SimulatedDevice& device, const std::shared_ptr<Device>& shared, const Scenario& scenario,
            const std::shared_ptr<MemoryManager>& memory) {
    Numbers numbers(kSize);
    for (std::uint64_t i = 0; i < kSize; ++i) numbers[i] = i;
    Outcome outcome;
    try {
        ContextOptions options;
        options.memory = memory;
        options.device = shared;
        options.policy = scenario.policy;
        options.device_memory = scenario.limit;
        MachineProfile profile;  // nothing costs anything, so the device is chosen
        options.profile = profile;
        Context context(options);
        const Functions functions(&device.virtual_clock());
        const Column x = make_column(*memory, numbers);
        if (scenario.is_stream) {
            outcome.is_right = stream(context, x, functions) == plain(numbers, true);
        } else {
            const Lazy<Column> input = x;
            const Lazy<Column> sum = functions.binary("add", add)(functions.unary("triple", triple)(input), input);
            const Lazy<Column> result = functions.reversed(false)(sum);
            outcome.is_right = numbers_of(context.get(result)) == plain(numbers, false);
        }
    } catch (const DeviceError& error) {
        outcome.threw = true;
        outcome.fault = error.fault();
    }
    return outcome;
}

class Faults : public testing::TestWithParam<Scenario> {};

TEST_P(Faults, TheNthCallFails) {
    std::uint64_t calls = 0;
    int right = 0;
    int thrown = 0;
    std::map<DeviceFault, std::uint64_t> thrown_after;
    for (const DeviceFault fault : {DeviceFault::kOutOfMemory, DeviceFault::kFailed, DeviceFault::kLost}) {
        for (std::uint64_t n = 0; n <= calls; ++n) {  // 0: no call fails, which counts the calls
            SCOPED_TRACE(testing::Message() << "call " << n << ", fault " << static_cast<int>(fault));
            const auto device = std::make_shared<SimulatedDevice>();
            const auto count = std::make_shared<HostCount>();
            device->fail_call(n, fault);
            const Outcome outcome = run(*device, device, GetParam(), make_counting_manager(count));
            if (n == 0) {
                ASSERT_TRUE(outcome.is_right);
                calls = device->calls();
            }
            ASSERT_NE(outcome.is_right, outcome.threw);
            ++(outcome.threw ? thrown : right);
            if (outcome.threw) ++thrown_after[fault];
            // A failed allocation counts as out of memory, whatever the cause.
            if (outcome.threw && outcome.fault != DeviceFault::kOutOfMemory) {
                EXPECT_EQ(outcome.fault, fault);
            }
            ASSERT_EQ(device->allocations_alive(), 0);
            ASSERT_EQ(device->device_bytes_alive(), 0);
            ASSERT_EQ(device->streams_alive(), 0);
            ASSERT_EQ(device->events_alive(), 0);
            ASSERT_EQ(count->alive.load(), 0);
        }
    }
    EXPECT_GT(calls, 15);
    EXPECT_GT(right, 5);
    EXPECT_GT(thrown, 20);
    // Only allocations, and waits for dropped work, may fail without an error.
    EXPECT_GT(4 * thrown_after[DeviceFault::kFailed], 3 * calls);
    EXPECT_GT(4 * thrown_after[DeviceFault::kLost], 3 * calls);
}

INSTANTIATE_TEST_SUITE_P(All, Faults,
                         testing::Values(Scenario{"whole", DevicePolicy::kGpu, 0, false},
                                         Scenario{"whole_auto", DevicePolicy::kAuto, 0, false},
                                         Scenario{"pages", DevicePolicy::kGpu, 160, false},
                                         Scenario{"pages_auto", DevicePolicy::kAuto, 160, false},
                                         Scenario{"smallest_auto", DevicePolicy::kAuto, 40, false},
                                         Scenario{"stream", DevicePolicy::kGpu, 0, true},
                                         Scenario{"stream_auto", DevicePolicy::kAuto, 160, true}),
                         [](const auto& tested) { return std::string(tested.param.name); });

// With policy `auto`, running out of memory once causes no error if the runtime can go on.
TEST(Fallback, OutOfMemoryInAnAllocationIsNoError) {
    std::uint64_t allocations = 0;
    for (std::uint64_t n = 0; n < 150; ++n) {
        const auto device = std::make_shared<SimulatedDevice>();
        const auto count = std::make_shared<HostCount>();
        device->fail_call(n, DeviceFault::kOutOfMemory);
        const Outcome outcome =
            run(*device, device, {"auto", DevicePolicy::kAuto, 160, false}, make_counting_manager(count));
        if (outcome.is_right && n > 0 && n < device->calls()) ++allocations;
    }
    EXPECT_GT(allocations, 75);
}

// A user's manager whose memory in one space is too small or misaligned.
class BrokenManager final : public ManagerBase {
public:
    enum class Fault : std::uint8_t { kTooSmall, kMisaligned };

    BrokenManager(cleave_memory_space space, Fault fault, std::shared_ptr<HostCount> count) noexcept
        : ManagerBase("broken", CLEAVE_MEMORY_CAN_HOST | capability_of(space)),
          space_(space),
          fault_(fault),
          count_(std::move(count)) {}

    int allocate(cleave_memory_space space, std::size_t size, std::size_t alignment, std::uint32_t flags,
                 void* /*stream*/, cleave_memory& memory) noexcept override {
        if (const int error = check_request(space, alignment, flags); error != 0) return error;
        void* const given = std::aligned_alloc(alignment, (size + 2 * alignment) / alignment * alignment);
        if (given == nullptr) return ENOMEM;
        count_->alive.fetch_add(1);
        memory = {given, size, given};
        if (space != space_) return 0;
        if (fault_ == Fault::kTooSmall) memory.size = size - 1;
        if (fault_ == Fault::kMisaligned) memory.pointer = static_cast<std::uint8_t*>(given) + 1;
        return 0;
    }
    int release(const cleave_memory& memory, void* /*stream*/) noexcept override {
        std::free(memory.handle);  // NOLINT(cppcoreguidelines-no-malloc): from aligned_alloc()
        count_->alive.fetch_sub(1);
        return 0;
    }
    int reset() noexcept override { return ENOTSUP; }

private:
    const cleave_memory_space space_;
    const Fault fault_;
    const std::shared_ptr<HostCount> count_;
};

// The error names the manager. It is not taken for a lack of memory, which smaller pages, ordinary memory or the host
// could work around.
TEST(BrokenMemory, IsAnErrorThatNamesTheManager) {
    using Fault = BrokenManager::Fault;
    for (const cleave_memory_space space : {CLEAVE_MEMORY_DEVICE, CLEAVE_MEMORY_PINNED}) {
        for (const Fault fault : {Fault::kTooSmall, Fault::kMisaligned}) {
            for (const Scenario& scenario :
                 {Scenario{"whole", DevicePolicy::kGpu, 0, false}, Scenario{"whole", DevicePolicy::kAuto, 0, false},
                  Scenario{"pages", DevicePolicy::kGpu, 8 * kSize, false},
                  Scenario{"stream", DevicePolicy::kGpu, 0, true}, Scenario{"stream", DevicePolicy::kAuto, 0, true}}) {
                const bool needs_space = space == CLEAVE_MEMORY_DEVICE || std::string(scenario.name) != "whole";
                if (!needs_space) continue;  // without pages nothing is pinned
                const auto device = std::make_shared<SimulatedDevice>();
                const auto count = std::make_shared<HostCount>();
                try {
                    run(*device, device, scenario,
                        MemoryManager::adopt((new BrokenManager(space, fault, count))->face()));
                    ADD_FAILURE() << scenario.name << ", space " << space << ": nothing was said";
                } catch (const MemoryError& error) {
                    const std::string text = error.what();
                    EXPECT_EQ(error.error(), EPROTO);
                    EXPECT_TRUE(text.starts_with("memory manager broken with simulated: ")) << text;
                    EXPECT_TRUE(text.ends_with("returned memory that is too small or misaligned")) << text;
                }
                EXPECT_EQ(count->alive.load(), 0) << scenario.name;
                EXPECT_EQ(device->allocations_alive(), 0) << scenario.name;
            }
        }
    }
}

}  // namespace cleave::faults_test
