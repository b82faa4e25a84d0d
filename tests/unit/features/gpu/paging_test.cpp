// Values that do not fit into the device's memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <stdexcept>

#include "column.h"

namespace cleave::paging_test {

constexpr std::uint64_t kSize = 4096;
constexpr std::uint64_t kBytes = kSize * 8;

std::uint64_t triple(std::uint64_t x) { return 3 * x; }
std::uint64_t add(std::uint64_t x, std::uint64_t y) { return x + y; }

class PagingTest : public testing::Test {
protected:
    void TearDown() override {
        context.reset();
        EXPECT_EQ(device->allocations_alive(), 0);
        EXPECT_EQ(count->alive.load(), 0);
    }

    void open(std::uint64_t limit, DevicePolicy policy = DevicePolicy::kGpu) {
        device = std::make_shared<SimulatedDevice>(machine);
        options.memory = make_counting_manager(count);
        options.device = device;
        options.policy = policy;
        options.device_memory = limit;
        options.profile = profile_of(machine);
        context = std::make_unique<Context>(options);
        x = make_column(*options.memory, kSize);
        for (std::uint64_t i = 0; i < kSize; ++i) x.numbers()[i] = i * i;
    }

    // Computes 3x + x, with one input and one intermediate value.
    Lazy<Column> graph() const {
        const Functions functions(nullptr);
        const Lazy<Column> input = x;
        return functions.binary("add", add)(functions.unary("triple", triple)(input), input);
    }

    void check(const Lazy<Column>& result) const {
        Numbers wanted(kSize);
        for (std::uint64_t i = 0; i < kSize; ++i) wanted[i] = 4 * i * i;
        EXPECT_EQ(numbers_of(result.get()), wanted);
    }

    NodeReport last() const { return context->report().back(); }

