// Tests the module as the offload runtime loads it: devices, and a stage as an annotated function, compared with
// StageWorker.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <thread>

#include "cuda/tests/emulated/hooks.h"
#include "cuda/tests/stage_inputs.h"
#include "cuda/tests/staged_pages.h"

namespace cleave::cuda {
namespace {

using Missing = DeviceUnavailable::Missing;

constexpr int kInvalidValue = 1;  // CUDA errors
constexpr int kIllegalAddress = 700;
constexpr std::size_t kMemory = std::size_t{1} << 36;  // per card

const std::string kModule = CLEAVE_CUDA_MODULE;

// nullptr if the module is for a real device.
const EmulatorHooks* hooks() {
    void* const library = ::dlopen(kModule.c_str(), RTLD_NOW | RTLD_LOCAL);
    return library != nullptr ? static_cast<const EmulatorHooks*>(::dlsym(library, kEmulatorHooks)) : nullptr;
}

// What open_device() reports as missing, and its message.
std::pair<Missing, std::string> failure_of(const std::string& name) {
    try {
        open_device(name);
    } catch (const DeviceUnavailable& error) {
        return {error.missing(), error.what()};
    }
    ADD_FAILURE() << name << " was opened";
    return {};
}

// Reading the keys unsets the variable.
KeyRing test_keys() {
    ::setenv("CLEAVE_TEST_KEY", "0123456789abcdef0123456789abcdef0123456789", 1);
    return KeyRing(std::vector<std::string>{"k=env:CLEAVE_TEST_KEY"});
}

struct Outcome {
    std::optional<Rewritten> staged;
    std::optional<DeviceFault> fault;
    std::uint64_t pages = 0;
};

class ModuleTest : public testing::Test {
protected:
    void TearDown() override {
        if (hooks_ == nullptr) return;
        EXPECT_EQ(hooks_->live_allocations(), 0);
        EXPECT_EQ(hooks_->live_streams(), 0);
        EXPECT_EQ(hooks_->live_events(), 0);
        EXPECT_EQ(hooks_->legacy_launches(), 0);
    }

    // A stage for which the device can process every page.
    Stage plain_stage() const {
        StageOptions options;
        options.is_delimiter_given = options.is_header_given = true;
        options.rules = {{"#1: hmac(k)", "--redact"}, {"#2: mask", "--redact"}};
        return {options, Dialect(), test::bytes_of("a,b,c"), false, &keys_};
    }
    static std::string plain_text(std::size_t records) {
        std::string text;
        for (std::size_t i = 0; i < records; ++i) text += "name" + std::to_string(i) + ",secret,\"quoted\"\n";
        return text;
    }

    Records records_of(const Stage& stage, const std::string& text) {
        Records records{share(memory_->allocate({text.size()})), Side::kHost, 0, text.size(), {}};
        if (!text.empty()) std::memcpy(records.memory->data(), text.data(), text.size());
        StageWorker worker(stage, default_kernel());
        const RecordBlock block = worker.read(records.bytes(), {}, true);
        for (const FieldRow& row : block.rows) records.starts.push_back(row.begin);
        return records;
    }

    static ContextOptions options_of(const std::shared_ptr<Device>& device) {
        ContextOptions options;
        options.device = device;
        options.policy = DevicePolicy::kGpu;
        return options;
    }

    // Opens the device, runs the stage, and closes everything.
    static Outcome run(const std::string& config, const Stage& stage, const Records& records,
                       std::uint64_t device_memory = 0) {
        Outcome outcome;
        try {
            const std::shared_ptr<Device> device = open_device(kModule + ":" + config);
            ContextOptions options = options_of(device);
            options.device_memory = device_memory;
            Context context(options);
            DeviceStageOwner owner(device, stage);
            const auto function = annotate_stage(owner, stage);
            outcome.staged = context.get(function(records));
            outcome.pages = context.report().at(0).pages;
        } catch (const DeviceError& error) {
            outcome.fault = error.fault();
        } catch (const DeviceUnavailable&) {
            outcome.fault = DeviceFault::kFailed;
        }
        return outcome;
    }

