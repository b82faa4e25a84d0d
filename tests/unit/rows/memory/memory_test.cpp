// Memory managers as C++ sees them: names, plugins and their faults, completion, and ownership of memory.
#include "cleave/memory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "rows/memory/completed_manager.h"
#include "rows/memory/deferred_releases.h"
#include "rows/memory/manager_base.h"
#include "rows/memory/pool_manager.h"
#include "rows/memory/raw_manager.h"
#include "rows/memory/system_manager.h"

// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): names of the sanitizers
// A refused manager is not destroyed, because its destroy() may be anything.
extern "C" [[gnu::visibility("default")]] const char* __lsan_default_suppressions() { return "leak:open_documented"; }
// For requests that no machine can satisfy.
extern "C" [[gnu::visibility("default")]] const char* __asan_default_options() { return "allocator_may_return_null=1"; }
extern "C" [[gnu::visibility("default")]] const char* __tsan_default_options() { return "allocator_may_return_null=1"; }
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

namespace cleave::memory_test {

namespace fs = std::filesystem;

const std::string kPlugins = PLUGINS;
const std::string kFaulty = kPlugins + "/faulty.so";

// What open() says: "name error: ..." for MemoryManagerNameError.
std::string failure_of(const std::string& name) {
    try {
        MemoryManager::open(name);
    } catch (const MemoryManagerNameError& error) {
        return std::string("name error: ") + error.what();
    } catch (const MemoryManagerError& error) {
        return error.what();
    }
    return "it opened";
}

std::string failure_of_allocate(MemoryManager& manager, const MemoryRequest& request) {
    try {
        manager.allocate(request);
    } catch (const MemoryError& error) {
        return error.what();
    } catch (const std::invalid_argument& error) {
        return std::string("invalid: ") + error.what();
    }
    return "there was memory";
}

TEST(MemoryManagerNames, BuiltIn) {
    for (const char* const name : {"system", "huge", "huge:transparent", "huge:explicit", "pool", "pool:64K", "pool:3M",
                                   "pool:1024G", "pool:65536"}) {
        const auto manager = MemoryManager::open(name);
        EXPECT_EQ(manager->name(), std::string(name).substr(0, std::string(name).find(':')));
        EXPECT_EQ(manager->pool_statistics().has_value(), manager->name() == "pool");
    }
}

TEST(MemoryManagerNames, ThatDoNotExist) {
    for (const std::string name : {"jemalloc", "", "System"}) {
        EXPECT_EQ(failure_of(name), "name error: unknown memory manager '" + name +
                                        "': name one of system, huge, pool, or the path of a library");
    }
    EXPECT_EQ(failure_of("./a.so"), "name error: memory manager ./a.so: the path of a library must be absolute");
    EXPECT_EQ(failure_of("lib/a.so:x"), "name error: memory manager lib/a.so: the path of a library must be absolute");
    EXPECT_EQ(failure_of("system:x"), "name error: memory manager system: takes no settings");
    EXPECT_EQ(failure_of("huge:2M"), "name error: memory manager huge: '2M' is not transparent or explicit");
    for (const std::string size :
         {"x", "63K", "65535", "1025G", "1T", "64k", "-1", "64K ", "99999999999999999999", "18014398509481984K", "0"}) {
        EXPECT_EQ(failure_of("pool:" + size),
                  "name error: memory manager pool: '" + size + "' is not a size of 64K to 1024G");
    }
}

TEST(MemoryPlugins, FaultsAreErrorsThatNameThePlugin) {
    const std::string prefix = "memory manager " + kFaulty + ": ";
    const std::array faults{
        std::pair{"version", "it is for version 7 of the interface, not 1"},
        std::pair{"struct-size", "its cleave_memory_manager has 40 bytes, not 112"},
        std::pair{"no-release", "lacks a member that every manager has"},
        std::pair{"no-name", "lacks a member that every manager has"},
        std::pair{"pin-without-member", "its capabilities do not agree with its members"},
        std::pair{"info-without-member", "its capabilities do not agree with its members"},
        std::pair{"begin-without-end", "its capabilities do not agree with its members"},
        std::pair{"open-without-member", "its capabilities do not agree with its members"},
        std::pair{"open-without-room", "its capabilities do not agree with its members"},
        std::pair{"null-manager", "returned no manager"},
        std::pair{"open", "cannot start: Device or resource busy"},
        std::pair{"open=no licence", "cannot start: no licence"},
        std::pair{"open=a\033[2Jb\x7f\xc2\x9bz\xc3\xa4", "cannot start: a\\x1b[2Jb\\x7f\\xc2\\x9bz\xc3\xa4"},
        std::pair{"nonsense", "cannot start: no fault 'nonsense'"},
    };
    for (const auto& [fault, why] : faults) EXPECT_EQ(failure_of(kFaulty + ":" + fault), prefix + why) << fault;
}

TEST(MemoryPlugins, ThoseOfTheFirstHeaderCanBeUsed) {
    const auto manager = MemoryManager::open(kFaulty + ":first-header");
    EXPECT_EQ(manager->allocate({.size = 1000}).size(), 1000U);
    EXPECT_EQ(manager->manager().capabilities & CLEAVE_MEMORY_CAN_OPEN, 0U);
    EXPECT_EQ(manager->manager().open_ipc, nullptr);
}

// The made-up device keeps the contract, so it can be completed and used as the source of a pool.
TEST(MemoryPlugins, PinsAndOpensThroughOtherManagers) {
    const std::string made_up = kPlugins + "/faulty_device.so:none";
    std::array<char, 5000> bytes{};
    struct Counts {
        int retained = 0;
        int released = 0;
    } counts;
    const cleave_memory_owner owner{&counts, [](void* object) { ++static_cast<Counts*>(object)->retained; },
                                    [](void* object) { ++static_cast<Counts*>(object)->released; }};
    RawManager raw = open_raw_manager(made_up);
    auto* const pool = new PoolManager(*raw.manager.release(), PoolManager::kMinRegionSize,
                                       {[](void*) { return 0; }, [](void*, std::size_t, void*) { return 0; }});
    const auto pooled = MemoryManager::adopt(pool->face());
    for (const auto& manager : {MemoryManager::open(made_up), pooled}) {
        const cleave_memory_manager& face = manager->manager();
        cleave_memory pinned{};
        cleave_memory again{};
        counts = {};
        ASSERT_EQ(face.pin(face.state, &owner, bytes.data(), bytes.size(), 0, &pinned), 0);
        EXPECT_EQ(pinned.pointer, bytes.data());
        EXPECT_EQ(pinned.size, bytes.size());
        EXPECT_EQ(face.pin(face.state, &owner, &bytes[100], 10, 0, &again), EEXIST);
        EXPECT_EQ(face.release(face.state, &pinned, nullptr), 0);
        EXPECT_EQ(counts.released, 1);
        ASSERT_EQ(face.pin(face.state, &owner, bytes.data(), bytes.size(), 0, &pinned), 0);
        EXPECT_EQ(face.reset(face.state), 0);
        EXPECT_EQ(counts.retained, 2);
        EXPECT_EQ(counts.released, 2);

        const Memory memory = manager->allocate({.size = 1000, .space = MemorySpace::kDevice});
        cleave_memory_export exported{};
        ASSERT_EQ(face.export_ipc(face.state, &memory.memory(), &exported), 0);
        EXPECT_EQ(face.open_ipc(face.state, &exported, 0, &again), EEXIST);  // this process has it
        const pid_t child = ::fork();
        if (child == 0) {
            const int error = face.open_ipc(face.state, &exported, 0, &again);
            ::_exit(error != 0 || again.size != memory.size() || face.release(face.state, &again, nullptr) != 0);
        }
        int status = -1;
        ::waitpid(child, &status, 0);
        EXPECT_EQ(status, 0);
    }
    EXPECT_EQ(pooled->pool_statistics(), std::nullopt);
    EXPECT_EQ(pool->statistics().regions, 1U);
}

TEST(MemoryPlugins, AMessageOfAnyLengthIsCut) {
    const std::string text = failure_of(kFaulty + ":open=" + std::string(1000, 'x'));
    EXPECT_EQ(text, "memory manager " + kFaulty + ": cannot start: " + std::string(255, 'x'));
    const std::string end =
        failure_of(kFaulty + ":open=" + std::string(253, 'x') + "\xe2\x82\xac");  // no half of a sign
    EXPECT_EQ(end, "memory manager " + kFaulty + ": cannot start: " + std::string(253, 'x'));
}

TEST(MemoryPlugins, LibrariesThatAreNone) {
    const std::string missing = kPlugins + "/no_such_file.so";
    EXPECT_EQ(failure_of(missing).find("memory manager " + missing + ": "), 0U);
    EXPECT_NE(failure_of(missing).find("No such file or directory"), std::string::npos);
    const std::string none = kPlugins + "/no_symbol.so";
    EXPECT_EQ(failure_of(none), "memory manager " + none + ": it has no function cleave_memory_manager_open");
}

// A copy of a plugin in its own folder, inside the trusted folder of the plugins.
class PluginTrust : public testing::Test {
protected:
    void SetUp() override {
        fs::remove_all(folder_);
        fs::create_directories(folder_ / "in");
        fs::permissions(folder_, fs::perms(0755));
        fs::permissions(folder_ / "in", fs::perms(0755));
        fs::copy_file(kPlugins + "/documented.so", plugin_);
        fs::permissions(plugin_, fs::perms(0644));
    }
    void TearDown() override { fs::remove_all(folder_); }

