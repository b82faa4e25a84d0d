// The file that holds a machine's profile: where it is, and whether someone else may have put it there.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <functional>
#include <system_error>

#include "base/text_bytes.h"
#include "cleave/error.h"
#include "cleave/experimental/machine_profile.h"
#include "core/reader/fd.h"
#include "features/gpu/profile_json.h"

namespace cleave {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 20;
constexpr std::size_t kMostName = 64;

std::string name_of(const MachineIdentity& identity) {
    std::string name;
    for (const char byte : identity.device.substr(0, kMostName)) {
        const bool is_plain =
            (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') || byte == '-';
        name += is_plain ? byte : '_';
    }
    return "machine-" + name + ".json";
}

// Whether the descriptor has the right type, and no other user could have created or written what it refers to.
bool is_ours(int descriptor, ::mode_t type) {
    struct stat status {};
    if (::fstat(descriptor, &status) != 0) return false;
    return (status.st_mode & S_IFMT) == type && status.st_uid == ::geteuid() &&
           (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

Fd open_folder(const std::string& folder) {
    return Fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

std::string absolute_variable(const char* name) {
    const char* const value = ::secure_getenv(name);
    return value != nullptr && value[0] == '/' ? value : "";
}

// Creates a file under an unused name that nobody could have prepared.
Fd make_temporary(int folder, std::string& name, const std::string& path) {
    std::array<std::uint64_t, 1> random{};
    for (int tries = 0; tries < 100; ++tries) {
        if (::getentropy(random.data(), sizeof random) != 0) throw_errno(path);
        const std::string candidate = "." + name + "." + std::to_string(random[0]);
        Fd fd(::openat(folder, candidate.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
        if (fd.is_open()) {
            name = candidate;
            return fd;
        }
        if (errno != EEXIST) break;
    }
    throw_errno(path);
}

constexpr const char* kNotMeasured = "not measured yet";

// Like read_profile(), but for a file in an open folder, and without setting the path.
ReadProfile read_file(int folder, const std::string& name, const MachineIdentity& identity) {
    const Fd file(::openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!file.is_open()) return unusable(errno == ENOENT ? kNotMeasured : "cannot be opened");
    if (!is_ours(file.get(), S_IFREG)) return unusable("is not safe");
    try {
        const std::string text = read_to_end(file.get(), kMostBytes, name);
        if (text.size() > kMostBytes) return unusable("is damaged");
        return parse_profile(text, identity);
    } catch (const std::system_error&) {
        return unusable("cannot be read");
    }
}

// Returns the profile, or the reason why there is none. `name_in` finds the file's name in the open folder, and returns
// "" if there is none.
ReadProfile read(const std::string& folder, const MachineIdentity& identity,
                 const std::function<std::string(int folder)>& name_in) {
    const Fd directory = open_folder(folder);
    if (!directory.is_open()) return unusable(kNotMeasured);
    if (!is_ours(directory.get(), S_IFDIR)) return unusable("its folder is not safe");
    const std::string name = name_in(directory.get());
    if (name.empty()) return unusable(kNotMeasured);
    ReadProfile profile = read_file(directory.get(), name, identity);
    profile.path = folder + "/" + name;
    return profile;
}

bool is_profile_name(const std::string& name) { return name.starts_with("machine-") && name.ends_with(".json"); }

bool is_later(const ::timespec& a, const ::timespec& b) {
    return a.tv_sec != b.tv_sec ? a.tv_sec > b.tv_sec : a.tv_nsec > b.tv_nsec;
}

// The name of the most recently written profile; empty if there is none.
std::string newest_name(int folder) {
    const int copy = ::fcntl(folder, F_DUPFD_CLOEXEC, 0);
    ::DIR* const list = copy < 0 ? nullptr : ::fdopendir(copy);
    if (list == nullptr) {
        if (copy >= 0) ::close(copy);
        return "";
    }
    std::string newest;
    ::timespec newest_time{};
    while (const ::dirent* entry = ::readdir(list)) {
        const std::string name = entry->d_name;
        struct stat status {};
        if (!is_profile_name(name) || ::fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
        if (!newest.empty() && !is_later(status.st_mtim, newest_time)) continue;
        newest = name;
        newest_time = status.st_mtim;
    }
    ::closedir(list);
    return newest;
}

}  // namespace

std::string profile_folder() {
    const std::string cache = absolute_variable("XDG_CACHE_HOME");
    if (!cache.empty()) return cache + "/cleave";
    const std::string home = absolute_variable("HOME");
    return home.empty() ? "" : home + "/.cache/cleave";
}

ReadProfile read_profile(const std::string& folder, const MachineIdentity& identity) {
    const auto name = name_of(identity);
    ReadProfile profile = read(folder, identity, [&identity](int) { return name_of(identity); });
    profile.path = folder + "/" + name;
    return profile;
}

ReadProfile read_newest_profile(const std::string& folder) {
    ReadProfile profile = read(folder, {processor_model(), "", ""}, newest_name);
    if (profile.path.empty()) profile.path = folder;
    return profile;
}

std::string write_profile(const std::string& folder, const MachineProfile& profile) {
    const std::string parent = folder.substr(0, folder.rfind('/'));
    if (!parent.empty() && ::mkdir(parent.c_str(), 0700) != 0 && errno != EEXIST) throw_errno(parent);
    if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) throw_errno(folder);
    const Fd directory = open_folder(folder);
    if (!directory.is_open()) throw_errno(folder);
    if (!is_ours(directory.get(), S_IFDIR)) {
        throw SystemError(EPERM, std::generic_category(), folder + ": it is not safe");
    }
    const std::string name = name_of(profile.identity);
    const std::string path = folder + "/" + name;
    std::string temporary = name;
    Fd file = make_temporary(directory.get(), temporary, path);
    try {
        const std::string text = profile_text(profile);
        write_all(file.get(), bytes_of(text), path);
        if (::fsync(file.get()) != 0) throw_errno(path);
        file.close(path);
        if (::renameat(directory.get(), temporary.c_str(), directory.get(), name.c_str()) != 0) throw_errno(path);
    } catch (const std::exception&) {
        ::unlinkat(directory.get(), temporary.c_str(), 0);
        throw;
    }
    return path;
}

}  // namespace cleave
