// Jobs whose rules run on a device, or may run there: whatever the device does, the output matches the CPU's.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <thread>

#include "changed_input.h"
#include "cleave/experimental/device_choice.h"
#include "cleave/keys.h"
#include "features/gpu/device.h"
#include "features/gpu/lane/device_stage.h"
#include "features/redact/lane/rewriting.h"
#include "inputs.h"
#include "jobs.h"
#include "pipe_input.h"
#include "simulated_device.h"
#include "simulated_stage.h"

namespace cleave::lane_test {

constexpr std::size_t kBlockSize = 128;  // so a page for the device has 16 KiB
constexpr std::size_t kPageSize = 128 * kBlockSize;
constexpr std::size_t kTrialSize = 768 * kBlockSize;  // what the CPU does before the decision

enum class Source : std::uint8_t { kMapped, kRead, kStream };
constexpr Source kAllSources[] = {Source::kMapped, Source::kRead, Source::kStream};
// Sanitized, only the first test maps its input. The other ways to read it take more code, and the tests long.
const std::span<const Source> kSources = std::span(kAllSources).subspan(test::kSanitized && !test::is_thorough());

StageOptions rules() {
    StageOptions options;
    options.rules = {{"name: mask(first=1)", "--redact"}, {"note: null", "--redact"}};
    return options;
}

constexpr const char* kHeader = "id,name,note\n";

// The outcome of a run.
struct Outcome {
    std::string text;  // written, up to the end or the failure
    std::string error;
    std::optional<Place> place;
    StageCounts counts;

    bool operator==(const Outcome& other) const { return text == other.text && has_same_end(other); }
    bool has_same_end(const Outcome& other) const {
        const auto numbers = [](const StageCounts& counted) {
            std::vector<std::uint64_t> all = {counted.records, counted.empty_records};
            for (const RuleCounts& rule : counted.rules) {
                all.insert(all.end(), {rule.seen, rule.changed, rule.kept, rule.empty, rule.condition_false});
            }
            return all;
        };
        if (error != other.error || place.has_value() != other.place.has_value()) return false;
        if (place && (place->offset != other.place->offset || place->record != other.place->record)) return false;
        return !error.empty() || numbers(counts) == numbers(other.counts);
    }
};

std::ostream& operator<<(std::ostream& out, const Outcome& outcome) {
    out << outcome.text.size() << " bytes, " << outcome.counts.records << " records";
    if (!outcome.error.empty()) out << ", " << outcome.error;
    if (outcome.place) out << " at byte " << outcome.place->offset << ", record " << outcome.place->record;
    return out;
}

std::string usual_text(std::size_t size) {
    std::string text = kHeader;
    for (std::size_t i = 0; text.size() < size; ++i) {
        text += std::to_string(i) + ",\"Doe, J" + std::string(i % 20, '.') + (i % 3 == 0 ? "\"\"\n" : "") + "\",note " +
                std::to_string(i * i) + "\n";
        if (i % 50 == 0) text += '\n';
    }
    return text;
}

class DeviceLaneTest : public test::FaultTest {
protected:
    DeviceLaneTest() {
        device_options_.memory_size = std::uint64_t{2} << 20;
        device_options_.entries[kDeviceStageEntry] = SimulatedStage::entry();
    }

    void TearDown() override {
        if (!device_) return;
        choice_.reset();
        EXPECT_EQ(stage_.states(), 0U);
        EXPECT_EQ(device_->allocations_alive(), 0U);
    }

    // Sets the rules of the job and of the device.
    void use_rules(const StageOptions& options, const KeyRing* keys = nullptr) {
        options_ = options;
        keys_ = keys;
        stage_.set_stage(Stage(options, Dialect(), test::bytes_of(kHeader), true, keys));
    }
    void limit_records(std::uint64_t max_record) {
        StageOptions options = rules();
        options.max_record = max_record;
        use_rules(options);
    }

    // Opens a new device and its context.
    std::shared_ptr<DeviceContext> open() {
        ContextOptions options;
        options.device = device_ = std::make_shared<SimulatedDevice>(device_options_);
        options.policy = DevicePolicy::kGpu;
        options.device_memory = device_memory_;
        if (failing_call_ != 0) device_->fail_call(failing_call_, fault_);
        return std::make_shared<DeviceContext>(options);
    }
    // A device that seems to be infinitely fast.
    std::shared_ptr<DeviceChoice> good_prospect() {
        return std::make_shared<DeviceChoice>(DeviceProspect{0, 1e-30, [this] { return open(); }});
    }

