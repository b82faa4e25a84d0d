// Keys: where they come from, which ones are refused and what remains of them; and the tokens that they produce.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <system_error>
#include <thread>
#include <tuple>
#include <vector>

#include "cleave/keys.h"
#include "features/redact/stage/encodings.h"
#include "features/redact/stage/hasher.h"
#include "features/redact/stage/key_versions.h"
#include "features/redact/stage/mac.h"
#include "inputs.h"
#include "rows/memory/secret_memory.h"
#include "temporary_directory.h"

namespace cleave::test::keys_test {

const std::string kKey = "0123456789abcdef0123456789abcdef";

std::string hex(std::span<const std::uint8_t> bytes) {
    std::string text(2 * bytes.size(), '\0');
    write_hex(bytes.data(), bytes.size(), reinterpret_cast<std::uint8_t*>(text.data()));
    return text;
}

std::string unhex(std::string_view text) {
    std::string bytes;
    for (std::size_t i = 0; i < text.size(); i += 2) {
        bytes += static_cast<char>(std::stoul(std::string(text.substr(i, 2)), nullptr, 16));
    }
    return bytes;
}

std::string mac_of(std::string_view key, std::string_view text) {
    SecretMemory memory(sizeof(MacState));
    auto& state = *std::construct_at(reinterpret_cast<MacState*>(memory.bytes().data()));
    set_key(state, bytes_of(key));
    std::array<std::uint8_t, kMacSize> mac;
    // Computed twice: a state that has produced a MAC is ready for the next one. The second time, the text comes in two
    // parts.
    compute_mac(state, {bytes_of(text)}, mac.data());
    const std::string first = hex(mac);
    compute_mac(state, {bytes_of(text.substr(0, text.size() / 2)), bytes_of(text.substr(text.size() / 2))}, mac.data());
    EXPECT_EQ(hex(mac), first);
    return first;
}

TEST(Mac, VectorsOfRfc4231) {
    EXPECT_EQ(mac_of(std::string(20, '\x0b'), "Hi There"),
              "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    EXPECT_EQ(mac_of("Jefe", "what do ya want for nothing?"),
              "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    EXPECT_EQ(mac_of(std::string(20, '\xaa'), std::string(50, '\xdd')),
              "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
    EXPECT_EQ(mac_of(unhex("0102030405060708090a0b0c0d0e0f10111213141516171819"), std::string(50, '\xcd')),
              "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b");
    EXPECT_EQ(mac_of(std::string(20, '\x0c'), "Test With Truncation").substr(0, 32),
              "a3b6167473100ee06e0c796c2955552b");
    EXPECT_EQ(mac_of(std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First"),
              "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
    EXPECT_EQ(
        mac_of(std::string(131, '\xaa'),
               "This is a test using a larger than block-size key and a larger than block-size data. The key needs "
               "to be hashed before being used by the HMAC algorithm."),
        "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2");
}

TEST(SecretMemory, IsZeroLockedAndNotInheritedByChildren) {
    SecretMemory memory(5000);
    ASSERT_GE(memory.bytes().size(), 5000U);
    for (const std::uint8_t byte : memory.bytes()) ASSERT_EQ(byte, 0);
    memory.bytes()[4999] = 7;
    const pid_t child = ::fork();
    if (child == 0) ::_exit(memory.bytes()[4999]);
    int status = 1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);

    // The flags of the mapping: lo is locked, dd is not dumped, wf is wiped on fork.
    std::ifstream maps("/proc/self/smaps");
    std::ostringstream begin;
    begin << std::hex << reinterpret_cast<std::uintptr_t>(memory.bytes().data()) << '-';
    std::string line;
    std::string flags;
    for (bool is_here = false; std::getline(maps, line);) {
        is_here = is_here || line.starts_with(begin.str());
        if (!is_here || !line.starts_with("VmFlags:")) continue;
        flags = line + " ";
        break;
    }
    if (flags.empty()) GTEST_SKIP() << "no flags of mappings here, or mappings are joined";
    // The address sanitizer disables mlock().
    if (!kSanitized) {
        EXPECT_NE(flags.find(" lo "), std::string::npos) << flags;
    }
    for (const char* flag : {" dd ", " wf "}) EXPECT_NE(flags.find(flag), std::string::npos) << flags;
}

TEST(SecretMemory, NamesTheLimit) {
    if (kSanitized) GTEST_SKIP() << "the address sanitizer makes mlock() do nothing";
    const auto lock = [] {
        const rlimit none{0, 0};
        ::setrlimit(RLIMIT_MEMLOCK, &none);
        if (::geteuid() == 0 && ::setresuid(65534, 65534, 65534) != 0) ::_exit(3);
        try {
            const SecretMemory memory(1);
        } catch (const std::system_error& error) {
            ::_exit(std::strstr(error.what(), "RLIMIT_MEMLOCK: 0 bytes") != nullptr ? 0 : 1);
        }
        ::_exit(2);
    };
    EXPECT_EXIT(lock(), testing::ExitedWithCode(0), "");
}

class Keys : public testing::Test {
protected:
    // The default patience is long, because a busy machine may delay a writer.
    static KeyRing ring_of(const std::string& source, std::uint32_t patience_ms = 3'600'000) {
        return KeyRing(std::vector{source}, {}, patience_ms);
    }

    std::string file(std::string_view name, std::string_view bytes, mode_t mode = 0600) const {
        std::string path = directory_.write(name, bytes);
        EXPECT_EQ(::chmod(path.c_str(), mode), 0);
        return path;
    }

    // Returns the reason. Nothing in the error may contain a part of a key.
    static std::string reason(const std::string& source) {
        try {
            ring_of(source, 20);
        } catch (const RuleError& error) {
            const std::string all = std::string(error.what()) + error.origin() + error.text();
            EXPECT_EQ(all.find("012345"), std::string::npos) << all;
            EXPECT_EQ(error.origin(), "--key");
            return error.what();
        } catch (const std::system_error& error) {
            return error.what();
        }
        return "taken";
    }

    static std::string token(const KeyRing& ring, const std::string& name, const std::string& context,
                             std::string_view value) {
        KeyUses uses(ring.names());
        EXPECT_EQ(uses.add({name, context}), 0U);
        Hasher hasher(ring, uses);
        std::array<std::uint8_t, 32> digest;
        hasher.token(0, {bytes_of(value).data(), value.size()}, digest.data());
        return hex(digest);
    }

    TemporaryDirectory directory_;
};

TEST_F(Keys, AreTakenVerbatim) {
    std::string long_key(65536, 'k');
    long_key[65535] = '\n';
    long_key[0] = '\0';
    for (const std::string& key :
         {kKey, kKey + "\n", kKey + std::string(4064, 'x'), kKey + std::string(4065, 'x'), long_key}) {
        const KeyRing ring = ring_of("a=file:" + file("key", key));
        EXPECT_EQ(token(ring, "a", "", "value"), mac_of(key, "value")) << key.size();
    }
    EXPECT_EQ(ring_of("a=file:" + file("key", kKey)).id("a"), "60afabb072a7c375");
    EXPECT_EQ(mac_of(kKey,
                     "\xFF"
                     "cleave key id 1")
                  .substr(0, 16),
              "60afabb072a7c375");
}

TEST_F(Keys, TokensOfContexts) {
    const std::string other = std::string(39, 'o') + 'p';
    const std::vector<std::string> sources = {"a=file:" + file("a", kKey), "b-2.c_=file:" + file("b", other, 0440)};
    KeyRing ring(sources);
    EXPECT_EQ(ring.names(), (std::vector<std::string>{"a", "b-2.c_"}));
    const std::string derived = unhex(mac_of(kKey,
                                             "\xFF"
                                             "cleave context 1mails"));
    EXPECT_EQ(token(ring, "a", "mails", "ann"), mac_of(derived, "ann"));
    EXPECT_EQ(token(ring, "a", "", "ann"), mac_of(kKey, "ann"));
    EXPECT_THROW(ring.id("c"), std::invalid_argument);

    KeyUses uses(ring.names());
    EXPECT_EQ(uses.add({"b-2.c_", ""}), 0U);
    EXPECT_EQ(uses.add({"a", "mails"}), 1U);
    EXPECT_EQ(uses.add({"a", ""}), 2U);
    Hasher first(ring, uses);
    Hasher hasher = std::move(first);
    { const KeyRing gone = std::move(ring); }
    std::array<std::uint8_t, 32> digest;
    Random random(3);
    for (unsigned round = 0; round < 300; ++round) {
        const std::string value = random_noise(random, "aB\xFF", random.below(200));
        const std::size_t use = random.below(3);
        const std::string& key = use == 0 ? other : use == 1 ? derived : kKey;
        hasher.token(static_cast<std::uint32_t>(use), {bytes_of(value).data(), value.size()}, digest.data());
        ASSERT_EQ(hex(digest), mac_of(key, value));
    }
    KeyUses unknown({"x"});
    EXPECT_EQ(unknown.add({"x", ""}), 0U);
    EXPECT_THROW(Hasher(ring_of("a=file:" + file("a", kKey)), unknown), std::invalid_argument);
}

TEST_F(Keys, HaveVersions) {
    const std::string path = file("k", kKey);
    const std::string old = file("k.v1", std::string(32, 'x') + "y");
    file("k.v0", kKey);
    file("k.v01", kKey);
    file("k.vx", kKey);
    file("other.v7", kKey);
    EXPECT_EQ(ring_of("a=file:" + path).version("a"), 0U);
    EXPECT_EQ(ring_of("a=file:" + path + "@2").version("a"), 2U);
    EXPECT_EQ(ring_of("a=file:" + path + "@2").id("a"), ring_of("a=file:" + path).id("a"));
    EXPECT_EQ(ring_of("a=file:" + path + "@1").id("a"), ring_of("a=file:" + old).id("a"));
    EXPECT_EQ(reason("a=file:" + path + "@3"), "the key has no version 3");
    // Nothing but a number from 1 is a version.
    for (const char* other : {"@0", "@", "@1x", "@-1", "@01", "@1000000000"}) {
        EXPECT_NE(reason("a=file:" + path + other).find("No such file"), std::string::npos) << other;
    }
    const std::string lone = file("lone", kKey);
    EXPECT_EQ(ring_of("a=file:" + lone + "@1").version("a"), 1U);
    EXPECT_EQ(reason("a=file:" + lone + "@2"), "the key has no version 2");
    // Elsewhere a version is only recorded.
    ::setenv("KEYS_TEST", kKey.c_str(), 1);
    EXPECT_EQ(ring_of("a=env:KEYS_TEST@5").version("a"), 5U);
    const int descriptor = ::open(lone.c_str(), O_RDONLY);
    EXPECT_EQ(ring_of("a=fd:" + std::to_string(descriptor) + "@999999999").version("a"), 999'999'999U);
    EXPECT_THROW(std::ignore = ring_of("a=file:" + lone).version("b"), std::invalid_argument);
}

TEST_F(Keys, AFileWhoseNameEndsInANumberIsThatFile) {
    const std::string path = file("k@2", kKey);
    const KeyRing ring = ring_of("a=file:" + path);
    EXPECT_EQ(ring.version("a"), 0U);
    EXPECT_EQ(ring.id("a"), "60afabb072a7c375");
    EXPECT_EQ(ring_of("a=file:" + path + "@1").version("a"), 1U);
    const std::string other = file("k", kKey + "x");
    EXPECT_EQ(reason("a=file:" + path), path + ": there is a file with this name, and also a key " + other +
                                            " of which it may be a version; rename one of them");
    EXPECT_EQ(ring_of("a=file:" + other + "@1").version("a"), 1U);
    ::unlink(path.c_str());
    EXPECT_EQ(reason("a=file:" + path), "the key has no version 2");
}

// (number, name, whether it is in use) of each version.
std::string shown(const std::vector<KeyVersion>& versions) {
    std::string text;
    for (const KeyVersion& version : versions) {
        text += std::to_string(version.number) + " " + version.path.substr(version.path.rfind('/') + 1) +
                (version.is_in_use ? " used\n" : "\n");
    }
    return text;
}

TEST_F(Keys, VersionsAreLinks) {
    const std::string path = file("k", kKey);
    const auto link = [&](const std::string& from, const std::string& to) {
        EXPECT_EQ(::link(directory_.path(from).c_str(), directory_.path(to).c_str()), 0);
    };
    EXPECT_EQ(shown(versions_of_key(path)), "1 k used\n");
    link("k", "k.v1");
    EXPECT_EQ(shown(versions_of_key(path)), "1 k.v1 used\n");
    // A rotation that was killed before it replaced the key.
    file("k.v2", kKey + "2");
    EXPECT_EQ(shown(versions_of_key(path)), "1 k.v1 used\n2 k.v2\n");
    EXPECT_EQ(path_of_version(path, 2), directory_.path("k.v2"));
    EXPECT_EQ(path_of_version(path, 3), std::nullopt);
    file("k.v10", kKey + "10");
    EXPECT_EQ(::unlink(path.c_str()), 0);
    link("k.v10", "k");
    EXPECT_EQ(shown(versions_of_key(path)), "1 k.v1\n2 k.v2\n10 k.v10 used\n");
    // As rotations wrote them before the newest version was a link, and as a copy without links has them.
    EXPECT_EQ(::unlink(path.c_str()), 0);
    file("k", kKey + "11");
    EXPECT_EQ(shown(versions_of_key(path)), "1 k.v1\n2 k.v2\n10 k.v10\n11 k used\n");
    EXPECT_EQ(ring_of("a=file:" + path + "@11").id("a"), ring_of("a=file:" + path).id("a"));

    const TemporaryDirectory other;
    const std::string leads = other.path("link");
    ASSERT_EQ(::symlink(path.c_str(), leads.c_str()), 0);
    EXPECT_EQ(shown(versions_of_key(leads)), shown(versions_of_key(path)));
    EXPECT_EQ(ring_of("a=file:" + leads + "@2").id("a"), ring_of("a=file:" + directory_.path("k.v2")).id("a"));
}

TEST_F(Keys, OfTheEnvironmentAreWiped) {
    ::setenv("KEYS_TEST", kKey.c_str(), 1);
    const char* const place = ::getenv("KEYS_TEST");
    const KeyRing ring = ring_of("a=env:KEYS_TEST");
    EXPECT_EQ(token(ring, "a", "", "v"), mac_of(kKey, "v"));
    EXPECT_EQ(::getenv("KEYS_TEST"), nullptr);
    for (std::size_t i = 0; i < kKey.size(); ++i) EXPECT_EQ(place[i], '\0');
    EXPECT_EQ(reason("a=env:KEYS_TEST"), "the variable is not set");

    for (const std::size_t size : {31UL, 65537UL}) {
        ::setenv("KEYS_TEST", std::string(size, '0').c_str(), 1);
        EXPECT_EQ(reason("a=env:KEYS_TEST"),
                  size == 31 ? "the key has 31 bytes; it needs at least 32" : "the key has more than 65536 bytes");
        EXPECT_EQ(::getenv("KEYS_TEST"), nullptr);
    }
}

TEST_F(Keys, OfDescriptorsAreReadToTheEndAndClosed) {
    std::array<int, 2> ends;
    ASSERT_EQ(::pipe(ends.data()), 0);
    std::thread writer([&] {
        for (const char byte : kKey) {  // each is read alone
            EXPECT_EQ(::write(ends[1], &byte, 1), 1);
            for (int unread = 1; unread > 0;) EXPECT_EQ(::ioctl(ends[1], FIONREAD, &unread), 0);
        }
        ::close(ends[1]);
    });
    const KeyRing ring = ring_of("a=fd:" + std::to_string(ends[0]));
    writer.join();
    EXPECT_EQ(token(ring, "a", "", "v"), mac_of(kKey, "v"));
    EXPECT_EQ(::fcntl(ends[0], F_GETFD), -1);
    EXPECT_EQ(reason("a=fd:" + std::to_string(ends[0])), "the descriptor is not open");

    const int readable = ::open(file("open", kKey, 0644).c_str(), O_RDONLY);
    EXPECT_EQ(reason("a=fd:" + std::to_string(readable)),
              "other users can read or write the key; chmod 600 prevents it");
    for (const char* number : {"0", "1", "2"}) {
        EXPECT_EQ(reason(std::string("a=fd:") + number), "descriptors 0, 1 and 2 are the standard streams");
        EXPECT_NE(::fcntl(number[0] - '0', F_GETFD), -1);
    }
    for (const char* number : {"x", "3x", "-1", "99999999999"}) {
        EXPECT_EQ(reason(std::string("a=fd:") + number), "fd: needs the number of a descriptor");
    }
}

TEST_F(Keys, ThatAreGivenAreCopied) {
    const auto refusal = [](const std::vector<NamedKey>& given) {
        try {
            const KeyRing ring({}, given);
        } catch (const RuleError& error) {
            EXPECT_EQ(error.text().find(kKey.substr(0, 4)), std::string::npos);
            return std::string(error.what());
        }
        return std::string();
    };
    std::string largest(std::size_t{1} << 16, 'k');
    largest.back() = 'l';
    {
        std::string own = kKey;
        const std::vector<NamedKey> given = {{"b", bytes_of(own)}, {"c", bytes_of(largest)}};
        const std::vector<std::string> sources = {"a=file:" + file("a", kKey)};
        const KeyRing ring(sources, given);
        own.assign(own.size(), '?');
        EXPECT_EQ(ring.names(), (std::vector<std::string>{"a", "b", "c"}));
        EXPECT_EQ(token(ring, "b", "", "v"), mac_of(kKey, "v"));
        EXPECT_EQ(token(ring, "c", "", "v"), mac_of(largest, "v"));
        EXPECT_EQ(ring.id("a"), ring.id("b"));
    }
    largest += 'm';
    EXPECT_EQ(refusal({{"a", bytes_of(largest)}}), "the key has more than 65536 bytes");
    EXPECT_EQ(refusal({{"a", bytes_of(kKey).first(31)}}), "the key has 31 bytes; it needs at least 32");
    EXPECT_EQ(refusal({{"a", {}}}), "the key has 0 bytes; it needs at least 32");
    EXPECT_EQ(refusal({{"a", bytes_of(kKey)}, {"a", bytes_of(kKey)}}), "two keys have the name \"a\"");
    EXPECT_EQ(refusal({{"a b", bytes_of(kKey)}}), R"(the name of a key has letters, digits, "_", "-" and ".")");
}

TEST_F(Keys, FilesAreJudged) {
    EXPECT_EQ(reason("a=file:" + file("short", kKey.substr(1))), "the key has 31 bytes; it needs at least 32");
    EXPECT_EQ(reason("a=file:" + file("empty", "")), "the key has 0 bytes; it needs at least 32");
    EXPECT_EQ(reason("a=file:" + file("long", std::string(65537, '0'))), "the key has more than 65536 bytes");
    EXPECT_EQ(reason("a=file:" + file("longer", std::string(300'000, '0'))), "the key has more than 65536 bytes");
    for (const mode_t mode : {0604U, 0602U, 0601U, 0644U}) {
        EXPECT_EQ(reason("a=file:" + file("open", kKey, mode)),
                  "other users can read or write the key; chmod 600 prevents it");
    }
    EXPECT_EQ(reason("a=file:" + file("shared", kKey, 0620)), "the group can write the key; chmod 600 prevents it");
    EXPECT_EQ(reason("a=file:" + file("group", kKey, 0440)), "taken");
    EXPECT_EQ(reason("a=file:/dev/null"), "neither a file nor a pipe");
    EXPECT_EQ(reason("a=file:" + directory_.path("")), "neither a file nor a pipe");
    EXPECT_EQ(reason("a=file:" + directory_.path("none")), directory_.path("none") + ": No such file or directory");
    EXPECT_EQ(reason("a=file:" + file("same", std::string(32, 'k'))),
              "all bytes of the key are equal; cleave key new makes a key");
    EXPECT_EQ(reason("a=file:" + file("zeros", std::string(64, '\0'))),
              "all bytes of the key are equal; cleave key new makes a key");
    EXPECT_EQ(reason("a=file:" + file("nearly", std::string(32, 'k') + "l")), "taken");
    if (::geteuid() == 0) {
        const std::string path = file("foreign", kKey);
        ASSERT_EQ(::chown(path.c_str(), 12345, 0), 0);
        EXPECT_EQ(reason("a=file:" + path), "the key belongs to another user");
    }
}

// An ACL of the owner, one named user or group, the group, a mask and others, as setfacl writes it.
std::vector<std::uint8_t> acl(unsigned tag, unsigned rights, unsigned mask) {
    constexpr unsigned kOwner = 0x01;
    constexpr unsigned kGroup = 0x04;
    constexpr unsigned kMask = 0x10;
    constexpr unsigned kOthers = 0x20;
    constexpr unsigned kNobody = 0xFFFF'FFFF;
    std::vector<std::uint8_t> bytes;
    const auto add = [&](unsigned number, int size) {
        for (int i = 0; i < size; ++i) bytes.push_back(static_cast<std::uint8_t>(number >> (8 * i)));
    };
    const auto entry = [&](unsigned of, unsigned may, unsigned id) {
        add(of, 2);
        add(may, 2);
        add(id, 4);
    };
    add(2, 4);  // the version
    entry(kOwner, 06, kNobody);
    if (tag == 0x02) entry(tag, rights, 12345);
    entry(kGroup, 0, kNobody);
    if (tag == 0x08) entry(tag, rights, 12345);
    entry(kMask, mask, kNobody);
    entry(kOthers, 0, kNobody);
    return bytes;
}

TEST_F(Keys, AnAclThatNamesOthersIsRefused) {
    const std::string path = file("listed", kKey);
    const auto reason_under = [&](const std::vector<std::uint8_t>& list) {
        EXPECT_EQ(::setxattr(path.c_str(), "system.posix_acl_access", list.data(), list.size(), 0), 0);
        return reason("a=file:" + path);
    };
    const auto empty = acl(0, 0, 0);
    if (::setxattr(path.c_str(), "system.posix_acl_access", empty.data(), empty.size(), 0) != 0) {
        ASSERT_EQ(errno, ENOTSUP);
        GTEST_SKIP() << "the file system has no ACLs";
    }
    const std::string refused = "an ACL lets other users read or write the key; setfacl -b removes it";
    for (const unsigned tag : {0x02U, 0x08U}) {
        EXPECT_EQ(reason_under(acl(tag, 04, 04)), refused);
        EXPECT_EQ(reason_under(acl(tag, 01, 05)), refused);
        EXPECT_EQ(reason_under(acl(tag, 0, 04)), "taken") << "no right";
        EXPECT_EQ(reason_under(acl(tag, 04, 0)), "taken") << "the mask takes the right away, as chmod 600 does";
    }
    EXPECT_EQ(reason_under(acl(0, 0, 04)), "taken");
}

TEST_F(Keys, AFileThatChangesIsRefused) {
    const std::string path = file("key", std::string(40'000, 'k'));
    std::atomic<bool> is_over = false;
    std::thread writer([&] {
        const int descriptor = ::open(path.c_str(), O_WRONLY | O_APPEND);
        for (unsigned i = 0; !is_over; ++i) {
            EXPECT_EQ(i % 20'000 == 0 ? ::ftruncate(descriptor, 40'000) : 0, 0);
            EXPECT_EQ(::write(descriptor, "k", 1), 1);
        }
        ::close(descriptor);
    });
    // Sooner or later a write happens during a read. If the change is not noticed, this never ends.
    while (reason("a=file:" + path) != "the file was modified while it was read") {
    }
    is_over = true;
    writer.join();
}

TEST_F(Keys, NamedPipes) {
    const std::string path = directory_.path("pipe");
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    EXPECT_EQ(reason("a=file:" + path), path + ": Connection timed out");
    std::thread writer([&] { std::ofstream(path) << kKey.substr(0, 8) << std::flush << kKey.substr(8); });
    const KeyRing ring = ring_of("a=file:" + path);
    writer.join();
    EXPECT_EQ(token(ring, "a", "", "v"), mac_of(kKey, "v"));
}

TEST_F(Keys, SyntaxIsJudgedAndNotShown) {
    const std::string usage =
        "a key is given as NAME=file:PATH, NAME=env:VARIABLE or NAME=fd:N; a name has letters, digits, \"_\", \"-\" "
        "and "
        "\".\"";
    for (const std::string source : {"", "012345", "a=012345", "a=text:012345", "=file:/012345", "a b=env:012345",
                                     "a=file:", "a=env:", "a=fd:", "012345=", "a:file=012345"}) {
        EXPECT_EQ(reason(source), usage) << source;
    }
    const std::string one = "a=file:" + file("key", kKey);
    EXPECT_THROW(KeyRing(std::vector{one, one}), RuleError);
    EXPECT_TRUE(KeyRing(std::vector<std::string>{}).names().empty());
}

}  // namespace cleave::test::keys_test