    // Returns an empty string if the plugin is loaded.
    static std::string fault(const std::string& path) {
        const std::string text = failure_of(path + ":100000");
        const std::string prefix = "name error: memory manager " + path + ": not loaded: ";
        if (text.starts_with(prefix)) return text.substr(prefix.size());
        return text == "it opened" ? "" : text;
    }

    const fs::path folder_ = fs::path(kPlugins) / ("trust-" + std::to_string(::getpid()));
    const std::string plugin_ = (folder_ / "in" / "plugin.so").string();
};

TEST_F(PluginTrust, WhatOthersCanWriteIsNotLoaded) {
    EXPECT_EQ(fault(plugin_), "");
    for (const unsigned mode : {0664U, 0646U, 0666U}) {
        fs::permissions(plugin_, fs::perms(mode));
        EXPECT_EQ(fault(plugin_), "other users can write to '" + plugin_ + "'") << std::oct << mode;
    }
    fs::permissions(plugin_, fs::perms(0644));
    const std::string in = (folder_ / "in").string();
    for (const unsigned mode : {0775U, 0757U, 01777U}) {  // a file in a sticky folder may be a link to another one
        fs::permissions(folder_ / "in", fs::perms(mode));
        EXPECT_EQ(fault(plugin_), "other users can write to '" + in + "'") << std::oct << mode;
    }
    fs::permissions(folder_ / "in", fs::perms(0755));
    fs::permissions(folder_, fs::perms(0777));
    EXPECT_EQ(fault(plugin_), "other users can write to '" + folder_.string() + "'");
    fs::permissions(folder_, fs::perms(0755));
    EXPECT_EQ(fault(in), "'" + in + "' is not a regular file");
}

TEST_F(PluginTrust, WhatAnotherUserOwnsIsNotLoaded) {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
    constexpr uid_t kSomebody = 12345;
    ASSERT_EQ(::chown(plugin_.c_str(), kSomebody, 0), 0);
    EXPECT_EQ(fault(plugin_), "'" + plugin_ + "' belongs to another user");
    ASSERT_EQ(::chown(plugin_.c_str(), 0, 0), 0);
    ASSERT_EQ(::chown((folder_ / "in").c_str(), kSomebody, 0), 0);
    EXPECT_EQ(fault(plugin_), "'" + (folder_ / "in").string() + "' belongs to another user");
}

// A link is followed, and the folders on both paths are checked.
TEST_F(PluginTrust, LinksLeadThroughTrustedFoldersOnly) {
    const std::string link = (folder_ / "link.so").string();
    fs::create_symlink("in/../in/plugin.so", link);
    EXPECT_EQ(fault(link), "");
    const fs::path open = fs::temp_directory_path() / ("cleave-trust-" + std::to_string(::getpid()));
    fs::remove_all(open);
    fs::create_directory(open);
    fs::permissions(open, fs::perms(0777));
    fs::create_symlink(plugin_, open / "link.so");
    EXPECT_NE(fault((open / "link.so").string()).find("other users can write to '"), std::string::npos);
    fs::copy_file(plugin_, open / "plugin.so");
    fs::remove(link);
    fs::create_symlink(open / "plugin.so", link);
    EXPECT_NE(fault(link).find("other users can write to '"), std::string::npos);
    fs::remove(link);
    fs::create_symlink("link.so", link);
    EXPECT_NE(fault(link).find("Too many levels of symbolic links"), std::string::npos);
    fs::remove_all(open);
}

// A plugin in a folder of a folder that is sticky and that others can write to.
class PluginBelowSharedFolder : public PluginTrust {
protected:
    void SetUp() override {
        PluginTrust::SetUp();
        if (::geteuid() != 0) GTEST_SKIP() << "needs root";
        fs::create_directories(in_);
        fs::permissions(in_, fs::perms(0755));
        fs::permissions(shared_, fs::perms(01777));
        fs::copy_file(plugin_, below_);
    }

