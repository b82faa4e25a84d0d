// Random graphs with random policies, rates, limits, page sizes and failures, compared with plain loops.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "column.h"

namespace cleave::random_test {

#ifdef CLEAVE_SANITIZED
constexpr int kGraphs = 400;
#else
constexpr int kGraphs = 2400;
#endif

constexpr std::uint64_t kRoomy = std::uint64_t{1} << 16;  // enough bytes for every graph

// A graph, and the expected value of each node.
class RandomGraph {
public:
    RandomGraph(std::mt19937& random, MemoryManager& memory, const Functions& functions)
        : random_(random), memory_(memory), functions_(functions), size_(up_to(200)) {
        add_leaf();
        const std::uint64_t count = 1 + up_to(12);
        for (std::uint64_t i = 0; i < count; ++i) add_node();
    }

    std::uint64_t up_to(std::uint64_t most) { return std::uniform_int_distribution<std::uint64_t>(0, most)(random_); }
    std::size_t any() { return up_to(nodes_.size() - 1); }

    std::vector<Lazy<Column>> nodes_;
    std::vector<Numbers> wanted_;

private:
    void add(Lazy<Column> node, Numbers numbers) {
        nodes_.push_back(std::move(node));
        wanted_.push_back(std::move(numbers));
    }

    void add_leaf() {
        Numbers numbers(size_);
        for (std::uint64_t& number : numbers) number = random_();
        const Column column = make_column(memory_, numbers);
        add(column, numbers);
    }

    void add_node() {
        const std::size_t x = any();
        const std::size_t y = any();
        Numbers numbers = wanted_[x];
        switch (up_to(8)) {
            case 0: return add_leaf();
            case 1:
                for (std::uint64_t& number : numbers) number = ~number;
                return add(functions_.unary("invert", [](std::uint64_t a) { return ~a; })(nodes_[x]), numbers);
            case 2:
                for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] += wanted_[y][i];
                return add(functions_.binary("add", [](std::uint64_t a, std::uint64_t b) { return a + b; })(nodes_[x],
                                                                                                            nodes_[y]),
                           numbers);
            case 3:
                for (std::uint64_t& number : numbers) number *= 3;
                return add(functions_.unary(
                               "triple", [](std::uint64_t a) { return a * 3; }, false)(nodes_[x]),
                           numbers);
            case 4:
                if (size_ == 0) return;
                for (std::uint64_t& number : numbers) number = wanted_[y][number % size_];
                return add(functions_.lookup()(nodes_[x], nodes_[y]), numbers);
            case 5: std::ranges::reverse(numbers); return add(functions_.reversed(true)(nodes_[x]), numbers);
            case 6: std::ranges::reverse(numbers); return add(functions_.reversed(false)(nodes_[x]), numbers);
            case 7: {
                std::uint64_t sum = 0;
                for (const std::uint64_t number : wanted_[y]) sum += number;
                for (std::uint64_t& number : numbers) number += sum;
                return add(functions_.add_number()(nodes_[x], functions_.sum()(nodes_[y])), numbers);
            }
            default: return add(functions_.filled()(size_, std::uint64_t{7}), Numbers(size_, 7));
        }
    }

    std::mt19937& random_;
    MemoryManager& memory_;
    const Functions& functions_;
    const std::uint64_t size_;
};

SimulatedOptions random_machine(std::mt19937& random) {
    SimulatedOptions options;
    options.memory_size = std::uint64_t{1} << (10 + random() % 8);
    options.pinned_size = random() % 8 == 0 ? 0 : 1 << 20;
    options.in.per_byte = options.out.per_byte = random() % 2 == 0 ? 1e-7 : 1e-12;
    options.in.fixed = options.out.fixed = options.launch = random() % 2 == 0 ? 1e-8 : 1e-6;
    return options;
}

struct Seen {
    int on_device = 0;
    int on_host = 0;
    int paged = 0;
    int fell_back = 0;
    int failed = 0;
    int recovered = 0;  // ran out of memory partway through, and went on with smaller pages
};