    // Opens the input in the given way, and calls the function.
    void with_input(Source source, const std::string& text, const std::function<void(Input&)>& call) {
        if (source == Source::kStream) {
            test::Pipe pipe(text, {4096});
            Input input = Input::open(pipe.path());
            return call(input);
        }
        Input input = Input::open(write(text), nullptr, source == Source::kRead ? Access::kRead : Access::kMapped);
        call(input);
    }

    // Writes all records, as `cat` does.
    Outcome cat(Source source, const std::string& text, const std::shared_ptr<DeviceChoice>& choice,
                unsigned threads = 2) {
        Outcome outcome;
        Policy policy;
        JobRules job;
        job.options = options_;
        job.keys = keys_;
        Execution execution;
        execution.threads = threads;
        execution.block_size = kBlockSize;
        execution.offload = choice_ = choice;
        with_input(source, text, [&](Input& input) {
            Rewriting rewriting(input, Dialect(), policy, job, execution);
            try {
                rewriting.write_all([&](std::span<const std::uint8_t> bytes) {
                    outcome.text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
                    if (on_write_) on_write_();
                });
            } catch (const InputError& error) {
                outcome.error = error.what();
                outcome.place = error.place();
            } catch (const std::exception& error) {
                outcome.error = error.what();
            }
            outcome.counts = rewriting.counts();
        });
        return outcome;
    }

    // Runs on the device, which is always chosen, and on the CPU.
    void expect_same(Source source, const std::string& text, const char* what) {
        const Outcome wanted = cat(source, text, nullptr);
        const std::uint64_t pages = stage_.pages();
        EXPECT_EQ(cat(source, text, std::make_shared<DeviceChoice>(open())), wanted)
            << what << ", device, source " << static_cast<int>(source);
        EXPECT_EQ(stage_.pages() > pages, text != kHeader) << what;
        const Outcome chosen = cat(source, text, good_prospect());
        EXPECT_EQ(chosen, wanted) << what << ", auto, source " << static_cast<int>(source);
    }

    std::string explain() const { return choice_->explain(); }