    SimulatedOptions machine;
    ContextOptions options;
    std::shared_ptr<HostCount> count = std::make_shared<HostCount>();
    std::shared_ptr<SimulatedDevice> device;
    std::unique_ptr<Context> context;
    Column x;
};

TEST_F(PagingTest, LimitsOfAnEighthAndASixtyFourth) {
    for (const std::uint64_t part : {std::uint64_t{8}, std::uint64_t{64}}) {
        open(kBytes / part);
        const Lazy<Column> result = graph();
        context->evaluate(result);
        check(result);
        EXPECT_GE(last().pages, part);
        EXPECT_LE(device->device_bytes_peak(), kBytes / part);
        EXPECT_EQ(context->report()[0].bytes_in, kBytes);
        EXPECT_EQ(context->report()[1].bytes_in, 0);
        EXPECT_EQ(context->report()[1].bytes_out, kBytes);
        x = {};
    }
}

TEST_F(PagingTest, WhatFitsIsNotPaged) {
    open(4 * kBytes);
    const Lazy<Column> result = graph();
    context->evaluate(result);
    EXPECT_EQ(last().pages, 0);
    check(result);
    x = {};
}

TEST_F(PagingTest, PagesAreNoLargerThanAsked) {
    options.page_size = 800;
    open(kBytes);
    const Lazy<Column> result = graph();
    context->evaluate(result);
    EXPECT_EQ(last().pages, (kSize + 99) / 100);
    check(result);
    x = {};
}

TEST_F(PagingTest, CopiesAndBodiesOfDifferentPagesOverlap) {
    machine.in = machine.out = {0, 1e-9};
    machine.launch = 0;
    machine.bodies["add"] = {0, 0.5e-9};  // with two arguments
    machine.bodies["triple"] = {0, 0};
    options.page_size = kBytes / 64;
    open(kBytes);
    const Lazy<Column> result = graph();
    const double begin = device->virtual_clock().seconds();
    context->evaluate(result);
    const double taken = device->virtual_clock().seconds() - begin;
    const double one_after_another = 3 * kBytes * 1e-9;
    EXPECT_EQ(last().pages, 64);
    EXPECT_LT(taken, one_after_another * 0.36);  // a third, plus two pages to begin and end with
    check(result);
    x = {};
}

TEST_F(PagingTest, PinnedMemoryOfPagesIsUsedAgain) {
    options.page_size = kBytes / 64;
    open(kBytes);
    const Lazy<Column> result = graph();
    context->evaluate(result);
    EXPECT_EQ(last().pages, 64);
    EXPECT_LE(device->pinned_allocations(), 64 + 4);  // one for each result, and some for the pages in flight
    check(result);
    x = {};
}

TEST_F(PagingTest, ADeviceThatIsNearlyFull) {
    machine.memory_size = 2 * kBytes;
    open(0);
    const cleave_memory_manager& other = *device->make_memory_manager();
    cleave_memory taken{};
    ASSERT_EQ(other.allocate(other.state, CLEAVE_MEMORY_DEVICE, 2 * kBytes - 2000, 0, 0, nullptr, &taken), 0);
    const Lazy<Column> result = graph();
    context->evaluate(result);
    EXPECT_GE(last().pages, kBytes / 2000);
    check(result);
    other.release(other.state, &taken, nullptr);
    other.destroy(other.state);
    x = {};
}

TEST_F(PagingTest, PagesBecomeSmallerUntilTheyFit) {
    // The annotator says that the result is small, so the first pages are too large.
    open(kBytes / 16);
    Cost cost;
    cost.by_parts = true;
    cost.result_bytes = [](std::span<const std::uint64_t>) { return std::uint64_t{0}; };
    const auto grow = [](DeviceStream& stream, const Column& in) {
        const Memory work = stream.allocate(in.bytes() * 4);
        const Column made = make_device_column(stream, in.size());
        stream.run({"grow", 0}, [from = in.numbers(), to = made.numbers(), size = in.size()](void*) {
            for (std::uint64_t i = 0; i < size; ++i) to[i] = 4 * from[i];
        });
        return made;
    };
    const auto unused = [](const Column& in) -> Column {
        ADD_FAILURE() << "the host body runs";
        return in;
    };
    const Lazy<Column> result = annotate<Column(Column)>("grow", unused, grow, cost)(x);
    context->evaluate(result);
    EXPECT_GT(last().pages, 3 * 16);
    EXPECT_EQ(last().note, "");
    check(result);
    x = {};
}

TEST_F(PagingTest, WhatWasMovedInVainIsFreedBeforePages) {
    // Everything seems to fit, because the annotator says that the result is small. In fact only the input fits.
    open(kBytes + 64);
    Cost cost;
    cost.by_parts = true;
    cost.result_bytes = [](std::span<const std::uint64_t>) { return std::uint64_t{0}; };
    const auto copy = [](DeviceStream& stream, const Column& in) {
        const Column made = make_device_column(stream, in.size());
        stream.copy_within(made.numbers(), in.numbers(), in.bytes());
        return made;
    };
    const auto unused = [](const Column& in) { return in; };
    const Lazy<Column> result = annotate<Column(Column)>("copy", unused, copy, cost)(x);
    context->evaluate(result);
    EXPECT_GT(last().pages, 1);
    EXPECT_LE(last().pages, 16);
    EXPECT_EQ(last().bytes_in, kBytes);
    EXPECT_EQ(numbers_of(result.get()), numbers_of(x));
    x = {};
}

TEST_F(PagingTest, IfTheSmallestPageDoesNotFitTheHostTakesIt) {
    machine.in = machine.out = {0, 1e-12};
    machine.launch = 0;
    open(15, DevicePolicy::kAuto);
    const Lazy<Column> result = graph();
    context->evaluate(result);
    EXPECT_EQ(last().side, Side::kHost);
    EXPECT_EQ(last().note, "too little memory on the device");
    EXPECT_NE(context->explain().find("too little memory on the device"), std::string::npos);
    check(result);
    x = {};
}

TEST_F(PagingTest, OrItIsAnErrorIfTheDeviceIsWanted) {
    open(15);
    try {
        context->evaluate(graph());
        ADD_FAILURE() << "no error";
    } catch (const DeviceError& error) {
        EXPECT_EQ(error.fault(), DeviceFault::kOutOfMemory);
    }
    x = {};
}

TEST_F(PagingTest, AFunctionThatNeedsAllAtOnceIsAnErrorToo) {
    open(kBytes / 2);
    EXPECT_THROW(context->evaluate(Functions(nullptr).reversed(true)(x)), DeviceError);
    x = {};
}

TEST_F(PagingTest, ArgumentsWithDifferentNumbersOfUnitsAreNotPaged) {
    machine.in = machine.out = {0, 1e-12};
    machine.launch = 0;
    open(kBytes / 8, DevicePolicy::kAuto);
    Cost cost;
    cost.host = Rate{0, 1e-6};
    cost.device = Rate{0, 1e-12};
    cost.by_parts = true;
    const auto first = [](const Column& in, const Column& other) {
        EXPECT_EQ(in.size(), kSize);
        EXPECT_EQ(other.size(), 2);
        return in;
    };
    const auto on_device = [](DeviceStream&, const Column& in, const Column&) {
        ADD_FAILURE() << "the device body runs";
        return in;
    };
    const Lazy<Column> result =
        annotate<Column(Column, Column)>("first", first, on_device, cost)(x, make_column(*options.memory, 2));
    context->evaluate(result);
    EXPECT_EQ(numbers_of(result.get()), numbers_of(x));
    EXPECT_EQ(last().side, Side::kHost);
    EXPECT_EQ(last().note, "too little memory on the device");
    x = {};
}

TEST_F(PagingTest, AnExceptionOfABodyComesOut) {
    open(kBytes / 8);
    Cost cost;
    cost.by_parts = true;
    std::atomic<int> bodies{0};
    const auto unused = [](const Column& in) { return in; };
    const auto fail = [&bodies](DeviceStream& stream, const Column& in) {
        stream.run({"fail", 0}, [&bodies](void*) {
            if (++bodies == 5) throw std::range_error("no");
        });
        return in;
    };
    EXPECT_THROW(context->evaluate(annotate<Column(Column)>("fail", unused, fail, cost)(x)), std::range_error);
    EXPECT_GE(bodies.load(), 5);
    EXPECT_EQ(device->device_bytes_alive(), 0);
    x = {};
}

TEST_F(PagingTest, AllocationsArePagedToo) {
    open(kBytes / 8);
    const Functions functions(nullptr);
    const Lazy<Column> result = functions.binary("add", add)(functions.filled()(kSize, std::uint64_t{7}), x);
    context->evaluate(result);
    EXPECT_GE(last().pages, 8);
    EXPECT_EQ(result.get().numbers()[kSize - 1], (kSize - 1) * (kSize - 1) + 7);
    x = {};
}

TEST_F(PagingTest, WithoutPinnedMemoryItRunsAllTheSame) {
    machine.pinned_size = 0;
    open(kBytes / 8);
    const Lazy<Column> result = graph();
    context->evaluate(result);
    check(result);
    x = {};
}

class StreamTest : public PagingTest {
protected:
    // Streams x in pages of 300 numbers, and returns the output.
    Numbers stream(const Unary& function) {
        Numbers out;
        std::uint64_t at = 0;
        context->stream<Column, Column>(
            function,
            [&]() -> std::optional<Column> {
                if (at == kSize) return std::nullopt;
                const std::uint64_t begin = std::exchange(at, std::min(kSize, at + 300));
                return SplitType<Column>::split(x, begin, at);
            },
            [&](const Column& page) {
                const Numbers numbers = numbers_of(page);
                out.insert(out.end(), numbers.begin(), numbers.end());
            });
        return out;
    }

