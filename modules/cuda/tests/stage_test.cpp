// Compares DeviceStage with StageWorker: every operation, random rules, dialects and pages.
#include "cuda/stage.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "cleave/keys.h"
#include "cleave/stage.h"
#include "cuda/bench/host_strings.h"
#include "cuda/managers.h"
#include "cuda/tests/emulation.h"
#include "cuda/tests/stage_inputs.h"
#include "features/redact/stage/flatten.h"
#include "inputs.h"

namespace cleave::cuda {
namespace {

struct Written {
    std::string bytes;
    std::vector<std::uint64_t> starts;
    std::vector<std::uint64_t> counters;
};

void add(std::vector<std::uint64_t>& counters, std::initializer_list<std::uint64_t> more) {
    counters.insert(counters.end(), more);
}

// std::nullopt if the stage refuses the text.
std::optional<Written> of_worker(const Stage& stage, const std::string& text) {
    StageWorker worker(stage, default_kernel());
    worker.clear();
    try {
        worker.write(worker.read(test::bytes_of(text), {}, true));
    } catch (const InputError&) {
        return std::nullopt;
    }
    Written written;
    written.bytes.assign(reinterpret_cast<const char*>(worker.written().data()), worker.written().size());
    written.starts.assign(worker.starts().begin(), worker.starts().end());
    add(written.counters, {worker.counts().records, worker.counts().empty_records});
    for (const RuleCounts& rule : worker.counts().rules) {
        add(written.counters, {rule.seen, rule.changed, rule.kept, rule.empty, rule.condition_false});
    }
    return written;
}

std::optional<Written> of_device(Device& device, const Stage& stage, const std::string& text) {
    auto program = flat_for_device(stage);
    if (!program) return std::nullopt;
    DeviceStage runner(device, *parse_markup(stage.dialect()), program->bytes());
    Memory page = device.allocate((text.size() + 63) / 64 * 64);
    check(cudaMemcpyAsync(page.data(), text.data(), text.size(), cudaMemcpyHostToDevice, device.stream()), "copy");
    const auto made = runner.run(page.data(), text.size());
    if (!made) return std::nullopt;
    Written written;
    for (const HostValue& record : to_host(device, made->records.view())) {
        written.starts.push_back(written.bytes.size());
        written.bytes += *record;
    }
    written.counters = made->counters;
    return written;
}

// The parameter is a seed. A device is faster than the emulation and is tested with more seeds.
class DeviceStageTest : public testing::TestWithParam<int> {
protected:
    test::Random random_{static_cast<std::uint64_t>(GetParam())};
    Device device_{open_manager("cuda")};
};

TEST_P(DeviceStageTest, AsTheWorkerOfTheCpu) {
    ::setenv("CLEAVE_TEST_KEY", "0123456789abcdef0123456789abcdef0123456789", 1);
    const KeyRing keys(std::vector<std::string>{"k=env:CLEAVE_TEST_KEY"});
    int done = 0;
    int odd = 0;
    int refused = 0;
    const unsigned rounds = test::rounds(1200);
    for (unsigned round = 0; round < rounds; ++round) {
        set_seed(round);
        const Dialect dialect = random_dialect(random_, round);
        const std::size_t columns = 2 + random_.below(3);
        const std::string text = random_page(random_, columns, random_.below(40), dialect);
        const std::optional<Stage> stage = random_stage(random_, columns, dialect, keys);
        if (!stage) {
            ASSERT_FALSE(dialect.quote);
            continue;
        }
        const auto wanted = of_worker(*stage, text);
        const auto made = of_device(device_, *stage, text);
        if (!made) {
            ++(wanted ? odd : refused);
            continue;
        }
        ++done;
        ASSERT_TRUE(wanted) << test::shown(text);
        const std::string about = stage->rules().front().source.text + "\n" + test::shown(text);
        ASSERT_EQ(test::shown(made->bytes), test::shown(wanted->bytes)) << about;
        ASSERT_EQ(made->starts, wanted->starts) << about;
        ASSERT_EQ(made->counters, wanted->counters) << about;
    }
    RecordProperty("done", done);
    std::printf("done %d, odd %d, refused by both %d\n", done, odd, refused);
    EXPECT_GT(done, static_cast<int>(rounds / 2));
    EXPECT_GT(odd, 0);
}

INSTANTIATE_TEST_SUITE_P(Seeds, DeviceStageTest, testing::Range(7, kIsEmulated ? 8 : 21));

}  // namespace
}  // namespace cleave::cuda