// Evaluates two nodes. If a device call fails during this, either the result is right all the same, or the error is
// thrown and repeating the evaluation succeeds. Returns whether the first attempt succeeded.
bool evaluate(Context& context, SimulatedDevice& device, const Lazy<Column>& one, const Lazy<Column>& other,
              std::mt19937& random, Seen& seen) {
    const DeviceFault fault = random() % 3 == 0 ? DeviceFault::kFailed : DeviceFault::kOutOfMemory;
    const bool fails = random() % 2 == 0;
    const std::uint64_t failing = device.calls() + 1 + random() % (random() % 2 == 0 ? 20 : 200);
    if (fails) device.fail_call(failing, fault);
    bool threw = false;
    try {
        context.evaluate(one, other);
    } catch (const DeviceError&) {
        EXPECT_TRUE(fails);
        threw = true;
        ++seen.failed;
    }
    const bool has_failed = fails && device.calls() >= failing;
    EXPECT_TRUE(has_failed || !threw);
    device.fail_call(0, DeviceFault::kNone);
    if (threw) context.evaluate(one, other);
    const auto is_paged = [](const NodeReport& report) { return report.side == Side::kDevice && report.pages > 1; };
    const bool was_small = has_failed && fault == DeviceFault::kOutOfMemory && !threw;
    if (was_small && std::ranges::any_of(context.report(), is_paged)) ++seen.recovered;
    return !testing::Test::HasFailure();
}

void check_graph(unsigned seed, Seen& seen) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const SimulatedOptions machine = random_machine(random);
    const auto count = std::make_shared<HostCount>();
    auto device = std::make_shared<SimulatedDevice>(machine);
    {
        ContextOptions options;
        options.memory = make_counting_manager(count);
        options.device = device;
        options.policy = random() % 8 == 0 ? DevicePolicy::kCpu : DevicePolicy::kAuto;
        options.device_memory = random() % 2 == 0 ? 0 : 64 + random() % 4096;
        options.page_size = 8 + random() % 2000;
        options.profile = profile_of(machine);
        if (machine.memory_size >= kRoomy && random() % 2 == 0) {
            options.policy = DevicePolicy::kGpu;
            options.device_memory = 0;
        }
        Context context(options);
        const Functions functions(&device->virtual_clock());
        RandomGraph graph(random, *options.memory, functions);
        for (int round = 0; round < 2; ++round) {
            const std::size_t one = graph.any();
            const std::size_t other = graph.any();
            ASSERT_TRUE(evaluate(context, *device, graph.nodes_[one], graph.nodes_[other], random, seen));
            for (const NodeReport& report : context.report()) {
                ++(report.side == Side::kDevice ? seen.on_device : seen.on_host);
                if (report.pages > 1) ++seen.paged;
                if (!report.note.empty()) ++seen.fell_back;
            }
            ASSERT_EQ(numbers_of(graph.nodes_[one].get()), graph.wanted_[one]);
            ASSERT_EQ(numbers_of(graph.nodes_[other].get()), graph.wanted_[other]);
        }
    }
    ASSERT_EQ(device->allocations_alive(), 0);
    ASSERT_EQ(count->alive.load(), 0);
}

TEST(RandomGraphs, GiveWhatPlainLoopsGive) {
    Seen seen;
    for (unsigned seed = 0; seed < kGraphs && !testing::Test::HasFatalFailure(); ++seed) check_graph(seed, seen);
    // The graphs must cover every way to run.
    EXPECT_GT(seen.on_device, kGraphs / 4);
    EXPECT_GT(seen.on_host, kGraphs / 4);
    EXPECT_GT(seen.paged, kGraphs / 20);
    EXPECT_GT(seen.fell_back, kGraphs / 100);
    EXPECT_GT(seen.failed, kGraphs / 50);
    EXPECT_GT(seen.recovered, kGraphs / 100);
}

}  // namespace cleave::random_test