    const fs::path shared_ = folder_ / "shared";
    const fs::path in_ = shared_ / "in";
    const std::string below_ = (in_ / "plugin.so").string();
    const std::string others_can_write_ = "other users can write to '" + shared_.string() + "'";
};

TEST_F(PluginBelowSharedFolder, IsLoadedFromAFolderThatOthersCannotChange) {
    EXPECT_EQ(fault(below_), "");
    EXPECT_EQ(fault((shared_ / "./in/../in/plugin.so").string()), "");
    fs::create_symlink("plugin.so", in_ / "link.so");
    EXPECT_EQ(fault((in_ / "link.so").string()), "");
    fs::create_symlink(in_, folder_ / "link");
    EXPECT_EQ(fault((folder_ / "link" / "plugin.so").string()), "");
}

TEST_F(PluginBelowSharedFolder, IsNotLoadedIfOthersCanWriteToAFolder) {
    for (const unsigned mode : {0775U, 0757U, 01777U}) {
        fs::permissions(in_, fs::perms(mode));
        EXPECT_EQ(fault(below_), "other users can write to '" + in_.string() + "'") << std::oct << mode;
    }
    fs::permissions(in_, fs::perms(0755));
    fs::permissions(below_, fs::perms(0664));
    EXPECT_EQ(fault(below_), "other users can write to '" + below_ + "'");
    fs::permissions(below_, fs::perms(0644));
    fs::permissions(shared_, fs::perms(0777));
    EXPECT_EQ(fault(below_), others_can_write_);
}

TEST_F(PluginBelowSharedFolder, IsNotLoadedIfAFolderBelongsToAnotherUser) {
    constexpr ::uid_t kSomebody = 12345;
    for (const std::string& path : {shared_.string(), in_.string(), below_}) {
        ASSERT_EQ(::chown(path.c_str(), kSomebody, 0), 0);
        EXPECT_EQ(fault(below_), "'" + path + "' belongs to another user");
        ASSERT_EQ(::chown(path.c_str(), 0, 0), 0);
    }
}

// A sticky folder of the caller is not one of root.
TEST_F(PluginBelowSharedFolder, IsNotLoadedIfTheSharedFolderIsNotOfRoot) {
    constexpr ::uid_t kSomebody = 12345;
    ASSERT_EQ(::seteuid(kSomebody), 0);
    const bool can_reach = ::faccessat(AT_FDCWD, shared_.c_str(), X_OK, AT_EACCESS) == 0;
    ASSERT_EQ(::seteuid(0), 0);
    if (!can_reach) GTEST_SKIP() << "other users cannot reach the folder of the build";
    const auto fault_for_somebody = [&](::uid_t owner) {
        EXPECT_EQ(::chown(shared_.c_str(), owner, 0), 0);
        EXPECT_EQ(::chown(in_.c_str(), kSomebody, 0), 0);
        EXPECT_EQ(::seteuid(kSomebody), 0);
        const std::string text = fault(below_);
        EXPECT_EQ(::seteuid(0), 0);
        return text;
    };
    EXPECT_EQ(fault_for_somebody(0), "");
    EXPECT_EQ(fault_for_somebody(kSomebody), others_can_write_);
    constexpr ::uid_t kNobody = 65534;  // may stand for users of another namespace
    EXPECT_EQ(::chown(shared_.c_str(), 0, 0), 0);
    EXPECT_EQ(::chown(in_.c_str(), kNobody, 0), 0);
    EXPECT_EQ(::seteuid(kNobody), 0);
    EXPECT_EQ(fault(below_), "'" + in_.string() + "' belongs to another user");
    EXPECT_EQ(::seteuid(0), 0);
}

TEST_F(PluginBelowSharedFolder, IsNotLoadedThroughALinkOrFromAFileInIt) {
    fs::create_symlink("in", shared_ / "link");
    EXPECT_EQ(fault((shared_ / "link" / "plugin.so").string()), others_can_write_);
    fs::create_symlink(in_ / "plugin.so", shared_ / "link.so");
    EXPECT_EQ(fault((shared_ / "link.so").string()), others_can_write_);
    fs::create_hard_link(plugin_, shared_ / "plugin.so");
    EXPECT_EQ(fault((shared_ / "plugin.so").string()), others_can_write_);
    EXPECT_EQ(fault((shared_ / "none.so").string()), others_can_write_);
    EXPECT_EQ(fault((shared_ / "plugin.so" / "x").string()), others_can_write_);
    fs::create_symlink("../link/plugin.so", in_ / "out.so");
    EXPECT_EQ(fault((in_ / "out.so").string()), others_can_write_);
}

TEST_F(PluginBelowSharedFolder, IsNotLoadedFromAMountPoint) {
    if (::mount("cleave-test", in_.c_str(), "tmpfs", 0, "mode=755") != 0) GTEST_SKIP() << "cannot mount";
    fs::copy_file(plugin_, below_);
    EXPECT_EQ(fault(below_), others_can_write_);
    EXPECT_EQ(::umount2(in_.c_str(), MNT_DETACH), 0);
}

std::ptrdiff_t count_of_descriptors() {
    return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
}

// The descriptor stays open, but the same file never needs a second one, and no other file is mistaken for it.
TEST_F(PluginTrust, EachFileHoldsOneDescriptor) {
    EXPECT_EQ(fault(plugin_), "");
    const std::ptrdiff_t count = count_of_descriptors();
    for (int i = 0; i < 5; ++i) EXPECT_EQ(fault(plugin_), "");
    EXPECT_EQ(count_of_descriptors(), count);
    fs::remove(plugin_);
    fs::copy_file(kPlugins + "/no_symbol.so", plugin_);
    fs::permissions(plugin_, fs::perms(0644));
    EXPECT_NE(fault(plugin_).find("has no function"), std::string::npos);
}

TEST(MemoryPlugins, OneThatCannotBeInitialized) {
    EXPECT_EQ(failure_of(kFaulty + ":initialize"), "memory manager limited: cannot be initialised: No such device");
}

TEST(MemoryPlugins, AllocationFailsAtTheNthCall) {
    for (int n = 1; n < 5; ++n) {
        const auto manager = MemoryManager::open(kFaulty + ":allocate-from=" + std::to_string(n));
        std::vector<Memory> held;
        for (int i = 1; i < n; ++i) held.push_back(manager->allocate({.size = 100}));
        EXPECT_EQ(failure_of_allocate(*manager, {.size = 100}),
                  "out of memory: memory manager limited has no 100 bytes");
    }
    const auto manager = MemoryManager::open(kFaulty + ":allocate-number=1");
    EXPECT_EQ(failure_of_allocate(*manager, {.size = 100}),
              "memory manager limited: a request for 100 bytes: Input/output error");
    EXPECT_EQ(failure_of_allocate(*manager, {.size = 100}), "there was memory");
}

TEST(MemoryPlugins, WrongMemoryIsRefused) {
    const std::string why =
        "memory manager limited: a request for 100 bytes returned memory that is too small or misaligned";
    for (const char* const fault : {"too-small", "misaligned", "no-memory"}) {
        // Refused memory must not leak: the leak checker would report it.
        const auto manager =
            MemoryManager::open(kFaulty + ":" + (fault == std::string("no-memory") ? "too-small" : fault));
        EXPECT_EQ(failure_of_allocate(*manager, {.size = 100}), why) << fault;
        EXPECT_EQ(failure_of_allocate(*manager, {.size = 100, .flags = CLEAVE_MEMORY_ZEROED}), why) << fault;
        EXPECT_EQ(manager->allocate({.size = 0}).size(), 0U);
    }
}

TEST(MemoryPlugins, AnInvalidArgumentThatIsNoneIsTheManagersFault) {
    const auto manager = MemoryManager::open(kFaulty + ":arguments");
    EXPECT_EQ(failure_of_allocate(*manager, {.size = 100}),
              "memory manager limited: a request for 100 bytes: Invalid argument");
}

TEST(MemoryPlugins, NamesReachMessagesWithoutControlCharacters) {
    const auto manager = MemoryManager::open(kFaulty + ":name");
    EXPECT_EQ(manager->name(), "a\\x1b[2Jb");
    EXPECT_EQ(failure_of_allocate(*manager, {.size = SIZE_MAX / 2}),
              "out of memory: memory manager a\\x1b[2Jb has no 9223372036854775807 bytes");
}

TEST(MemoryPlugins, AreIndependent) {
    const auto small = MemoryManager::open(kPlugins + "/documented.so:1000");
    const auto large = MemoryManager::open(kPlugins + "/documented.so:100000");
    const Memory most = small->allocate({.size = 900});
    EXPECT_EQ(failure_of_allocate(*small, {.size = 200}), "out of memory: memory manager limited has no 200 bytes");
    EXPECT_GE(large->allocate({.size = 50'000}).size(), 50'000U);
}

TEST(MemoryPlugins, WithoutHostMemoryAreCompleted) {
    const auto manager = MemoryManager::open(kPlugins + "/device_only.so");
    EXPECT_EQ(manager->name(), "device-only: 0 allocated, 0 released");
    const cleave_memory_manager& face = manager->manager();
    EXPECT_NE(face.capabilities & CLEAVE_MEMORY_CAN_HOST, 0U);
    EXPECT_NE(face.capabilities & CLEAVE_MEMORY_CAN_DEVICE, 0U);
    {
        const Memory of_host = manager->allocate({.size = 1000});
        std::memset(of_host.data(), 1, of_host.size());
        EXPECT_EQ(manager->name(), "device-only: 0 allocated, 0 released");
        const Memory of_device = manager->allocate({.size = 1000, .space = MemorySpace::kDevice});
        EXPECT_EQ(manager->name(), "device-only: 1 allocated, 0 released");
    }
    EXPECT_EQ(manager->name(), "device-only: 1 allocated, 1 released");
    EXPECT_EQ(failure_of_allocate(*manager, {.size = 1, .space = MemorySpace::kPinned}),
              "memory manager device-only: 1 allocated, 1 released: has no memory of this kind");
    std::uint64_t free_size = 0;
    std::uint64_t total_size = 0;
    EXPECT_EQ(face.info(face.state, CLEAVE_MEMORY_HOST, &free_size, &total_size), 0);
    EXPECT_EQ(face.info(face.state, CLEAVE_MEMORY_DEVICE, &free_size, &total_size), ENOTSUP);
}

// A manager that belongs to the program, and logs its calls.
class Scripted final : public ManagerBase {
public:
    Scripted(std::uint32_t capabilities, std::vector<std::string>& log)
        : ManagerBase("scripted", capabilities), log_(log) {}
    ~Scripted() override { log_.emplace_back("destroy"); }

    int initialize(std::int32_t device) noexcept override {
        log_.push_back("initialize " + std::to_string(device));
        return initialize_error;
    }
    int allocate(cleave_memory_space, std::size_t size, std::size_t alignment, std::uint32_t, void*,
                 cleave_memory& memory) noexcept override {
        log_.push_back("allocate " + std::to_string(size) + " at " + std::to_string(alignment));
        memory = {bytes_.data(), bytes_.size(), this};
        return 0;
    }
    int release(const cleave_memory& memory, void* stream) noexcept override {
        const bool is_wiped = std::ranges::all_of(bytes_, [](std::uint8_t byte) { return byte == 0; });
        EXPECT_EQ(memory.handle, this);
        log_.push_back("release on " + std::to_string(reinterpret_cast<std::uintptr_t>(stream)) +
                       (is_wiped ? ", wiped" : ""));
        return 0;
    }
    int pin(const cleave_memory_owner&, void* pointer, std::size_t size, std::uint32_t,
            cleave_memory& pinned) noexcept override {
        log_.emplace_back("pin");
        pinned = {pointer, size, this};
        return 0;
    }
    int export_ipc(const cleave_memory& memory, cleave_memory_export& exported) noexcept override {
        EXPECT_EQ(memory.handle, this);
        exported.offset = 42;
        return 0;
    }
    int defer_cleanup_begin() noexcept override {
        log_.emplace_back("begin");
        return begin_error;
    }
    int defer_cleanup_end() noexcept override {
        log_.emplace_back("end");
        return 0;
    }
    int reset() noexcept override {
        log_.emplace_back(bytes_[0] == 0 ? "reset, wiped" : "reset");
        return 0;
    }

    int initialize_error = 0;
    int begin_error = 0;

private:
    std::vector<std::string>& log_;
    alignas(4096) std::array<std::uint8_t, 8192> bytes_{};
};

using Log = std::vector<std::string>;

TEST(MemoryAdopt, IsInitializedUsedAndDestroyed) {
    Log log;
    {
        auto* const made = new Scripted(CLEAVE_MEMORY_CAN_HOST, log);
        auto manager = MemoryManager::adopt(made->face());
        EXPECT_EQ(manager->name(), "scripted");
        Memory memory = manager->allocate({.size = 100, .alignment = 512});
        std::memset(memory.data(), 1, memory.size());
        memory.set_stream(reinterpret_cast<void*>(7));
        manager.reset();
        EXPECT_EQ(log, (Log{"initialize -1", "allocate 100 at 512"})) << "memory keeps its manager";
        memory.release();
        EXPECT_EQ(memory.data(), nullptr);
        memory.release();
    }
    EXPECT_EQ(log, (Log{"initialize -1", "allocate 100 at 512", "release on 7", "destroy"}));
}

TEST(MemoryAdopt, GetsTheAlignmentThatZeroStandsFor) {
    Log log;
    const auto manager =
        MemoryManager::adopt((new Scripted(CLEAVE_MEMORY_CAN_HOST | CLEAVE_MEMORY_CAN_DEVICE, log))->face());
    manager->allocate({.size = 1});
    manager->allocate({.size = 1, .space = MemorySpace::kDevice});
    EXPECT_EQ(log[1], "allocate 1 at 64");
    EXPECT_EQ(log[3], "allocate 1 at 256");
}

TEST(MemoryAdopt, IsDestroyedWhenItCannotBeInitialized) {
    Log log;
    auto* const made = new Scripted(CLEAVE_MEMORY_CAN_HOST, log);
    made->initialize_error = ENODEV;
    try {
        MemoryManager::adopt(made->face());
        FAIL() << "it was adopted";
    } catch (const MemoryManagerError& error) {
        EXPECT_STREQ(error.what(), "memory manager scripted: cannot be initialised: No such device");
    }
    EXPECT_EQ(log, (Log{"initialize -1", "destroy"}));
}

TEST(MemoryAdopt, IsNotTakenWhenItsVersionIsWrong) {
    Log log;
    auto* const made = new Scripted(CLEAVE_MEMORY_CAN_HOST, log);
    cleave_memory_manager other = made->face();
    other.interface_version = 2;
    EXPECT_THROW(MemoryManager::adopt(other), MemoryManagerError);
    EXPECT_TRUE(log.empty());
    delete made;
}

TEST(MemorySecret, IsKeptByCleaveWhereTheManagerCannot) {
    Log log;
    const auto manager = MemoryManager::adopt((new Scripted(CLEAVE_MEMORY_CAN_HOST, log))->face());
    Memory memory = manager->allocate({.size = 100, .flags = CLEAVE_MEMORY_SECRET});
    std::memset(memory.data(), 1, memory.size());
    memory.release();
    Memory plain = manager->allocate({.size = 100});
    std::memset(plain.data(), 1, plain.size());
    plain.release();
    const cleave_memory_manager& face = manager->manager();
    cleave_memory last{};  // reset() takes it, so it must not be released
    ASSERT_EQ(face.allocate(face.state, CLEAVE_MEMORY_HOST, 100, 0, CLEAVE_MEMORY_SECRET, nullptr, &last), 0);
    std::memset(last.pointer, 1, last.size);
    EXPECT_EQ(face.reset(face.state), 0);
    EXPECT_EQ(log, (Log{"initialize -1", "allocate 4096 at 4096", "release on 0, wiped", "allocate 100 at 64",
                        "release on 0", "allocate 4096 at 4096", "reset, wiped"}));
}

TEST(MemorySecret, IsLeftToAManagerThatCan) {
    Log log;
    const auto manager =
        MemoryManager::adopt((new Scripted(CLEAVE_MEMORY_CAN_HOST | CLEAVE_MEMORY_CAN_SECRET, log))->face());
    Memory memory = manager->allocate({.size = 100, .flags = CLEAVE_MEMORY_SECRET});
    memory.data()[0] = 1;
    memory.release();
    EXPECT_EQ(log, (Log{"initialize -1", "allocate 100 at 64", "release on 0"}));
}

TEST(MemoryCompletion, GoesMemberByMember) {
    Log first;
    Log second;
    auto* const one = new Scripted(CLEAVE_MEMORY_CAN_DEVICE | CLEAVE_MEMORY_CAN_DEFER, first);
    auto* const other = new Scripted(
        CLEAVE_MEMORY_CAN_HOST | CLEAVE_MEMORY_CAN_PIN | CLEAVE_MEMORY_CAN_EXPORT | CLEAVE_MEMORY_CAN_DEFER, second);
    {
        std::vector<OwnedManager> managers;
        managers.emplace_back(&one->face());
        managers.emplace_back(&other->face());
        CompletedManager both(std::move(managers));
        EXPECT_STREQ(both.face().name, "scripted");
        EXPECT_EQ(both.face().capabilities, CLEAVE_MEMORY_CAN_HOST | CLEAVE_MEMORY_CAN_DEVICE | CLEAVE_MEMORY_CAN_PIN |
                                                CLEAVE_MEMORY_CAN_EXPORT | CLEAVE_MEMORY_CAN_DEFER |
                                                CLEAVE_MEMORY_CAN_SECRET);
        cleave_memory device{};
        cleave_memory host{};
        cleave_memory pinned{};
        EXPECT_EQ(both.initialize(3), 0);
        EXPECT_EQ(both.allocate(CLEAVE_MEMORY_DEVICE, 10, 0, 0, nullptr, device), 0);
        EXPECT_EQ(both.allocate(CLEAVE_MEMORY_HOST, 20, 0, 0, nullptr, host), 0);
        EXPECT_EQ(both.pin({}, &host, sizeof host, 0, pinned), 0);
        EXPECT_EQ(pinned.pointer, &host);
        cleave_memory_export exported{};
        EXPECT_EQ(both.export_ipc(device, exported), ENOTSUP) << "only its own manager knows it";
        EXPECT_EQ(both.export_ipc(host, exported), 0);
        EXPECT_EQ(exported.offset, 42U);
        EXPECT_EQ(both.release(host, nullptr), 0);
        EXPECT_EQ(both.release(pinned, nullptr), 0);
        EXPECT_EQ(both.release(device, nullptr), 0);
        EXPECT_EQ(both.defer_cleanup_begin(), 0);
        EXPECT_EQ(both.defer_cleanup_end(), 0);
        other->begin_error = ENOMEM;
        EXPECT_EQ(both.defer_cleanup_begin(), ENOMEM);
        EXPECT_EQ(both.reset(), 0);
    }
    EXPECT_EQ(first, (Log{"initialize 3", "allocate 10 at 256", "release on 0, wiped", "begin", "end", "begin", "end",
                          "reset, wiped", "destroy"}));
    EXPECT_EQ(second, (Log{"initialize 3", "allocate 20 at 64", "pin", "release on 0, wiped", "release on 0, wiped",
                           "begin", "end", "begin", "reset, wiped", "destroy"}));
}

TEST(MemoryCompletion, IsStreamOrderedIfTheChosenOneIs) {
    for (const std::uint32_t ordered : {0U, CLEAVE_MEMORY_IS_STREAM_ORDERED}) {
        Log log;
        const auto manager = MemoryManager::adopt((new Scripted(CLEAVE_MEMORY_CAN_DEVICE | ordered, log))->face());
        EXPECT_EQ(manager->manager().capabilities & CLEAVE_MEMORY_IS_STREAM_ORDERED, ordered);
    }
}

TEST(MemoryTest, MovesAndReleases) {
    const auto manager = MemoryManager::open("pool:64K");
    const auto used = [&] { return manager->pool_statistics()->used_size; };
    Memory first = manager->allocate({.size = 1000});
    Memory second = std::move(first);
    EXPECT_EQ(first.data(), nullptr);  // NOLINT(bugprone-use-after-move): the state after a move is promised
    EXPECT_EQ(first.size(), 0U);
    EXPECT_EQ(used(), 1024U);
    Memory third = manager->allocate({.size = 2000});
    EXPECT_EQ(used(), 3072U);
    third = std::move(second);
    EXPECT_EQ(used(), 1024U) << "what it held was released";
    Memory& same = third;
    third = std::move(same);
    EXPECT_EQ(used(), 1024U);
    std::memset(third.data(), 1, third.size());
    third = Memory();
    EXPECT_EQ(used(), 0U);
    EXPECT_EQ(manager->pool_statistics()->peak_size, 3072U);
}

TEST(MemoryTest, FaultsOfTheCaller) {
    const auto manager = MemoryManager::open("system");
    const std::string text = "invalid: memory: an alignment, space or flag that does not exist";
    EXPECT_EQ(failure_of_allocate(*manager, {.size = 1, .alignment = 3}), text);
    EXPECT_EQ(failure_of_allocate(*manager, {.size = 1, .space = static_cast<MemorySpace>(9)}), text);
    EXPECT_EQ(failure_of_allocate(*manager, {.size = 1, .flags = 1U << 20}), text);
}

TEST(MemoryTest, ErrorsSayHowMuchWasAsked) {
    const auto manager = MemoryManager::open("system");
    EXPECT_EQ(failure_of_allocate(*manager, {.size = SIZE_MAX}),
              "out of memory: memory manager system has no 18446744073709551615 bytes");
    EXPECT_EQ(failure_of_allocate(*manager, {.size = 1, .space = MemorySpace::kDevice}),
              "memory manager system: has no memory of this kind");
    const MemoryError error("x", ENOMEM, 5);
    const MemoryError copy = error;  // NOLINT(performance-unnecessary-copy-initialization): copies are what is tested
    EXPECT_STREQ(copy.what(), "out of memory: memory manager x has no 5 bytes");
}

TEST(MemoryTest, TheDefaultIsSystem) {
    EXPECT_EQ(MemoryManager::or_default(nullptr)->name(), "system");
    const auto pool = MemoryManager::open("pool");
    EXPECT_EQ(MemoryManager::or_default(pool), pool);
}

struct Released {
    Released* next_pending = nullptr;
    std::size_t held = 0;
};

TEST(DeferredReleasesTest, AreDueByNumber) {
    DeferredReleases<Released> pending;
    std::array<Released, 11> blocks{};
    for (std::size_t i = 0; i < 10; ++i) {
        blocks.at(i).held = 1;
        pending.add(blocks.at(i));
        EXPECT_FALSE(pending.is_due(1'000'000)) << i;
    }
    pending.add(blocks[10]);
    EXPECT_TRUE(pending.is_due(1'000'000));
    std::size_t count = 0;
    pending.flush([&](Released&) { ++count; });
    EXPECT_EQ(count, 11U);
    EXPECT_TRUE(pending.is_empty());
    EXPECT_FALSE(pending.is_due(1'000'000));
}

TEST(DeferredReleasesTest, AreDueByShare) {
    DeferredReleases<Released> pending;
    Released block{nullptr, 200};
    pending.add(block);
    EXPECT_FALSE(pending.is_due(1000)) << "20 %";
    EXPECT_TRUE(pending.is_due(900)) << "more than 20 %";
    EXPECT_EQ(pending.size(), 200U);
    pending.flush([](Released&) {});
    EXPECT_EQ(pending.size(), 0U);
}

TEST(DeferredReleasesTest, ArePutOffBetweenBeginAndEnd) {
    DeferredReleases<Released> pending;
    Released block{nullptr, 200};
    pending.add(block);
    EXPECT_FALSE(pending.end());
    pending.begin();
    pending.begin();
    EXPECT_FALSE(pending.is_due(1));
    EXPECT_TRUE(pending.end());
    EXPECT_FALSE(pending.is_due(1));
    EXPECT_TRUE(pending.end());
    EXPECT_TRUE(pending.is_due(1));
    EXPECT_FALSE(pending.end());
}

// Whether the page is mapped in the process.
bool is_mapped(void* page) {
    unsigned char state = 0;
    return ::mincore(page, 1, &state) == 0;
}

class SystemManagerTest : public testing::Test {
protected:
    cleave_memory allocate(std::size_t size, std::uint32_t flags = 0) {
        cleave_memory memory{};
        EXPECT_EQ(manager_.allocate(CLEAVE_MEMORY_HOST, size, 0, flags, nullptr, memory), 0);
        return memory;
    }
    void release(const cleave_memory& memory) { EXPECT_EQ(manager_.release(memory, nullptr), 0); }

    static constexpr std::size_t kPage = 4096;
    SystemManager manager_{Pages::kSmall};
};

TEST_F(SystemManagerTest, GivesBackTheEleventhRelease) {
    const cleave_memory large = allocate(kPage << 10);
    std::vector<cleave_memory> small;
    small.reserve(11);
    for (int i = 0; i < 11; ++i) small.push_back(allocate(kPage));
    for (int i = 0; i < 10; ++i) release(small[static_cast<std::size_t>(i)]);
    EXPECT_TRUE(is_mapped(small[0].pointer));
    release(small[10]);
    for (const cleave_memory& memory : small) EXPECT_FALSE(is_mapped(memory.pointer));
    release(large);
    EXPECT_FALSE(is_mapped(large.pointer)) << "more than a fifth of what is held";
}

TEST_F(SystemManagerTest, GivesNothingBackBetweenBeginAndEnd) {
    EXPECT_EQ(manager_.defer_cleanup_begin(), 0);
    std::vector<cleave_memory> held;
    held.reserve(30);
    for (int i = 0; i < 30; ++i) held.push_back(allocate(kPage));
    for (const cleave_memory& memory : held) release(memory);
    for (const cleave_memory& memory : held) EXPECT_TRUE(is_mapped(memory.pointer));
    EXPECT_EQ(manager_.defer_cleanup_end(), 0);
    for (const cleave_memory& memory : held) EXPECT_FALSE(is_mapped(memory.pointer));
}

TEST_F(SystemManagerTest, WipesWhatWasUsedOfALargeSecretAndTakesNoMemoryForTheRest) {
    constexpr std::size_t kMiB = std::size_t{1} << 20;
    const cleave_memory memory = allocate(64 * kMiB, CLEAVE_MEMORY_SECRET);
    auto* const bytes = static_cast<std::uint8_t*>(memory.pointer);
    const std::array<std::size_t, 6> used = {0, 4 * kMiB - 1, 4 * kMiB, 40 * kMiB + 5, 50 * kMiB, 64 * kMiB - 1};
    for (const std::size_t at : used) bytes[at] = 1;
    const auto resident = [] {
        std::size_t mapped = 0;
        std::size_t pages = 0;
        std::ifstream("/proc/self/statm") >> mapped >> pages;
        return pages * kPage;
    };
    [[maybe_unused]] const std::size_t before = resident();
    EXPECT_EQ(manager_.defer_cleanup_begin(), 0);
    release(memory);
    for (const std::size_t at : used) EXPECT_EQ(bytes[at], 0) << at;
#ifndef CLEAVE_SANITIZED  // a sanitizer's notes about the bytes read take memory, too
    EXPECT_LT(resident(), before + 16 * kMiB);
#endif
    EXPECT_EQ(manager_.defer_cleanup_end(), 0);
}

#ifndef CLEAVE_SANITIZED
TEST_F(SystemManagerTest, GivesBackWhatIsPendingWhenMemoryRunsOut) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        constexpr std::size_t kSize = std::size_t{256} << 20;
        std::size_t pages = 0;  // that are mapped
        std::ifstream("/proc/self/statm") >> pages;
        const rlim_t most = pages * kPage + 3 * kSize / 2;
        const rlimit limit{most, most};
        cleave_memory memory{};
        const auto try_allocate = [&] { return manager_.allocate(CLEAVE_MEMORY_HOST, kSize, 0, 0, nullptr, memory); };
        if (::setrlimit(RLIMIT_AS, &limit) != 0) ::_exit(1);
        manager_.defer_cleanup_begin();
        if (try_allocate() != 0) ::_exit(2);
        if (try_allocate() != ENOMEM) ::_exit(3);
        manager_.release(memory, nullptr);
        ::_exit(try_allocate() == 0 ? 0 : 4);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << WEXITSTATUS(status);
}
#endif

TEST(MemoryManagerTest, HugePagesBeginAtMultiplesOfTheirSize) {
    const auto manager = MemoryManager::open("huge");
    const Memory memory = manager->allocate({.size = std::size_t{5} << 20});
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.data()) % (std::size_t{2} << 20), 0U);
    const Memory asked =
        MemoryManager::open("system")->allocate({.size = std::size_t{5} << 20, .flags = CLEAVE_MEMORY_HUGE});
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(asked.data()) % (std::size_t{2} << 20), 0U);
}

}  // namespace cleave::memory_test
