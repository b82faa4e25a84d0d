// Measuring a machine, and the file with the measurements.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "column.h"
#include "features/gpu/rates.h"
#include "temporary_directory.h"

namespace cleave::profile_test {

namespace fs = std::filesystem;

SimulatedOptions machine() {
    SimulatedOptions options;
    options.memory_size = std::uint64_t{64} << 20;
    options.in = {3e-6, 1.0 / 50e9};
    options.out = {4e-6, 1.0 / 40e9};
    options.ordinary_in = Rate{5e-6, 1.0 / 4e9};
    options.ordinary_out = Rate{6e-6, 1.0 / 2e9};
    options.launch = 7e-6;
    return options;
}

TEST(MeasureMachine, FindsWhatTheDeviceIs) {
    SimulatedDevice device(machine());
    const MachineProfile profile = measure_machine(device, nullptr);
    EXPECT_NEAR(profile.in.fixed, 3e-6, 1e-8);
    EXPECT_NEAR(profile.in.per_byte, 1.0 / 50e9, 1e-15);
    EXPECT_NEAR(profile.out.fixed, 4e-6, 1e-8);
    EXPECT_NEAR(profile.out.per_byte, 1.0 / 40e9, 1e-15);
    EXPECT_NEAR(profile.ordinary_in.fixed, 5e-6, 1e-7);
    EXPECT_NEAR(profile.ordinary_in.per_byte, 1.0 / 4e9, 1e-14);
    EXPECT_NEAR(profile.ordinary_out.fixed, 6e-6, 1e-7);
    EXPECT_NEAR(profile.ordinary_out.per_byte, 1.0 / 2e9, 1e-14);
    EXPECT_NEAR(profile.launch, 7e-6, 1e-9);
    EXPECT_EQ(profile.identity.device, "simulated-0");
    EXPECT_EQ(profile.identity.driver, "1.0");
    EXPECT_EQ(device.allocations_alive(), 0);
    EXPECT_LE(device.virtual_clock().seconds(), 2);
}

TEST(MeasureMachine, TakesAtMostTwoSecondsOfASlowDevice) {
    SimulatedOptions slow = machine();
    slow.in = slow.out = {0, 1.0 / 400e6};
    slow.ordinary_in = slow.ordinary_out = Rate{0, 1.0 / 200e6};
    slow.launch = 1e-3;
    SimulatedDevice device(slow);
    measure_machine(device, nullptr);
    EXPECT_LE(device.virtual_clock().seconds(), 2);
}

TEST(MeasureMachine, TheNthCallFailsAndNothingStays) {
    std::uint64_t calls = 0;
    for (std::uint64_t n = 0; n <= std::min<std::uint64_t>(calls, 60); ++n) {
        SimulatedOptions options = machine();
        options.memory_size = 1 << 16;
        SimulatedDevice device(options);
        device.fail_call(n, DeviceFault::kFailed);
        if (n == 0) {
            EXPECT_NO_THROW(measure_machine(device, nullptr));
            calls = device.calls();
        } else {
            EXPECT_ANY_THROW(measure_machine(device, nullptr)) << "call " << n;
        }
        EXPECT_EQ(device.allocations_alive(), 0);
    }
}

class ProfileFile : public testing::Test {
protected:
    ProfileFile() : folder(directory.path("cache/cleave")) {
        profile.identity = {"Some CPU @ 3 GHz", "GPU-12/../34", "580.1"};
        profile.in = {1.25e-5, 1.0 / 55e9};
        profile.out = {1e-5, 0.1};
        profile.ordinary_in = {2e-5, 1.0 / 6e9};
        profile.ordinary_out = {3e-5, 0.2};
        profile.launch = 5e-6;
        profile.host_copy = {0, 1e-10};
        profile.functions["f \"quoted\""] = {Rate{1, 2}, std::nullopt};
        profile.functions["g"] = {std::nullopt, Rate{3, 1e-300}};
    }

    fs::path write() { return write_profile(folder, profile); }
    std::string reason() { return read_profile(folder, profile.identity).reason; }
    static std::string text_of(const fs::path& path) {
        std::ostringstream text;
        text << std::ifstream(path).rdbuf();
        return text.str();
    }

    test::TemporaryDirectory directory;
    const fs::path folder;
    MachineProfile profile;
};

TEST_F(ProfileFile, IsReadAsItWasWritten) {
    EXPECT_EQ(reason(), "not measured yet");
    const fs::path path = write();
    EXPECT_EQ(path.parent_path(), folder);
    const ReadProfile read = read_profile(folder, profile.identity);
    ASSERT_TRUE(read.profile) << read.reason;
    EXPECT_EQ(*read.profile, profile);
    profile.launch = 1;
    write();
    EXPECT_EQ(read_profile(folder, profile.identity).profile->launch, 1);
    EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 1);
}