    Numbers wanted() const {
        Numbers numbers = numbers_of(x);
        for (std::uint64_t& number : numbers) number *= 3;
        return numbers;
    }
};

TEST_F(StreamTest, PagesComeOutInOrder) {
    for (const DevicePolicy policy : {DevicePolicy::kCpu, DevicePolicy::kAuto, DevicePolicy::kGpu}) {
        for (const std::uint64_t limit : {std::uint64_t{0}, std::uint64_t{4800}, std::uint64_t{16}}) {
            open(limit, policy);
            EXPECT_EQ(stream(Functions(nullptr).unary("triple", triple)), wanted());
            EXPECT_GE(last().pages, (kSize + 299) / 300);
            x = {};
        }
    }
}

TEST_F(StreamTest, AutoDecidesByTheFirstPage) {
    const Unary triples = Functions(nullptr).unary("triple", triple);
    machine.launch = 0;
    for (const bool is_fast : {false, true}) {
        machine.in = machine.out = {0, is_fast ? 1e-12 : 1e-9};  // the host takes 1e-9 seconds per byte
        open(0, DevicePolicy::kAuto);
        EXPECT_EQ(stream(triples), wanted());
        EXPECT_EQ(last().side, is_fast ? Side::kDevice : Side::kHost);
        EXPECT_EQ(last().bytes_in, is_fast ? kBytes : 0);
        EXPECT_EQ(last().note, "");
        x = {};
    }
    open(15, DevicePolicy::kAuto);  // no page fits
    EXPECT_EQ(stream(triples), wanted());
    EXPECT_EQ(last().note, "too little memory on the device");
    x = {};
    open(15, DevicePolicy::kGpu);
    EXPECT_THROW(stream(triples), DeviceError);
    x = {};
}

TEST_F(StreamTest, WhatTheSinkThrowsComesOut) {
    for (const int pages : {3, 1000}) {  // the sink throws at the end of the stream, or in the middle
        open(0);
        int given = 0;
        int taken = 0;
        const int throws_at = pages == 3 ? 1 : 5;
        const auto next = [&]() -> std::optional<Column> {
            if (given++ == pages) return std::nullopt;
            return x;
        };
        const auto sink = [&](const Column&) {
            if (++taken == throws_at) throw DeviceError(DeviceFault::kOutOfMemory, "of another context");
        };
        EXPECT_THROW((context->stream<Column, Column>(Functions(nullptr).unary("triple", triple), next, sink)),
                     DeviceError);
        EXPECT_EQ(taken, throws_at);
        x = {};
    }
}

}  // namespace cleave::paging_test
