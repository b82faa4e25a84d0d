#include "features/redact/stage/keys.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "cleave/error.h"
#include "cleave/stage_error.h"
#include "core/reader/fd.h"
#include "features/redact/stage/key_versions.h"
#include "features/redact/stage/mac.h"

namespace cleave {
namespace {

// A wait with this never times out.
constexpr std::chrono::milliseconds kForever{-1};

[[noreturn]] void refuse(const KeySource& source, const std::string& reason) {
    throw RuleError(reason, "--key", source.text, source.name.size() + 1);
}

bool is_name(std::string_view text) {
    constexpr std::string_view kBytes = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.";
    return !text.empty() && text.find_first_not_of(kBytes) == std::string_view::npos;
}

// Refuses an access control list that grants rights to named users or groups. The file's mode does not show these
// rights: its group bits are then only an upper limit for them. The layout is described in <linux/posix_acl_xattr.h>,
// little-endian.
void judge_acl(int descriptor, const KeySource& source, const std::string& name) {
    constexpr const char* kAttribute = "system.posix_acl_access";
    constexpr std::size_t kHeadSize = 4;
    constexpr std::size_t kEntrySize = 8;  // a 2-byte tag, 2 bytes of rights, and an id
    constexpr unsigned kNamedUser = 0x02;
    constexpr unsigned kNamedGroup = 0x08;
    constexpr unsigned kMask = 0x10;
    std::array<std::uint8_t, 65536> bytes;  // the largest possible attribute
    const ::ssize_t size = ::fgetxattr(descriptor, kAttribute, bytes.data(), bytes.size());
    if (size < 0 && (errno == ENODATA || errno == ENOTSUP)) return;
    if (size < 0) throw_errno(name);
    unsigned named = 0;
    unsigned mask = 07;
    for (std::size_t at = kHeadSize; at + kEntrySize <= static_cast<std::size_t>(size); at += kEntrySize) {
        const unsigned tag = bytes[at] | static_cast<unsigned>(bytes[at + 1]) << 8;
        const unsigned rights = bytes[at + 2];
        if (tag == kNamedUser || tag == kNamedGroup) named |= rights;
        if (tag == kMask) mask = rights;
    }
    if ((named & mask) != 0) refuse(source, "an ACL lets other users read or write the key; setfacl -b removes it");
}

// Refuses the key if it is neither in a file nor in a pipe, or if anyone but the caller, root and readers in the file's
// group could have read or written it.
void judge(const struct stat& status, const KeySource& source) {
    if (!S_ISREG(status.st_mode) && !S_ISFIFO(status.st_mode)) refuse(source, "neither a file nor a pipe");
    if (status.st_uid != ::geteuid() && status.st_uid != 0) refuse(source, "the key belongs to another user");
    if ((status.st_mode & S_IRWXO) != 0) refuse(source, "other users can read or write the key; chmod 600 prevents it");
    if ((status.st_mode & S_IWGRP) != 0) refuse(source, "the group can write the key; chmod 600 prevents it");
}

bool is_same_moment(const timespec& a, const timespec& b) { return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec; }

bool is_unchanged(const struct stat& before, const struct stat& after) {
    return before.st_size == after.st_size && is_same_moment(before.st_mtim, after.st_mtim) &&
           is_same_moment(before.st_ctim, after.st_ctim);
}

[[noreturn]] void refuse_long(const KeySource& source) {
    refuse(source, "the key has more than " + std::to_string(kMaxKeySize) + " bytes");
}

void wait_for_bytes(int descriptor, std::chrono::milliseconds patience, const std::string& name) {
    using std::chrono::steady_clock;
    const auto end = steady_clock::now() + patience;
    for (;;) {
        int wait_ms = -1;
        if (patience != kForever) {
            const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - steady_clock::now());
            wait_ms = static_cast<int>(std::max<std::int64_t>(left.count(), 0));
        }
        pollfd wait{descriptor, POLLIN, 0};
        const int ready = ::poll(&wait, 1, wait_ms);
        if (ready > 0) return;
        if (ready == 0) throw SystemError(ETIMEDOUT, std::generic_category(), name);
        if (errno != EINTR) throw_errno(name);
    }
}

// Reads to the end. The memory doubles as needed, although most keys fit into a page.
SecretKey read_all(int descriptor, std::chrono::milliseconds patience, const KeySource& source,
                   const std::string& name) {
    SecretKey key{SecretMemory(1), 0};
    for (;;) {
        if (key.size > kMaxKeySize) refuse_long(source);
        if (key.size == key.memory.bytes().size()) {
            SecretMemory larger(2 * key.size);
            std::ranges::copy(key.bytes(), larger.bytes().begin());
            key.memory = std::move(larger);
        }
        // Waits first, because if nobody has opened a named pipe for writing yet, read() would report its end.
        wait_for_bytes(descriptor, patience, name);
        const auto rest = key.memory.bytes().subspan(key.size);
        const ssize_t size = ::read(descriptor, rest.data(), rest.size());
        if (size == 0) return key;
        if (size > 0) key.size += static_cast<std::size_t>(size);
        if (size < 0 && errno != EAGAIN && errno != EINTR) throw_errno(name);
    }
}

SecretKey read_opened(int descriptor, std::chrono::milliseconds patience, const KeySource& source,
                      const std::string& name) {
    const struct stat before = stat_of(descriptor, name);
    judge(before, source);
    judge_acl(descriptor, source, name);
    SecretKey key = read_all(descriptor, patience, source, name);
    if (S_ISREG(before.st_mode) && !is_unchanged(before, stat_of(descriptor, name))) {
        refuse(source, "the file was modified while it was read");
    }
    return key;
}

std::string path_of(const KeySource& source) {
    if (source.version == 0) return source.where;
    std::optional<std::string> found = path_of_version(source.where, source.version);
    if (!found) refuse(source, "the key has no version " + std::to_string(source.version));
    return std::move(*found);
}

SecretKey read_file(const KeySource& source, std::chrono::milliseconds patience) {
    for (;;) {
        const std::string path = path_of(source);
        // Without O_NONBLOCK, opening a named pipe waits for a writer.
        const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
        if (!file.is_open()) throw_errno(path);
        // A rotation in the meantime may have given the version another name, and its old name to a new version.
        if (path_of(source) == path) return read_opened(file.get(), patience, source, path);
    }
}

SecretKey read_descriptor(const KeySource& source) {
    int number = -1;
    const char* const end = source.where.data() + source.where.size();
    const auto [parsed, error] = std::from_chars(source.where.data(), end, number);
    if (error != std::errc() || parsed != end || number < 0) refuse(source, "fd: needs the number of a descriptor");
    if (number <= STDERR_FILENO) refuse(source, "descriptors 0, 1 and 2 are the standard streams");
    if (::fcntl(number, F_GETFD) < 0) refuse(source, "the descriptor is not open");
    Fd descriptor(number);
    SecretKey key = read_opened(number, kForever, source, "descriptor " + source.where);
    descriptor.close("descriptor " + source.where);
    return key;
}

SecretKey read_environment(const KeySource& source) {
    char* const value = ::getenv(source.where.c_str());
    if (value == nullptr) refuse(source, "the variable is not set");
    const std::size_t size = ::strlen(value);
    SecretKey key;
    if (size <= kMaxKeySize) {
        key = {SecretMemory(size), size};
        std::copy_n(value, size, key.memory.bytes().begin());
    }
    ::explicit_bzero(value, size);
    ::unsetenv(source.where.c_str());
    if (size > kMaxKeySize) refuse_long(source);
    return key;
}

SecretKey copy_of(std::span<const std::uint8_t> bytes, const KeySource& source) {
    if (bytes.size() > kMaxKeySize) refuse_long(source);
    SecretKey key{SecretMemory(bytes.size()), bytes.size()};
    std::ranges::copy(bytes, key.memory.bytes().begin());
    return key;
}

SecretKey checked(SecretKey key, const KeySource& source) {
    if (key.size < kMinKeySize) {
        refuse(source,
               "the key has " + std::to_string(key.size) + " bytes; it needs at least " + std::to_string(kMinKeySize));
    }
    const auto bytes = key.bytes();
    if (std::ranges::all_of(bytes, [&](std::uint8_t byte) { return byte == bytes[0]; })) {
        refuse(source, "all bytes of the key are equal; cleave key new makes a key");
    }
    return key;
}

// Separates the version from the path, the variable or the number.
void split_version(KeySource& source) {
    if (source.kind != KeySource::Kind::kFile) {
        source.version = take_version(source.where);
        return;
    }
    try {
        KeyFile file = file_source(source.where);
        source.where = std::move(file.path);
        source.version = file.version;
    } catch (const ArgumentError& error) {
        refuse(source, error.what());
    }
}

std::string id_of(std::span<const std::uint8_t> key) {
    constexpr std::size_t kSize = 8;
    return labelled_mac_hex(key, "cleave key id 1", "", kSize);
}

}  // namespace

