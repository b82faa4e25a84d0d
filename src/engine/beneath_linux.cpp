// openat2() (Linux 5.6, https://man7.org/linux/man-pages/man2/openat2.2.html) makes the kernel resolve the name and
// refuse every link and every step out of the folder. Without openat2(), each part of the name is opened relative to
// the previous one, and must not be a link. Either way, each part is looked up only once, so nobody can redirect the
// path in the meantime.
#include "engine/beneath.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <vector>

#include "cleave/error.h"

namespace cleave {
namespace {

// O_NONBLOCK, because a FIFO that someone has put there must not make open() wait.
constexpr int kReading = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW;

// The components of a path, without empty ones and ".", except that the first component of an absolute path is empty.
std::vector<std::string_view> parts_of(std::string_view path) {
    std::vector<std::string_view> parts;
    if (path.starts_with('/')) parts.emplace_back();
    while (!path.empty()) {
        const std::size_t end = std::min(path.find('/'), path.size());
        const std::string_view part = path.substr(0, end);
        if (!part.empty() && part != ".") parts.push_back(part);
        path.remove_prefix(std::min(end + 1, path.size()));
    }
    return parts;
}

[[noreturn]] void throw_error(int error, const std::string& shown) {
    throw SystemError(error, std::generic_category(), shown);
}

Fd checked_file(Fd file, const std::string& shown) {
    if (!S_ISREG(stat_of(file.get(), shown).st_mode)) throw_error(EINVAL, shown);
    return file;
}

}  // namespace

std::optional<std::string> path_beneath(std::string_view folder, std::string_view path) {
    const std::vector<std::string_view> above = parts_of(folder);
    const std::vector<std::string_view> parts = parts_of(path);
    if (above.size() >= parts.size() || !std::equal(above.begin(), above.end(), parts.begin())) return std::nullopt;
    std::string rest;
    for (std::size_t i = above.size(); i < parts.size(); ++i) {
        if (parts[i].empty() || parts[i] == "..") return std::nullopt;
        rest.append(rest.empty() ? "" : "/").append(parts[i]);
    }
    return rest;
}

Fd open_folder(const std::string& path) {
    Fd folder(::open(path.empty() ? "." : path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!folder.is_open()) throw_errno(path);
    return folder;
}

Fd open_beneath(const Fd& folder, const std::string& name, const std::string& shown) {
    if (name.find('\0') != std::string::npos) throw_error(EINVAL, shown);
    if (!path_beneath("", name)) throw_error(EXDEV, shown);
    open_how how{};
    how.flags = kReading;
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS;
    Fd file(static_cast<int>(::syscall(SYS_openat2, folder.get(), name.c_str(), &how, sizeof how)));
    if (file.is_open()) return checked_file(std::move(file), shown);
    // A system call filter that does not know openat2() may answer EPERM.
    if (errno == ENOSYS || errno == EPERM) return open_part_by_part(folder, name, shown);
    throw_errno(shown);
}

Fd open_part_by_part(const Fd& folder, const std::string& name, const std::string& shown) {
    const auto beneath = path_beneath("", name);
    if (!beneath) throw_error(EXDEV, shown);
    const std::vector<std::string_view> parts = parts_of(*beneath);
    Fd above;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const int from = i == 0 ? folder.get() : above.get();
        const bool is_last = i + 1 == parts.size();
        // O_PATH opens the link itself, which tells a link from a file that is not a folder.
        Fd part(::openat(from, std::string(parts[i]).c_str(), is_last ? kReading : O_PATH | O_NOFOLLOW | O_CLOEXEC));
        if (!part.is_open()) throw_errno(shown);
        if (!is_last && S_ISLNK(stat_of(part.get(), shown).st_mode)) throw_error(ELOOP, shown);
        above = std::move(part);
    }
    return checked_file(std::move(above), shown);
}

}  // namespace cleave
