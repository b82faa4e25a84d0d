// Tests the operations of bench/columns.h one by one, and all variants of the published example.
#include "cuda/bench/columns.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "cuda/bench/redact.h"
#include "cuda/device.h"
#include "cuda/managers.h"
#include "cuda/tests/emulation.h"
#include "cuda/tests/values.h"

namespace cleave::cuda {
namespace {

using Values = std::vector<HostValue>;
const HostValue kNull;

class Operations : public testing::Test {
protected:
    std::vector<int> to_list(const DeviceMask& mask) {
        std::vector<std::uint8_t> bytes(static_cast<std::size_t>(mask.rows));
        check(cudaMemcpyAsync(bytes.data(), mask.bytes.data(), bytes.size(), cudaMemcpyDeviceToHost, nullptr), "copy");
        device_.wait();
        return {bytes.begin(), bytes.end()};
    }

    Device device_{open_manager("cuda")};
};

TEST_F(Operations, Equals) {
    const DeviceStrings column =
        to_device(device_, Values{"public", "publi", "public ", "", "Public", kNull, "private", "pub\xFFic"});
    EXPECT_EQ(to_list(equals(device_, column.view(), "public")), (std::vector{1, 0, 0, 0, 0, 0, 0, 0}));
    EXPECT_EQ(to_list(equals(device_, column.view(), "")), (std::vector{0, 0, 0, 1, 0, 0, 0, 0}));
    EXPECT_THROW(equals(device_, column.view(), std::string(61, 'x')), std::invalid_argument);
}

TEST_F(Operations, IsFilledAndKeepWhere) {
    const DeviceStrings column = to_device(device_, Values{"a", "", kNull, "bc"});
    DeviceMask filled = is_filled(device_, column.view());
    EXPECT_EQ(to_list(filled), (std::vector{1, 0, 0, 1}));
    keep_where(device_, filled, equals(device_, column.view(), "bc"));
    EXPECT_EQ(to_list(filled), (std::vector{0, 0, 0, 1}));
}

TEST_F(Operations, Split) {
    const DeviceStrings column = to_device(device_, Values{"John Doe", "a b c", "none", "", " x", "x ", kNull, "  "});
    EXPECT_EQ(to_host(device_, before_first(device_, column.view(), ' ').view()),
              (Values{"John", "a", "none", "", "", "x", kNull, ""}));
    EXPECT_EQ(to_host(device_, after_first(device_, column.view(), ' ').view()),
              (Values{"Doe", "b c", "", "", "x", "", kNull, " "}));
}

TEST_F(Operations, Slice) {
    const DeviceStrings column = to_device(device_, Values{"abc", "é日😀x", "", kNull, "\xF0\x9F\x98", "a\xFF"});
    EXPECT_EQ(to_host(device_, slice(device_, column.view(), 0, 1).view()), (Values{"a", "é", "", kNull, "\xF0", "a"}));
    EXPECT_EQ(to_host(device_, slice(device_, column.view(), 1, 3).view()),
              (Values{"bc", "日😀", "", kNull, "\x9F\x98", "\xFF"}));
    EXPECT_EQ(to_host(device_, slice(device_, column.view(), 2, 2).view()), (Values{"", "", "", kNull, "", ""}));
}

TEST_F(Operations, ConcatenateAndChoose) {
    const DeviceStrings first = to_device(device_, Values{"a", "", kNull, "long enough"});
    const DeviceStrings second = to_device(device_, Values{"b", "c", "d", ""});
    const DeviceStrings both = concatenate(device_, first.view(), "--", second.view());
    EXPECT_EQ(to_host(device_, both.view()), (Values{"a--b", "--c", kNull, "long enough--"}));
    const DeviceMask mask = equals(device_, second.view(), "b");
    EXPECT_EQ(to_host(device_, choose(device_, mask, both.view(), "otherwise").view()),
              (Values{"a--b", "otherwise", kNull, "otherwise"}));
}

struct Form {
    const char* name;
    DeviceStrings (*make)(Device& device, const StringsView& names, const StringsView& visibilities);
};

class Forms : public testing::TestWithParam<Form> {
protected:
    static void check_all(const People& people, const char* manager) {
        Device device(open_manager(manager));
        const DeviceStrings names = to_device(device, people.names);
        const DeviceStrings visibilities = to_device(device, people.visibilities);
        const DeviceStrings made = GetParam().make(device, names.view(), visibilities.view());
        EXPECT_EQ(to_host(device, made.view()), redacted(people));
    }
};

TEST_P(Forms, GiveTheSame) {
    for (const std::size_t rows : {0, 1, 255, 256, 257, 2000}) {
        for (const std::uint64_t null_every : {0, 5}) {
            SCOPED_TRACE(rows);
            set_seed(rows);
            for (const char* manager : {"cuda", "cuda-async", "cuda-pool:1048576"}) {
                SCOPED_TRACE(manager);
                check_all(make_people(rows, rows + null_every, null_every), manager);
            }
        }
    }
    EXPECT_EQ(live_allocations(), 0U);
}

TEST_P(Forms, KeepLongValues) {
    People people = make_people(700, 4);
    people.names[600] = std::string(100'000, 'f') + " Last";
    people.visibilities[600] = "public";
    check_all(people, "cuda");
}

// Whatever fails, nothing leaks. A variant may manage without one of its allocations, so one success does not end the
// test.
TEST_P(Forms, EveryAllocationMayFail) {
    const People people = make_people(100, 8, 4);
    int failures = 0;
    for (int in_a_row = 0; in_a_row < 2; ++failures) {
        ASSERT_LT(failures, 100);
        Device device(open_manager("cuda"));
        const DeviceStrings names = to_device(device, people.names);
        const DeviceStrings visibilities = to_device(device, people.visibilities);
        fail_allocation(failures);
        try {
            const DeviceStrings made = GetParam().make(device, names.view(), visibilities.view());
            ++in_a_row;
            fail_allocation(-1);
            EXPECT_EQ(to_host(device, made.view()), redacted(people));
        } catch (const MemoryError&) {  // as expected
            in_a_row = 0;
        }
        fail_allocation(-1);
    }
    EXPECT_GE(failures, 5);
    EXPECT_EQ(live_allocations(), 0U);
}

INSTANTIATE_TEST_SUITE_P(, Forms,
                         testing::Values(Form{"composed", &redact_composed}, Form{"malloc", &redact_with_malloc},
                                         Form{"working_memory", &redact_with_working_memory},
                                         Form{"two_passes", &redact_in_two_passes},
                                         Form{"one_pass", &redact_in_one_pass}),
                         [](const auto& tested) { return std::string(tested.param.name); });

}  // namespace
}  // namespace cleave::cuda