KeySource parse_key_source(const std::string& text) {
    const std::size_t equals = text.find('=');
    const std::size_t colon = equals == std::string::npos ? equals : text.find(':', equals);
    if (colon != std::string::npos) {
        KeySource source{text.substr(0, equals), {}, text.substr(colon + 1), text};
        const std::string kind = text.substr(equals + 1, colon - equals - 1);
        bool is_known = true;
        if (kind == "file") {
            source.kind = KeySource::Kind::kFile;
        } else if (kind == "env") {
            source.kind = KeySource::Kind::kEnvironment;
        } else if (kind == "fd") {
            source.kind = KeySource::Kind::kDescriptor;
        } else {
            is_known = false;
        }
        if (is_known && is_name(source.name) && !source.where.empty()) {
            split_version(source);
            return source;
        }
    }
    throw RuleError(
        "a key is given as NAME=file:PATH, NAME=env:VARIABLE or NAME=fd:N; a name has letters, digits, \"_\", \"-\" "
        "and \".\"",
        "--key", "", 0);
}

KeySource given_source(const std::string& name) {
    if (!is_name(name)) {
        throw RuleError(R"(the name of a key has letters, digits, "_", "-" and ".")", "--key", name, 0);
    }
    return {name, KeySource::Kind::kGiven, {}, name + "=bytes"};
}

