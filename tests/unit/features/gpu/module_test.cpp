// Devices from modules, and the message if there is no device.
#include "features/gpu/device.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <stdexcept>

#include "column.h"

namespace cleave::module_test {

using Missing = DeviceUnavailable::Missing;

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

void expect_work_on(const std::shared_ptr<Device>& device) {
    ContextOptions options;
    options.device = device;
    options.policy = DevicePolicy::kGpu;
    Context context(options);
    const Column x = make_column(*MemoryManager::open("system"), Numbers{1, 2, 3});
    const auto f = Functions(nullptr).unary("f", [](std::uint64_t a) { return a * 2; });
    EXPECT_EQ(numbers_of(context.get(f(x))), (Numbers{2, 4, 6}));
    EXPECT_EQ(context.report().at(0).side, Side::kDevice);
}

TEST(Module, GivesADeviceThatWorks) {
    const std::shared_ptr<Device> device = open_device(std::string(CLEAVE_SIMULATED_MODULE) + ":65536");
    EXPECT_EQ(device->identity().memory_size, 65536);
    EXPECT_EQ(device->entry("question"), nullptr);
    const void* const answer = device->entry("answer");
    ASSERT_NE(answer, nullptr);
    EXPECT_EQ(*static_cast<const int*>(answer), 42);
    expect_work_on(device);
}

TEST(Module, SaysWhatIsMissing) {
    const std::string module = CLEAVE_SIMULATED_MODULE;
    using Failure = std::pair<Missing, std::string>;
    EXPECT_EQ(failure_of(module + ":no driver"), Failure(Missing::kDriver, "device: no driver: it is simulated"));
    EXPECT_EQ(failure_of(module + ":no card"), Failure(Missing::kCard, "device: no such card: it is simulated"));
    EXPECT_EQ(failure_of(module + ":no luck"),
              Failure(Missing::kModule,
                      "device: the module cannot be used: " + module + ": it returned no device: it is simulated"));
    EXPECT_EQ(failure_of("/no/such/module.so"),
              Failure(Missing::kModule, "device: there is no module /no/such/module.so"));
    EXPECT_EQ(failure_of("/proc/self/maps").first, Missing::kModule);
}

TEST(Module, ThatOthersCanWriteIsNotLoaded) {
    const std::string copy = std::string(CLEAVE_SIMULATED_MODULE) + "." + std::to_string(::getpid());
    std::filesystem::copy_file(CLEAVE_SIMULATED_MODULE, copy);
    std::filesystem::permissions(copy, std::filesystem::perms(0666));
    EXPECT_EQ(failure_of(copy),
              std::pair(Missing::kTrust,
                        "device: the module " + copy + " is not loaded: other users can write to '" + copy + "'"));
    std::filesystem::remove(copy);
}

TEST(Module, ThatIsNotWholeIsRefused) {
    const std::string module = CLEAVE_SIMULATED_MODULE;
    const auto reason_of = [](const std::string& path, const std::string& config) {
        const auto [missing, what] = failure_of(path + config);
        EXPECT_EQ(missing, Missing::kModule);
        const std::string start = "device: the module cannot be used: " + path + ": ";
        EXPECT_TRUE(what.starts_with(start)) << what;
        return what.substr(std::min(start.size(), what.size()));
    };
    EXPECT_EQ(reason_of(module, ":another version"), "it is for version 7 of the interface, not 1");
    EXPECT_EQ(reason_of(module, ":too short"),
              "its cleave_device has 24 bytes, not " + std::to_string(sizeof(cleave_device)));
    EXPECT_EQ(reason_of(module, ":no run"), "it lacks a member that every device has");
    EXPECT_EQ(reason_of(module, ":no name"), "it lacks a member that every device has");
    EXPECT_EQ(reason_of(CLEAVE_UNNAMED_MODULE, ""), "it has no function cleave_device_open");
}

// The module is written in C and leaves out what is optional.
TEST(Module, MayBeOfC) {
    std::shared_ptr<Device> device = open_device(CLEAVE_PLAIN_MODULE);
    EXPECT_EQ(device->identity().name, "plain");
    const std::uint64_t closed = device->identity().memory_size;  // this module reports how often it was closed
    EXPECT_EQ(device->entry("answer"), nullptr);
    EXPECT_EQ(device->clock(), nullptr);
    expect_work_on(device);
    device.reset();
    EXPECT_EQ(open_device(CLEAVE_PLAIN_MODULE)->identity().memory_size, closed + 1);
}

TEST(Module, MayReturnAFaultThatIsNone) {
    const std::shared_ptr<Device> device = open_device(CLEAVE_PLAIN_MODULE);
    const auto life = std::make_shared<int>();
    DeviceStatus status;
    {
        auto kept = life;
        status = device->run(
            {"fails", 0}, [kept = std::move(kept)](void* /*stream*/) { ADD_FAILURE(); }, nullptr);
    }
    EXPECT_EQ(status.fault(), DeviceFault::kFailed);
    EXPECT_EQ(std::string(status.text()), std::string(191, 'x'));
    EXPECT_EQ(life.use_count(), 1);  // the body was freed
}

TEST(Module, OfAGpuIsLookedForInPlaces) {
    const std::shared_ptr<Device> device = open_module({"/no/such/a.so", CLEAVE_SIMULATED_MODULE}, "65536");
    EXPECT_EQ(device->identity().memory_size, 65536);
    try {
        open_module({"/no/such/a.so", "/no/such/b.so"}, "0");
        ADD_FAILURE() << "it was opened";
    } catch (const DeviceUnavailable& error) {
        EXPECT_STREQ(error.what(),
                     "device: the GPU module cleave_cuda.so is not installed, see doc/guide/devices.md; looked for "
                     "/no/such/a.so, /no/such/b.so");
    }
}

TEST(Module, NamesAreChecked) {
    for (const char* name : {"", "gpu:", "gpu:x", "gpu:-1", "gpu:12345", "cuda", "module.so", "./module.so"}) {
        EXPECT_THROW(open_device(name), std::invalid_argument) << name;
    }
}

}  // namespace cleave::module_test
