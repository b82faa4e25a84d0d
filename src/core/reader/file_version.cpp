#include "core/reader/file_version.h"

#include <unistd.h>

#include <array>
#include <charconv>
#include <climits>
#include <cstring>
#include <iterator>
#include <string_view>

#include "core/reader/fd.h"

namespace cleave {
namespace {

using PathBuffer = std::array<char, PATH_MAX>;

// The current path of the file; empty if the system does not know it.
std::string_view path_behind(int descriptor, PathBuffer& buffer) noexcept {
    char link[32] = "/proc/self/fd/";
    char* end = std::to_chars(link + std::strlen(link), std::end(link) - 1, descriptor).ptr;
    *end = '\0';
    const ssize_t size = ::readlink(link, buffer.data(), buffer.size());
    return {buffer.data(), size > 0 ? static_cast<std::size_t>(size) : 0};
}

bool is_same(const timespec& a, const timespec& b) { return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec; }

}  // namespace

// The path is read first. If it changes before the status is read, the status already has the new ctime.
FileVersion::FileVersion(int descriptor, const std::string& name) {
    PathBuffer buffer;
    path_ = path_behind(descriptor, buffer);
    status_ = stat_of(descriptor, name);
}

FileChange FileVersion::change(int descriptor) const noexcept {
    struct stat now;
    if (::fstat(descriptor, &now) != 0) return FileChange::kUnknown;
    if (now.st_size < status_.st_size) return FileChange::kShortened;
    if (now.st_size > status_.st_size) return FileChange::kGrown;
    if (!is_same(now.st_mtim, status_.st_mtim)) return FileChange::kWritten;
    // A writer can reset mtime, but not ctime.
    if (is_same(now.st_ctim, status_.st_ctim) || is_explained(descriptor, now)) return FileChange::kNone;
    return FileChange::kTouched;
}

// Whether something other than a change of content explains the new ctime: another file has taken the name, or the
// name, number of links, owner or mode has changed.
bool FileVersion::is_explained(int descriptor, const struct stat& now) const noexcept {
    if (now.st_nlink != status_.st_nlink || now.st_mode != status_.st_mode || now.st_uid != status_.st_uid ||
        now.st_gid != status_.st_gid) {
        return true;
    }
    PathBuffer buffer;
    return path_behind(descriptor, buffer) != path_;
}

}  // namespace cleave
