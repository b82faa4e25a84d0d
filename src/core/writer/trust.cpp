#include "core/writer/trust.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "cleave/error.h"
#include "cleave/output.h"
#include "core/reader/fd.h"

namespace cleave {

namespace {

// The rights of other users to change a folder.
mode_t openness(mode_t mode) { return (mode & S_ISVTX) != 0 ? 0 : mode & (S_IWGRP | S_IWOTH); }

}  // namespace

void Trust::set_output_folder(const struct stat& status) {
    folder_owner_ = status.st_uid;
    folder_open_ = openness(status.st_mode);
}

bool Trust::is_trusted(uid_t owner) const {
    return owner == 0 || owner == ::geteuid() || owner == input_.owner || owner == folder_owner_;
}

const char* Trust::doubt_of(const FileIdentity& file) const {
    if (!is_trusted(file.owner)) return "belongs to another user";
    const bool is_open = (file.permissions & (S_IWGRP | S_IWOTH) & ~(input_.permissions | folder_open_)) != 0;
    return is_open ? "other users can write to it" : nullptr;
}

bool Trust::has_folder(int at, const std::string& name, const std::string& shown) const {
    struct stat status {};
    for (const int flags : {AT_SYMLINK_NOFOLLOW, 0}) {
        if (::fstatat(at, name.c_str(), &status, flags) != 0) {
            if (errno == ENOENT) return false;
            throw_errno(shown);
        }
        const bool is_link = S_ISLNK(status.st_mode);
        require_folder(status.st_uid, is_link ? 0 : status.st_mode, shown);
        if (!is_link) break;
    }
    if (!S_ISDIR(status.st_mode)) throw SystemError(ENOTDIR, std::generic_category(), shown);
    return true;
}

void Trust::require_folder(uid_t owner, mode_t mode, const std::string& shown) const {
    const bool is_foreign = !is_trusted(owner);
    // The rights to read the input that correspond to the rights to change the folder.
    const mode_t open = openness(mode) & ~folder_open_;
    mode_t needed = 0;
    if ((open & S_IWGRP) != 0) needed |= S_IRGRP;
    if ((open & S_IWOTH) != 0) needed |= S_IROTH;
    if (is_foreign && needed == 0) needed = S_IROTH;
    if (needed == 0 || (!has_rules_ && (needed & ~input_.permissions) == 0)) return;
    throw OutputError(shown, is_foreign ? "belongs to another user, who could replace the files in it"
                                        : "other users can write to it and replace the files in it");
}

}  // namespace cleave