TEST_F(ProfileFile, IsForThisUserAlone) {
    const ::mode_t mask = ::umask(0);
    const fs::path path = write();
    ::umask(mask);
    struct stat status {};
    ASSERT_EQ(::stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0600);
    ASSERT_EQ(::stat(folder.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0700);
}

TEST_F(ProfileFile, OfAnotherMachineIsNotUsed) {
    write();
    MachineIdentity other = profile.identity;
    other.cpu = "another";
    EXPECT_EQ(read_profile(folder, other).reason, "belongs to another processor");
    other = profile.identity;
    other.driver = "another";
    EXPECT_EQ(read_profile(folder, other).reason, "belongs to another driver");
    other = profile.identity;
    other.device = "GPU-12_.._34";  // yields the same file name
    EXPECT_EQ(read_profile(folder, other).reason, "belongs to another device");
    EXPECT_FALSE(read_profile(folder, other).profile);
}

TEST_F(ProfileFile, ThatIsDamagedIsNotUsed) {
    const fs::path path = write();
    const std::string whole = text_of(path);
    for (std::size_t size = 0; size + 2 < whole.size(); ++size) {
        std::ofstream(path, std::ios::trunc) << whole.substr(0, size);
        ASSERT_EQ(reason(), "is damaged") << size;
    }
    const auto with = [&](const std::string& from, const std::string& to) {
        std::string text = whole;
        text.replace(text.find(from), from.size(), to);
        std::ofstream(path, std::ios::trunc) << text;
        return reason();
    };
    EXPECT_EQ(with("\"launch\":", "\"launch\":-"), "is damaged");
    EXPECT_EQ(with("\"launch\":", "\"launch\":1e999,\"x\":"), "is damaged");
    EXPECT_EQ(with("\"cpu\":", "\"cpu\":1,\"x\":"), "is damaged");
    EXPECT_EQ(with("\"functions\":{", "\"functions\":[],\"x\":{"), "is damaged");
    EXPECT_EQ(with("\"ordinary_in\":", "\"ordinary\":"), "is damaged");
    EXPECT_EQ(with("\"ordinary_out\":", "\"ordinary\":"), "is damaged");
    EXPECT_EQ(with("\"version\":3", "\"version\":2"), "has another version");
    EXPECT_EQ(with("\"version\":3", "\"version\":3,\"more\":[1]"), "");
    std::ofstream(path, std::ios::trunc) << std::string(3 << 20, ' ');
    EXPECT_EQ(reason(), "is damaged");
}

TEST_F(ProfileFile, ALinkIsNeitherFollowedNorRead) {
    const fs::path path = write();
    const fs::path victim = directory.path("victim");
    fs::rename(path, victim);
    fs::create_symlink(victim, path);
    EXPECT_EQ(reason(), "cannot be opened");
    const std::string before = text_of(victim);
    profile.launch = 2;
    write();
    EXPECT_EQ(text_of(victim), before);
    EXPECT_FALSE(fs::is_symlink(path));
    EXPECT_EQ(reason(), "");
    // The folder is replaced by a link.
    fs::rename(folder, directory.path("elsewhere"));
    fs::create_directory_symlink(directory.path("elsewhere"), folder);
    EXPECT_FALSE(read_profile(folder, profile.identity).profile);
    EXPECT_THROW(write(), std::system_error);
}

TEST_F(ProfileFile, WhatOthersCanWriteIsNotUsed) {
    const fs::path path = write();
    fs::permissions(path, fs::perms::group_write, fs::perm_options::add);
    EXPECT_EQ(reason(), "is not safe");
    write();
    fs::permissions(folder, fs::perms::others_write, fs::perm_options::add);
    EXPECT_EQ(reason(), "its folder is not safe");
    EXPECT_THROW(write(), std::system_error);
    fs::permissions(folder, fs::perms::owner_all);
    fs::remove(path);
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    EXPECT_EQ(reason(), "is not safe");
}

// The profile that is read before a device is open.
class NewestProfile : public ProfileFile {
protected:
    NewestProfile() { profile.identity.cpu = processor_model(); }

    ReadProfile read() const { return read_newest_profile(folder); }
    // Writes a profile of the device that is `age` seconds old.
    fs::path write_of(const std::string& device, int age) {
        profile.identity.device = device;
        const fs::path path = write();
        const ::timespec then{::time(nullptr) - age, 0};
        const ::timespec times[] = {then, then};
        EXPECT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
        return path;
    }
};

TEST_F(NewestProfile, IsTheOneThatWasWrittenLast) {
    EXPECT_EQ(read().reason, "not measured yet");
    EXPECT_EQ(read().path, folder);
    EXPECT_EQ(read_newest_profile("").reason, "not measured yet");
    for (const auto& [device, age] : {std::pair("b", 100), std::pair("c", 10), std::pair("a", 50)}) {
        write_of(device, age);
    }
    ASSERT_TRUE(read().profile) << read().reason;
    EXPECT_EQ(read().profile->identity.device, "c");
    EXPECT_EQ(read().path, folder / "machine-c.json");
    profile.identity.driver = "another";  // which is noticed once the device is open
    write_of("a", 0);
    EXPECT_EQ(*read().profile, profile);
}

TEST_F(NewestProfile, OtherFilesAreNoProfiles) {
    write_of("a", 100);
    for (const char* name : {"machine-.json~", "machine-b.jso", "xmachine-b.json", ".machine-b.json.123"}) {
        std::ofstream(folder / name) << "{";
    }
    EXPECT_EQ(read().path, folder / "machine-a.json");
    EXPECT_TRUE(read().profile);
}

// The message names the file. No older profile is used instead.
TEST_F(NewestProfile, ThatMayNotBeUsedIsNamed) {
    write_of("a", 100);
    const fs::path path = write_of("b", 10);
    EXPECT_TRUE(read().profile);
    const auto expect = [&](const char* reason) {
        EXPECT_EQ(read().reason, reason);
        EXPECT_EQ(read().path, path);
        EXPECT_FALSE(read().profile);
    };
    std::ofstream(path, std::ios::trunc) << "{";
    expect("is damaged");
    profile.identity.cpu = "another";
    write();
    expect("belongs to another processor");
    fs::permissions(path, fs::perms::others_write, fs::perm_options::add);
    expect("is not safe");
    fs::remove(path);
    fs::create_symlink(folder / "machine-a.json", path);
    expect("cannot be opened");
    fs::remove(path);
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    expect("is not safe");
    fs::remove(path);
    fs::create_directory(path);
    expect("is not safe");
    fs::remove(path);
    EXPECT_TRUE(read().profile);
    fs::permissions(folder, fs::perms::group_write, fs::perm_options::add);
    EXPECT_EQ(read().reason, "its folder is not safe");
    EXPECT_EQ(read().path, folder);
}

TEST(ProfileFolder, IsThatOfTheCache) {
    const char* const home = std::getenv("HOME");
    const std::string saved = home != nullptr ? home : "";
    ::setenv("XDG_CACHE_HOME", "/cache", 1);
    EXPECT_EQ(profile_folder(), "/cache/cleave");
    ::setenv("XDG_CACHE_HOME", "relative", 1);
    ::setenv("HOME", "/home/me", 1);
    EXPECT_EQ(profile_folder(), "/home/me/.cache/cleave");
    ::unsetenv("HOME");
    EXPECT_EQ(profile_folder(), "");
    ::unsetenv("XDG_CACHE_HOME");
    if (home != nullptr) ::setenv("HOME", saved.c_str(), 1);
}

TEST(BodyRate, FollowsWhatWasMeasured) {
    BodyRate rate;
    EXPECT_FALSE(rate.rate());
    rate.set_prior(Rate{1, 1});
    EXPECT_EQ(rate.rate(), (Rate{1, 1}));
    rate.add(9, 1000, 1);  // in the first run of its size
    rate.add(9, 1000, 1);
    EXPECT_EQ(rate.rate(), (Rate{1, 1}));
    rate.add(9, 20, 2);  // twice the known rate
    EXPECT_EQ(rate.rate(), (Rate{2, 2}));
    rate.add(99, 1000, 3);
    EXPECT_EQ(rate.rate(), (Rate{2, 2}));
    rate.add(99, 110, 4);  // now there are two sizes: 11 + bytes
    EXPECT_NEAR(rate.rate()->fixed, 11, 1e-9);
    EXPECT_NEAR(rate.rate()->per_byte, 1, 1e-9);
    BodyRate steep;
    steep.add(11, 1100, 1);
    EXPECT_EQ(steep.rate(), (Rate{0, 100}));  // nothing else is known
    steep.add(1, 0, 2);
    steep.add(11, 100, 2);  // the line would start below zero
    EXPECT_EQ(steep.rate()->fixed, 0);
    EXPECT_NEAR(steep.rate()->per_byte, 1100.0 / 122, 1e-9);
}

}  // namespace cleave::profile_test
