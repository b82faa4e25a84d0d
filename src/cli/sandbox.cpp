#include "cli/sandbox.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

#include "io/fd.h"

namespace cleave::cli {
namespace {

// From the third version of Landlock; the system's header may be older.
constexpr std::uint64_t kTruncate = 1ULL << 14;

constexpr std::uint64_t kReadFile = LANDLOCK_ACCESS_FS_READ_FILE;
constexpr std::uint64_t kRead = kReadFile | LANDLOCK_ACCESS_FS_READ_DIR;
constexpr std::uint64_t kWriteFile = LANDLOCK_ACCESS_FS_WRITE_FILE | kTruncate;
// --force renames a link that it replaces, which needs the right to make links.
constexpr std::uint64_t kWrite = kRead | kWriteFile | LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_DIR |
                                 LANDLOCK_ACCESS_FS_MAKE_SYM | LANDLOCK_ACCESS_FS_REMOVE_FILE |
                                 LANDLOCK_ACCESS_FS_REMOVE_DIR;

// All rights that this kernel knows; 0 if it has no Landlock.
std::uint64_t known_rights() {
    const std::int64_t version = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
    if (version < 1) return 0;
    constexpr std::uint64_t kFirst = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1;
    return kFirst | (version >= 2 ? LANDLOCK_ACCESS_FS_REFER : 0) | (version >= 3 ? kTruncate : 0);
}

// A path that does not exist needs no rule.
void permit(int ruleset, const std::string& path, std::uint64_t rights) {
    const Fd fd(::open(path.c_str(), O_PATH | O_CLOEXEC));
    struct stat status;
    if (!fd.is_open() || ::fstat(fd.get(), &status) != 0) return;
    if (!S_ISDIR(status.st_mode)) rights &= kReadFile | kWriteFile;  // the others make no sense for a file
    const landlock_path_beneath_attr rule{rights, fd.get()};
    ::syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
}

}  // namespace

void confine(const Permissions& permissions) {
    ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    const std::uint64_t known = known_rights();
    if (known == 0) return;
    const landlock_ruleset_attr attributes{known};
    const Fd ruleset(static_cast<int>(::syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes, 0)));
    if (!ruleset.is_open()) return;
    for (const std::string& path : permissions.read) permit(ruleset.get(), path, known & kRead);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    permit(ruleset.get(), "/", known & kRead);  // sanitizers read what they need for their reports
#endif
    for (const std::string& path : permissions.write) permit(ruleset.get(), path, known & kWrite);
    ::syscall(SYS_landlock_restrict_self, ruleset.get(), 0);
}

}  // namespace cleave::cli
