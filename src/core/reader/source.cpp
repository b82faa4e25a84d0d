#include "core/reader/source.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <climits>
#include <cstring>
#include <iterator>
#include <string_view>
#include <system_error>
#include <utility>

#include "cleave/error.h"
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

std::size_t Source::read_at(std::uint64_t at, std::span<std::uint8_t> into) const {
    if (!remote) return cleave::read_at(file.get(), at, into, name);
    const auto there = into.first(std::min<std::uint64_t>(into.size(), remote->size() - std::min(at, remote->size())));
    if (!there.empty()) remote->read(at, there);
    return there.size();
}

FileChange Source::change() const noexcept { return version ? version->change(file.get()) : FileChange::kNone; }

// Bytes appended to the file of a snapshot do not matter, unless bytes of the snapshot could not be read: in that case,
// the file was shorter for a while.
Source::Trust Source::trust(FileChange change, bool has_lost) const noexcept {
    const Trust kept = has_lost ? Trust::kUnreadable : Trust::kGood;
    const bool accepts_append = is_snapshot && !has_lost;
    switch (change) {
        case FileChange::kShortened: return Trust::kShortened;
        case FileChange::kGrown: return accepts_append ? kept : Trust::kGrown;
        case FileChange::kWritten:
        case FileChange::kTouched: return accepts_append ? kept : Trust::kChanged;
        case FileChange::kUnknown: return Trust::kUnreadable;
        case FileChange::kNone: break;
    }
    return kept;
}

bool Source::is_unchanged(bool has_lost) const noexcept { return trust(change(), has_lost) == Trust::kGood; }

void Source::throw_if_changed(bool has_lost) const { judge(change(), has_lost); }

void Source::judge(FileChange change, bool has_lost) const {
    switch (trust(change, has_lost)) {
        case Trust::kGood: return;
        case Trust::kShortened: throw InputChangedError("input truncated while reading");
        case Trust::kGrown: throw InputChangedError("input grew while reading");
        case Trust::kChanged: throw InputChangedError();
        case Trust::kUnreadable: throw SystemError(EIO, std::generic_category(), name);
    }
}

// Checks only once, because the file may be touched between two checks. The new version is taken first, so any later
// change will show.
bool Source::accept_touch() {
    if (!version) return false;
    FileVersion now(file.get(), name);
    const FileChange seen = change();
    if (seen != FileChange::kTouched) {
        judge(seen, false);
        return false;
    }
    version = std::move(now);
    return true;
}

}  // namespace cleave