    SimulatedStage stage_{Stage(rules(), Dialect(), test::bytes_of(kHeader), true)};
    SimulatedOptions device_options_;
    std::uint64_t device_memory_ = 0;
    std::uint64_t failing_call_ = 0;
    DeviceFault fault_ = DeviceFault::kFailed;
    StageOptions options_ = rules();
    const KeyRing* keys_ = nullptr;
    std::function<void()> on_write_;
    std::shared_ptr<SimulatedDevice> device_;
    std::shared_ptr<DeviceChoice> choice_;
};

TEST_F(DeviceLaneTest, WritesWhatTheCpuWrites) {
    for (const Source source : kAllSources) {
        for (const std::size_t size : {1UL, 200UL, kPageSize - 50, 3 * kPageSize, kTrialSize + 5 * kPageSize}) {
            const std::string text = usual_text(size);
            expect_same(source, text, "terminated");
            expect_same(source, text + "1,last,one", "not terminated");
        }
    }
}

TEST_F(DeviceLaneTest, TakesTheDeviceWhenItIsPredictedToBeFaster) {
    const std::string text = usual_text(kTrialSize + 12 * kPageSize);
    for (const Source source : kSources) {
        const Outcome wanted = cat(source, text, nullptr);
        for (const unsigned threads : {1U, 3U}) {
            const std::uint64_t before = stage_.pages();
            EXPECT_EQ(cat(source, text, good_prospect(), threads), wanted);
            EXPECT_GT(stage_.pages(), before + 8);
            EXPECT_NE(explain().find("stage: device"), std::string::npos) << explain();
        }
    }
}

TEST_F(DeviceLaneTest, DoesNotOpenADeviceThatIsPredictedToBeSlower) {
    const std::string text = usual_text(kTrialSize + 12 * kPageSize);
    const auto never = [this](double open_seconds, double seconds_per_byte) {
        return std::make_shared<DeviceChoice>(DeviceProspect{open_seconds, seconds_per_byte, [this] {
                                                                 ADD_FAILURE() << "it was opened";
                                                                 return open();
                                                             }});
    };
    for (const Source source : kSources) {
        const Outcome wanted = cat(source, text, nullptr);
        EXPECT_EQ(cat(source, text, never(0, 1)), wanted);
        EXPECT_EQ(cat(source, text, never(0, 0)), wanted);
        EXPECT_EQ(cat(source, text, never(1e9, 1e-30)), wanted);
        EXPECT_EQ(explain(), "");
    }
    // There are too few records to time the CPU.
    for (const Source source : kSources) {
        const std::string small = usual_text(256 * kBlockSize);
        EXPECT_EQ(cat(source, small, never(0, 1e-30)), cat(source, small, nullptr));
    }
}

TEST_F(DeviceLaneTest, ADeviceThatCannotBeOpenedLeavesAllToTheCpu) {
    const std::string text = usual_text(kTrialSize + 12 * kPageSize);
    for (const Source source : kSources) {
        const auto choice = std::make_shared<DeviceChoice>(
            DeviceProspect{0, 1e-30, []() -> std::shared_ptr<DeviceContext> {
                               throw DeviceUnavailable(DeviceUnavailable::Missing::kCard, "device: no such card");
                           }});
        EXPECT_EQ(cat(source, text, choice), cat(source, text, nullptr));
        EXPECT_EQ(choice->explain(),
                  "device: no such card\nstage: the CPU goes on, because the device cannot be opened\n");
    }
}

// The device fails at each of its calls in turn, and the next call fails in the next way that calls can fail.
TEST_F(DeviceLaneTest, TheCpuGoesOnWhereTheDeviceFails) {
    const std::string text = usual_text(kTrialSize + 5 * kPageSize);
    for (const Source source : kSources) {
        const Outcome wanted = cat(source, text, nullptr);
        std::uint64_t first = 0;
        for (const DeviceFault fault : {DeviceFault::kFailed, DeviceFault::kLost, DeviceFault::kOutOfMemory}) {
            fault_ = fault;
            failing_call_ = 0;
            EXPECT_EQ(cat(source, text, good_prospect()), wanted);
            const std::uint64_t calls = device_->calls();
            const std::uint64_t step = test::stride(11, 67);
            std::uint64_t remarks = 0;
            for (failing_call_ = ++first; failing_call_ <= calls; failing_call_ += step) {
                SCOPED_TRACE(failing_call_);
                ASSERT_EQ(cat(source, text, good_prospect()), wanted) << static_cast<int>(fault);
                remarks += explain().find("the CPU goes on, because") != std::string::npos ? 1U : 0U;
                choice_.reset();
                ASSERT_EQ(device_->allocations_alive(), 0U);
            }
            // A call that runs out of memory once is retried, and pinned memory is not essential.
            EXPECT_GE(remarks, fault == DeviceFault::kOutOfMemory ? 0U : calls / step / 2);
        }
    }
}

// Without a choice, a device failure fails the job, and the CPU never hides it.
TEST_F(DeviceLaneTest, ADeviceThatMustBeTakenFailsTheJob) {
    const std::string text = usual_text(5 * kPageSize);
    for (const Source source : kSources) {
        failing_call_ = 0;
        const Outcome wanted = cat(source, text, std::make_shared<DeviceChoice>(open()));
        const std::uint64_t calls = device_->calls();
        std::uint64_t thrown = 0;
        for (std::uint64_t call = 1; call <= calls; call += test::kSanitized ? 11 : 1) {
            SCOPED_TRACE(call);
            const std::shared_ptr<DeviceContext> context = open();
            device_->fail_call(device_->calls() + call, DeviceFault::kFailed);
            const Outcome outcome = cat(source, text, std::make_shared<DeviceChoice>(context));
            if (outcome.error.empty()) {
                ASSERT_EQ(outcome, wanted);
            } else {
                ASSERT_EQ(wanted.text.substr(0, outcome.text.size()), outcome.text);
                ASSERT_NE(outcome.error.find("device: "), std::string::npos) << outcome.error;
                ++thrown;
            }
        }
        EXPECT_GT(thrown, 0U);
    }
}

// For each page, the device takes twice as long as the run took until the device's first page. That time includes the
// CPU's part, against which the device is measured. On a busy machine both take longer.
TEST_F(DeviceLaneTest, ADeviceThatIsSlowerLeavesTheRestToTheCpu) {
    using Clock = std::chrono::steady_clock;
    const std::string text = usual_text(kTrialSize + 40 * kPageSize);
    Clock::time_point begin;
    std::optional<Clock::duration> before_device;  // for one run; the pages of a device come one after another
    stage_.on_next_page = [&] {
        if (!before_device) before_device = Clock::now() - begin;
        std::this_thread::sleep_for(2 * *before_device);
    };
    for (const Source source : kSources) {
        if (test::kSanitized && source == Source::kMapped) continue;
        const Outcome wanted = cat(source, text, nullptr);
        const std::uint64_t before = stage_.pages();
        before_device.reset();
        begin = Clock::now();
        EXPECT_EQ(cat(source, text, good_prospect(), 1), wanted);
        EXPECT_NE(explain().find("stage: the CPU goes on, because the device was slower\n"), std::string::npos)
            << explain();
        EXPECT_EQ(stage_.pages() - before, 16U);  // four to warm up, and twelve timed ones
    }
    stage_.on_next_page = nullptr;
    // Without a choice the device does all the work.
    const std::uint64_t before = stage_.pages();
    stage_.repetitions = 2;
    EXPECT_EQ(cat(Source::kMapped, text, std::make_shared<DeviceChoice>(open())), cat(Source::kMapped, text, nullptr));
    EXPECT_GT(stage_.pages() - before, 40U);
}

TEST_F(DeviceLaneTest, PagesThatTheDeviceLeavesAreTakenByTheCpu) {
    const std::string text = usual_text(kTrialSize + 10 * kPageSize);
    for (const char* odd : {"1,", "77", "note 100489\n"}) {
        stage_.odd_text = odd;
        for (const Source source : kSources) expect_same(source, text, odd);
    }
}

TEST_F(DeviceLaneTest, PagesAreSplitWhereTheDeviceHasLittleMemory) {
    const std::string text = usual_text(kTrialSize + 10 * kPageSize);
    for (const std::uint64_t limit : {100'000U, 20'000U, 10'000U, 4'000U}) {
        if (test::kSanitized && limit % 20'000 == 0) continue;
        device_memory_ = limit;
        for (const Source source : kSources) expect_same(source, text, "little memory");
        EXPECT_LE(device_->device_bytes_peak(), limit);
    }
    // Not even one run fits.
    device_memory_ = 100;
    for (const Source source : kSources) {
        const Outcome wanted = cat(source, text, nullptr);
        EXPECT_EQ(cat(source, text, good_prospect()), wanted);
        EXPECT_NE(explain().find("the CPU goes on"), std::string::npos);
        EXPECT_NE(cat(source, text, std::make_shared<DeviceChoice>(open())).error, "");
    }
}

TEST_F(DeviceLaneTest, PinnedMemoryIsNotNeeded) {
    const std::string text = usual_text(kTrialSize + 10 * kPageSize);
    for (const std::uint64_t size : {0U, 5'000U, 12'000U, 30'000U}) {
        if (test::kSanitized && size % 12'000 != 0) continue;
        device_options_.pinned_size = size;
        for (const Source source : kSources) expect_same(source, text, "pinned memory");
    }
}

// A guess that takes line feeds inside a field for record ends causes a doubt; many doubts end the guessing.
TEST_F(DeviceLaneTest, WrongGuessesCostTimeAndNothingElse) {
    std::string hidden = "9,\"" + std::string(20'000, 'x');
    for (std::size_t at = 100; at < hidden.size(); at += 97) hidden[at] = '\n';
    hidden += "\",z\n";
    for (const std::size_t doubts : {1U, 3U, 20U}) {
        std::string text = usual_text(kTrialSize);
        for (std::size_t i = 0; i < doubts; ++i) {
            text += hidden;
            for (int k = 0; k < 300; ++k) text += "5,plain,n\n";
        }
        for (const Source source : kSources) expect_same(source, text, "doubts");
        expect_same(Source::kMapped, kHeader + hidden + hidden, "only doubts");
    }
    // Records that are long and contain nothing like a record start: a page ends within their last field, and the
    // device finds no fault.
    std::string text = usual_text(kTrialSize);
    for (int i = 0; i < 30; ++i) text += "7,b," + std::string(5'000, 'x') + "\n";
    for (const Source source : kSources) expect_same(source, text, "long fields");
    stage_.odd_text = "7,b";
    for (const Source source : kSources) expect_same(source, text, "long fields, by the CPU");
}

// A fault anywhere is reported as the CPU would report it, and everything before it is written.
TEST_F(DeviceLaneTest, FaultsAreThoseOfTheCpu) {
    limit_records(1'000);
    const std::pair<const char*, std::string> faults[] = {
        {"too few fields", "5,6\n"},
        {"a quote behind a field", "5,\"x\"y,z\n"},
        {"too long", "5," + std::string(2'000, 'x') + ",z\n"},
        {"too long, with a fault behind it", "5," + std::string(2'000, 'x') + ",z\n5,6\n"},
        {"an open quote", "5,\"6,7\n"},
        {"two", "5,6\n1,\"2\"3,4\n"},
        {"a fault, and one that the source finds", "5,6\n5," + std::string(2'000, 'x') + ",z\n"},
    };
    for (const auto& [what, fault] : faults) {
        for (const std::size_t before : {0UL, 3'000UL, kPageSize, kTrialSize + 2 * kPageSize + 100}) {
            if (test::kSanitized && (before == 0 || before == kPageSize)) continue;
            const std::string text =
                usual_text(before) + fault + usual_text(20'000).substr(std::string(kHeader).size());
            for (const Source source : kSources) {
                const Outcome wanted = cat(source, text, nullptr);
                ASSERT_NE(wanted.error, "") << what;
                const Outcome made = cat(source, text, std::make_shared<DeviceChoice>(open()));
                EXPECT_TRUE(made.has_same_end(wanted)) << what << ", " << before << ": " << made << " : " << wanted;
                const Outcome chosen = cat(source, text, good_prospect());
                EXPECT_TRUE(chosen.has_same_end(wanted)) << what << ", " << before << ": " << chosen << " : " << wanted;
                for (const Outcome& outcome : {made, chosen}) {
                    const std::size_t both = std::min(outcome.text.size(), wanted.text.size());
                    EXPECT_EQ(outcome.text.substr(0, both), wanted.text.substr(0, both));
                    EXPECT_GE(outcome.text.size() + kPageSize, wanted.text.size());
                }
            }
        }
    }
}

// A device does not check for text that has two readings, nor for text that keys are derived from.
TEST_F(DeviceLaneTest, PagesThatTheDeviceDoesNotJudgeAreNotGivenToIt) {
    std::array<std::uint8_t, 32> key{};
    std::iota(key.begin(), key.end(), std::uint8_t{1});
    const std::array given = {NamedKey{"pii", key}};
    const KeyRing keys({}, given);
    StageOptions with_tokens = rules();
    with_tokens.rules[0].text = "name: hmac(pii)";
    const std::string backslash = kHeader + std::string("5,\\,\"x\\\\y\"\n");
    const std::string before_quote = kHeader + std::string("5,\\,\"x\\\"\n");
    const std::string reserved = kHeader + std::string("5,\xFF") + "CLEAVE key,z\n";
    const std::string at_end = kHeader + std::string("5,6,\\");
    const auto expect = [&](const std::string& text, bool is_for_device) {
        for (const Source source : kSources) {
            const Outcome wanted = cat(source, text, nullptr);
            const std::uint64_t pages = stage_.pages();
            EXPECT_EQ(cat(source, text, std::make_shared<DeviceChoice>(open())), wanted) << text;
            EXPECT_EQ(stage_.pages() > pages, is_for_device) << text;
            EXPECT_EQ(wanted.error.empty(), is_for_device || text == at_end) << text;
        }
    };
    expect(backslash, true);
    expect(before_quote, false);
    expect(at_end, false);  // what follows is not seen
    expect(reserved, true);
    use_rules(with_tokens, &keys);
    expect(backslash, true);
    expect(reserved, false);
}

// The fault comes from the source while pages before it are on the device, which fails at each of its calls in turn.
TEST_F(DeviceLaneTest, FaultsAreThoseOfTheCpuWhereTheDeviceFailsToo) {
    limit_records(1'000);
    const std::string start = usual_text(kTrialSize + 3 * kPageSize);
    for (const char* before : {"", "5,6\n"}) {
        const std::string text = start + before + "5," + std::string(2'000, 'x') + ",z\n7,8,9\n";
        for (const std::uint64_t memory : {0U, 10'000U}) {  // with little memory a page is passed on in parts
            device_memory_ = memory;
            for (const Source source : kSources) {
                const Outcome wanted = cat(source, text, nullptr);
                failing_call_ = 0;
                EXPECT_TRUE(cat(source, text, good_prospect()).has_same_end(wanted));
                const std::uint64_t calls = device_->calls();
                for (failing_call_ = 1; failing_call_ <= calls; failing_call_ += test::kSanitized ? 499 : 61) {
                    const Outcome made = cat(source, text, good_prospect());
                    ASSERT_TRUE(made.has_same_end(wanted)) << failing_call_ << ": " << made << " : " << wanted;
                }
            }
        }
    }
}

TEST_F(DeviceLaneTest, WhatTheOutputThrowsEndsTheJob) {
    const std::string text = usual_text(kTrialSize + 10 * kPageSize);
    for (const Source source : kSources) {
        for (const bool has_choice : {false, true}) {
            int writes = 0;
            on_write_ = [&] {
                if (++writes == (has_choice ? 772 : 5)) throw std::runtime_error("the disk is full");
            };
            const auto choice = has_choice ? good_prospect() : std::make_shared<DeviceChoice>(open());
            EXPECT_EQ(cat(source, text, choice).error, "the disk is full");
            on_write_ = nullptr;
        }
    }
}

TEST_F(DeviceLaneTest, AnInputThatGrowsShorterIsNoticed) {
    const std::string text = usual_text(40 * kPageSize);
    bool is_cut = false;
    stage_.on_next_page = [&] {
        if (std::exchange(is_cut, true)) return;
        ASSERT_EQ(::truncate(directory_.path("in.csv").c_str(), 4096), 0);
    };
    EXPECT_EQ(cat(Source::kMapped, text, std::make_shared<DeviceChoice>(open())).error, test::kChanged);
    EXPECT_TRUE(is_cut);
}

// Pieces that several threads write; each may use the device.
class DevicePiecesTest : public DeviceLaneTest {
protected:
    // The pieces, the manifest and the report by name.
    std::map<std::string, std::string> split(Job job, Source source, const std::string& text,
                                             const std::shared_ptr<DeviceChoice>& choice, unsigned threads) {
        const test::TemporaryDirectory out;
        job.stage.options = rules();
        job.stage.may_spool = true;
        job.output.names = out.path("{i:02}");
        job.execution.threads = threads;
        job.execution.block_size = kBlockSize;
        job.execution.offload = choice_ = choice;
        test::Watcher watcher;
        watcher.on_concluded = [this](const JobReport& report) { counts_ = report.counts; };
        with_input(source, text, [&](Input& input) { run_job(input, job, watcher); });
        return out.files();
    }

    StageCounts counts_;
};

TEST_F(DevicePiecesTest, PiecesAreThoseOfTheCpu) {
    const std::string text = usual_text(4 * kTrialSize);
    Policy of_size;
    of_size.max_bytes = text.size() / 6;
    Policy of_value;  // groups by a value that a rule changes
    of_value.by.emplace().columns = {"name", "--by"};
    Policy without_value = of_value;
    without_value.by->columns.text = "name,note";
    without_value.by->drops_columns = true;
    for (const Job& job : {test::by_records(900), test::by_pieces(3), test::job_of(of_size), test::job_of(of_value),
                           test::job_of(without_value)}) {
        const auto wanted = split(job, Source::kMapped, text, nullptr, 2);
        const StageCounts counts = counts_;
        ASSERT_GT(wanted.size(), 2U);
        for (const Source source : kSources) {
            for (const unsigned threads : {1U, 3U}) {
                if (test::kSanitized && threads == 1) continue;
                const std::uint64_t before = stage_.pages();
                EXPECT_EQ(split(job, source, text, std::make_shared<DeviceChoice>(open()), threads), wanted);
                EXPECT_GT(stage_.pages(), before);
                EXPECT_EQ(counts_.records, counts.records);
                EXPECT_EQ(counts_.rules.at(0).changed, counts.rules.at(0).changed);
                EXPECT_EQ(counts_.rules.at(1).seen, counts.rules.at(1).seen);
                EXPECT_EQ(split(job, source, text, good_prospect(), threads), wanted);
                EXPECT_EQ(counts_.records, counts.records);
                EXPECT_EQ(counts_.rules.at(0).changed, counts.rules.at(0).changed);
            }
        }
    }
}

TEST_F(DevicePiecesTest, TheCpuGoesOnWithAllPiecesWhereTheDeviceFails) {
    const std::string text = usual_text(3 * kTrialSize);
    const auto wanted = split(test::by_pieces(2), Source::kMapped, text, nullptr, 2);
    split(test::by_pieces(2), Source::kMapped, text, good_prospect(), 2);
    const std::uint64_t calls = device_->calls();
    for (failing_call_ = 1; failing_call_ <= calls; failing_call_ += test::kSanitized ? 37 : 13) {
        fault_ = failing_call_ % 2 == 0 ? DeviceFault::kLost : DeviceFault::kFailed;
        ASSERT_EQ(split(test::by_pieces(2), Source::kMapped, text, good_prospect(), 2), wanted) << failing_call_;
    }
}

}  // namespace cleave::lane_test