    const EmulatorHooks* const hooks_ = hooks();
    const KeyRing keys_ = test_keys();
    const std::shared_ptr<MemoryManager> memory_ = MemoryManager::open("system");
};

TEST_F(ModuleTest, GivesADevice) {
    const std::shared_ptr<Device> device = open_device(kModule);
    const DeviceIdentity& identity = device->identity();
    EXPECT_FALSE(identity.name.empty());
    EXPECT_EQ(identity.uuid.size(), 40);
    EXPECT_GT(identity.memory_size, 0);
    EXPECT_NE(device->entry(kDeviceStageEntry), nullptr);
    EXPECT_EQ(device->entry("question"), nullptr);
    EXPECT_EQ(device->clock(), nullptr);
    if (hooks_ == nullptr) return;
    EXPECT_EQ(identity.name, "emulated card 0");
    EXPECT_EQ(identity.uuid, "GPU-00112233-4455-6677-8899-aabbccddee00");
    EXPECT_EQ(identity.runtime_version, "13.0");
    EXPECT_EQ(identity.driver_version, "13.0");
    EXPECT_EQ(open_device(kModule + ":1,cuda-pool")->identity().name, "emulated card 1");
}

TEST_F(ModuleTest, SaysWhatIsMissing) {
    EXPECT_EQ(failure_of(kModule + ":99").first, Missing::kCard);
    for (const char* config : {"x", "-1", "0 ", "0;cuda", "0,nothing", "0,cuda-pool:1"}) {
        EXPECT_EQ(failure_of(kModule + ":" + config).first, Missing::kModule) << config;
    }
    if (hooks_ == nullptr) return;
    EXPECT_EQ(failure_of(kModule + ":2").second, "device: no such card: card 2: the last card is 1");
    hooks_->set_machine(0, 0, kMemory);
    EXPECT_EQ(failure_of(kModule + ":0"),
              std::pair(Missing::kDriver, std::string("device: no driver: CUDA finds none")));
    hooks_->set_machine(13000, 0, kMemory);
    EXPECT_EQ(failure_of(kModule + ":0"),
              std::pair(Missing::kCard, std::string("device: no such card: CUDA finds none")));
    hooks_->set_machine(13000, 2, kMemory);
}

TEST_F(ModuleTest, TheDeviceDoesWhatItSays) {
    const std::shared_ptr<Device> device = open_device(kModule + ":0");
    void* stream = nullptr;
    ASSERT_TRUE(device->create_stream(stream).is_good());
    const auto manager = MemoryManager::adopt(*device->make_memory_manager());
    Memory first = manager->allocate({100, MemorySpace::kDevice, 0, 0, stream});
    Memory second = manager->allocate({100, MemorySpace::kDevice, 0, CLEAVE_MEMORY_ZEROED, stream});
    Memory pinned = manager->allocate({100, MemorySpace::kPinned, 0, 0, stream});
    void* from = nullptr;
    void* to = nullptr;
    ASSERT_TRUE(device->create_event(from).is_good());
    ASSERT_TRUE(device->create_event(to).is_good());
    EXPECT_TRUE(device->record(from, stream).is_good());
    std::memset(pinned.data(), 'x', 100);
    EXPECT_TRUE(device->copy_in(first.data(), pinned.data(), 100, stream).is_good());
    EXPECT_TRUE(device->copy_within(second.data(), first.data(), 50, stream).is_good());
    std::string back(100, '?');
    EXPECT_TRUE(device->copy_out(back.data(), second.data(), 100, stream).is_good());
    EXPECT_TRUE(device->record(to, stream).is_good());
    EXPECT_TRUE(device->wait(stream, to).is_good());
    EXPECT_TRUE(device->synchronize_event(to).is_good());
    EXPECT_TRUE(device->synchronize(stream).is_good());
    EXPECT_EQ(back, std::string(50, 'x') + std::string(50, '\0'));
    double seconds = -1;
    EXPECT_TRUE(device->elapsed(from, to, seconds).is_good());
    EXPECT_GE(seconds, 0);
    for (bool is_done = false; !is_done;) ASSERT_TRUE(device->query(stream, is_done).is_good());
    device->destroy_event(from);
    device->destroy_event(to);
    device->destroy_stream(stream);
    // The memory's stream has been given back, and the memory is released after that.
    void* again = nullptr;
    ASSERT_TRUE(device->create_stream(again).is_good());
    EXPECT_EQ(again, stream);
    device->destroy_stream(again);
}

// The emulated CUDA aborts if a stream is used while its card is not current.
TEST_F(ModuleTest, ACallMakesItsCardCurrent) {
    if (hooks_ == nullptr) GTEST_SKIP();
    const std::shared_ptr<Device> device = open_device(kModule + ":1");
    void* stream = nullptr;
    void* event = nullptr;
    const auto on_new_thread = [](const auto& function) { std::thread(function).join(); };
    EXPECT_TRUE(device->create_stream(stream).is_good());
    on_new_thread([&] { EXPECT_TRUE(device->create_event(event).is_good()); });
    on_new_thread([&] { EXPECT_TRUE(device->record(event, stream).is_good()); });
    device->destroy_event(event);
    device->destroy_stream(stream);
}

TEST_F(ModuleTest, StagesAsTheWorkerOfTheCpu) {
    test::Random random(11);
    const std::shared_ptr<Device> devices[] = {open_device(kModule), open_device(kModule + ":0,cuda"),
                                               open_device(kModule + ":0,cuda-pool:65536")};
    int done = 0;
    int paged = 0;
    for (unsigned round = 0; round < test::rounds(750); ++round) {
        if (hooks_ != nullptr) hooks_->set_seed(round);
        const Dialect dialect = random_dialect(random, round);
        const std::size_t columns = 2 + random.below(3);
        // Some pages are too large to run as a whole.
        const bool is_large = round % 8 == 1;
        const std::string text = random_page(random, columns, is_large ? 800 : random.below(40), dialect);
        const std::optional<Stage> stage = random_stage(random, columns, dialect, keys_);
        if (!stage || !flat_for_device(*stage)) continue;
        std::optional<Rewritten> wanted;
        try {
            wanted = stage_on_host(*stage, *memory_, test::bytes_of(text));
        } catch (const InputError&) {
            continue;
        }
        const Records records = records_of(*stage, text);
        const std::shared_ptr<Device>& device = devices[round % std::size(devices)];
        ContextOptions options = options_of(device);
        if (is_large) options.device_memory = 40'000;
        Context context(options);
        DeviceStageOwner owner(device, *stage);
        const auto function = annotate_stage(owner, *stage);
        const Lazy<Rewritten> staged = function(records);
        const Rewritten& made = context.get(staged);
        ASSERT_EQ(test::shown(made.text()), test::shown(wanted->text())) << test::shown(text);
        ASSERT_TRUE(made == *wanted) << test::shown(text);
        ++done;
        paged += context.report().at(0).pages > 1 ? 1 : 0;
    }
    std::printf("done %d, in pages %d\n", done, paged);
    EXPECT_GT(done, static_cast<int>(test::rounds(375)));
    EXPECT_GT(paged, static_cast<int>(test::rounds(38)));
}

TEST_F(ModuleTest, PagesThatDoNotFitAreHalved) {
    const Stage stage = plain_stage();
    const Records records = records_of(stage, plain_text(400));
    const Rewritten wanted = stage_on_host(stage, *memory_, records.bytes());
    std::uint64_t most_pages = 0;
    bool has_failed = false;
    for (std::uint64_t limit = 1 << 20; limit >= 1 << 8; limit /= 2) {
        const Outcome outcome = run("0", stage, records, limit);
        ASSERT_NE(outcome.staged.has_value(), outcome.fault.has_value());
        if (outcome.staged) {
            EXPECT_TRUE(*outcome.staged == wanted) << limit;
            EXPECT_FALSE(has_failed) << limit;
            most_pages = std::max(most_pages, outcome.pages);
        } else {
            EXPECT_EQ(*outcome.fault, DeviceFault::kOutOfMemory);
            has_failed = true;
        }
    }
    EXPECT_GT(most_pages, 4);
    EXPECT_TRUE(has_failed);
}

TEST_F(ModuleTest, TheNthAllocationFails) {
    if (hooks_ == nullptr) GTEST_SKIP();
    const Stage stage = plain_stage();
    const Records records = records_of(stage, plain_text(20));
    const Rewritten wanted = stage_on_host(stage, *memory_, records.bytes());
    int right = 0;
    int thrown = 0;
    const int step = static_cast<int>(test::stride(3, 3));  // odd, because even ones are run in another way
    for (const char* config : {"0,cuda", "0,cuda-async", "0,cuda-pool:65536"}) {
        for (int n = 0; n < 40; n += step) {
            SCOPED_TRACE(std::string(config) + " " + std::to_string(n));
            hooks_->fail_allocation(n);
            Outcome outcome = run(config, stage, records, n % 2 == 0 ? 0 : 300'000);
            hooks_->fail_allocation(-1);
            ASSERT_NE(outcome.staged.has_value(), outcome.fault.has_value());
            ++(outcome.staged ? right : thrown);
            if (outcome.staged) {
                ASSERT_TRUE(*outcome.staged == wanted);
            } else {
                ASSERT_EQ(*outcome.fault, DeviceFault::kOutOfMemory);
            }
            outcome.staged.reset();  // its memory may come from the device's manager
            ASSERT_EQ(hooks_->live_allocations(), 0);
        }
    }
    EXPECT_GT(right, 60 / step);
    EXPECT_GT(thrown, 2);
    hooks_->set_machine(13000, 1, 100'000);
    EXPECT_EQ(run("0", stage, records_of(stage, plain_text(1000))).fault, std::nullopt);
    hooks_->set_machine(13000, 1, 3'000);
    EXPECT_EQ(run("0", stage, records).fault, DeviceFault::kOutOfMemory);
    hooks_->set_machine(13000, 2, kMemory);
}

TEST_F(ModuleTest, TheNthCallFails) {
    if (hooks_ == nullptr) GTEST_SKIP();
    const Stage stage = plain_stage();
    const Records records = records_of(stage, plain_text(12));
    const Rewritten wanted = stage_on_host(stage, *memory_, records.bytes());
    for (const bool stays : {false, true}) {
        int lost = 0;
        int failed = 0;
        int right = 0;
        hooks_->fail_call(-1, 0, false);
        ASSERT_TRUE(run("0", stage, records, 20'000).staged);
        const int calls = hooks_->calls();
        const int step = static_cast<int>(test::stride(3, 7));
        for (int n = 0; n < calls; n += step) {
            SCOPED_TRACE(n);
            hooks_->fail_call(n, stays ? kIllegalAddress : kInvalidValue, stays);
            Outcome outcome = run("0", stage, records, 20'000);
            hooks_->fail_call(-1, 0, false);
            ASSERT_NE(outcome.staged.has_value(), outcome.fault.has_value());
            if (outcome.staged) {
                ASSERT_TRUE(*outcome.staged == wanted);
                ++right;
            } else {
                lost += *outcome.fault == DeviceFault::kLost ? 1 : 0;
                failed += *outcome.fault == DeviceFault::kFailed ? 1 : 0;
            }
            outcome.staged.reset();
            ASSERT_EQ(hooks_->live_allocations(), 0);
            ASSERT_EQ(hooks_->live_streams(), 0);
            ASSERT_EQ(hooks_->live_events(), 0);
        }
        std::printf("%d calls, right %d, failed %d, lost %d\n", calls, right, failed, lost);
        EXPECT_GT(failed * step, stays ? 4 : 30);  // a device that cannot be opened does not count as lost
        EXPECT_EQ(lost * step > 20, stays);
    }
}

TEST_F(ModuleTest, WhatWasComputedFromKeysIsZeroed) {
    if (hooks_ == nullptr) GTEST_SKIP();
    const Stage stage = plain_stage();
    const SecretMemory flat = *flat_for_device(stage);
    const auto* program = reinterpret_cast<const FlatProgram*>(flat.bytes().data());
    ASSERT_EQ(program->states.count, 1);
    hooks_->watch(entries<FlatMacState>(program, program->states), sizeof(FlatMacState));
    const Records records = records_of(stage, plain_text(20));
    for (const char* config : {"0,cuda", "0,cuda-async", "0,cuda-pool:65536"}) {
        EXPECT_TRUE(run(config, stage, records).staged);
    }
    EXPECT_EQ(hooks_->watched_frees(), 0);
    // Proves that key states in freed memory would be found.
    {
        const std::shared_ptr<Device> device = open_device(kModule);
        const auto manager = MemoryManager::adopt(*device->make_memory_manager());
        for (const std::uint32_t flags : {0U, CLEAVE_MEMORY_SECRET}) {
            Memory memory = manager->allocate({flat.bytes().size(), MemorySpace::kDevice, 0, flags, nullptr});
            ASSERT_TRUE(device->copy_in(memory.data(), flat.bytes().data(), flat.bytes().size(), nullptr).is_good());
        }
    }
    EXPECT_EQ(hooks_->watched_frees(), 1);
    hooks_->watch(nullptr, 0);
}

TEST_F(ModuleTest, AnyThreadUsesAnyCard) {
    const Stage stage = plain_stage();
    const Records records = records_of(stage, plain_text(60));
    const Rewritten wanted = stage_on_host(stage, *memory_, records.bytes());
    std::vector<std::thread> threads;
    for (const char* config : {"0", "1,cuda", "1", "0,cuda-pool:65536"}) {
        const std::string one = hooks_ == nullptr && config[0] == '1' ? "0" : config;
        threads.emplace_back([&, one] {
            const Outcome outcome = run(one, stage, records, 50'000);
            EXPECT_TRUE(outcome.staged && *outcome.staged == wanted) << one;
        });
    }
    for (std::thread& thread : threads) thread.join();
}

TEST_F(ModuleTest, ValuesOutliveTheContext) {
    const Stage stage = plain_stage();
    const Records records = records_of(stage, plain_text(60));
    std::shared_ptr<Device> device = open_device(kModule);
    DeviceStageOwner owner(device, stage);
    const auto function = annotate_stage(owner, stage);
    const Lazy<Rewritten> staged = function(records);
    Context(options_of(device)).evaluate(staged);
    device.reset();
    EXPECT_TRUE(staged.get() == stage_on_host(stage, *memory_, records.bytes()));
}

}  // namespace
}  // namespace cleave::cuda