SecretKey read_key(const KeySource& source, std::chrono::milliseconds patience) {
    switch (source.kind) {
        case KeySource::Kind::kFile: return checked(read_file(source, patience), source);
        case KeySource::Kind::kEnvironment: return checked(read_environment(source), source);
        case KeySource::Kind::kDescriptor: return checked(read_descriptor(source), source);
        case KeySource::Kind::kGiven: break;  // see copy_key()
    }
    throw ArgumentError("the bytes of the key are given, not read");
}

SecretKey copy_key(const KeySource& source, std::span<const std::uint8_t> bytes) {
    return checked(copy_of(bytes, source), source);
}

std::size_t KeyRing::Keys::index_of(std::string_view name) const {
    const auto found = std::ranges::find(names, name);
    if (found == names.end()) throw ArgumentError("no key has the name \"" + std::string(name) + "\"");
    return static_cast<std::size_t>(found - names.begin());
}

KeyRing::KeyRing(std::span<const std::string> sources, std::span<const NamedKey> given, std::uint32_t patience_ms)
    : keys_(std::make_unique<Keys>()) {
    const std::chrono::milliseconds patience(patience_ms);
    const auto add = [&](const KeySource& source, const auto& read) {
        if (std::ranges::find(keys_->names, source.name) != keys_->names.end()) {
            throw RuleError("two keys have the name \"" + source.name + "\"", "--key", source.text, 0);
        }
        SecretKey key = read(source);
        keys_->ids.push_back(id_of(key.bytes()));
        keys_->names.push_back(source.name);
        keys_->versions.push_back(source.version);
        keys_->keys.push_back(std::move(key));
    };
    for (const std::string& text : sources) {
        add(parse_key_source(text), [&](const KeySource& source) { return read_key(source, patience); });
    }
    for (const NamedKey& key : given) {
        add(given_source(key.name), [&](const KeySource& source) { return copy_key(source, key.bytes); });
    }
}

KeyRing::KeyRing(KeyRing&&) noexcept = default;
KeyRing& KeyRing::operator=(KeyRing&&) noexcept = default;
KeyRing::~KeyRing() = default;

const std::vector<std::string>& KeyRing::names() const noexcept { return keys_->names; }

std::uint64_t KeyRing::version(std::string_view name) const { return keys_->versions[keys_->index_of(name)]; }

const std::string& KeyRing::id(std::string_view name) const { return keys_->ids[keys_->index_of(name)]; }

}  // namespace cleave
