#include "cli/sandbox.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>

#include "core/reader/fd.h"

namespace cleave::cli {
namespace {

// The system's header may be older than the kernel. known_rights() records which version has which right.
constexpr std::uint64_t kTruncate = 1ULL << 14;
constexpr std::uint64_t kBindTcp = 1ULL << 0;
constexpr std::uint64_t kConnectTcp = 1ULL << 1;
constexpr std::uint64_t kAbstractSocket = 1ULL << 0;
constexpr std::uint64_t kSignal = 1ULL << 1;

// The rights that a ruleset takes away: struct landlock_ruleset_attr of ABI version 6. A kernel that knows fewer
// members accepts the remaining ones if they are 0.
struct Ruleset {
    std::uint64_t files = 0;
    std::uint64_t network = 0;
    std::uint64_t scoped = 0;
};

constexpr std::uint64_t kReadFile = LANDLOCK_ACCESS_FS_READ_FILE;
constexpr std::uint64_t kReadAccess = kReadFile | LANDLOCK_ACCESS_FS_READ_DIR;
constexpr std::uint64_t kWriteFile = LANDLOCK_ACCESS_FS_WRITE_FILE | kTruncate;
// --force renames a link that it replaces, which requires the right to create links.
constexpr std::uint64_t kWriteAccess = kReadAccess | kWriteFile | LANDLOCK_ACCESS_FS_MAKE_REG |
                                       LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_SYM |
                                       LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR;

std::string failure(const char* what) { return std::string(what) + ": " + std::generic_category().message(errno); }

// All rights that this version of Landlock can take away and that matter to cleave.
Ruleset known_rights(std::int64_t version) {
    constexpr std::uint64_t kFirst = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1;
    Ruleset known;
    known.files = kFirst | (version >= 2 ? LANDLOCK_ACCESS_FS_REFER : 0) | (version >= 3 ? kTruncate : 0);
    if (version >= 4) known.network = kBindTcp | kConnectTcp;
    if (version >= 6) known.scoped = kAbstractSocket | kSignal;
    return known;
}

// A path that does not exist needs no rule. Returns false if a rule cannot be added because the kernel refuses it or
// the process has run out of descriptors.
bool permit(int ruleset, const std::string& path, std::uint64_t rights) {
    const Fd fd(::open(path.c_str(), O_PATH | O_CLOEXEC));
    if (!fd.is_open()) return errno != EMFILE && errno != ENFILE;
    struct stat status;
    if (::fstat(fd.get(), &status) != 0) return true;
    if (!S_ISDIR(status.st_mode)) rights &= kReadFile | kWriteFile;  // the other rights make no sense for a file
    const landlock_path_beneath_attr rule{rights, fd.get()};
    return ::syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0;
}

// struct landlock_net_port_attr, and the type of such a rule, of ABI version 4.
struct PortRule {
    std::uint64_t rights = kConnectTcp;
    std::uint64_t port = 0;
};
constexpr int kPortRuleType = 2;

bool permit_port(int ruleset, std::uint16_t port) {
    const PortRule rule{kConnectTcp, port};
    return ::syscall(SYS_landlock_add_rule, ruleset, kPortRuleType, &rule, 0) == 0;
}

}  // namespace

std::string confine(const Permissions& permissions) {
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return failure("PR_SET_NO_NEW_PRIVS");
    const std::int64_t version = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
    if (version < 1) return failure("Landlock");
    const Ruleset known = known_rights(version);
    const Fd ruleset(static_cast<int>(::syscall(SYS_landlock_create_ruleset, &known, sizeof known, 0)));
    if (!ruleset.is_open()) return failure("Landlock");
    std::string missing;
    const auto permit_each = [&](const std::vector<std::string>& paths, std::uint64_t rights) {
        for (const std::string& path : paths) {
            if (!permit(ruleset.get(), path, known.files & rights)) missing = failure("a rule of Landlock");
        }
    };
    permit_each(permissions.read, kReadAccess);
    permit_each(permissions.write, kWriteAccess);
    for (const std::uint16_t port : known.network != 0 ? permissions.ports : std::vector<std::uint16_t>()) {
        if (!permit_port(ruleset.get(), port)) missing = failure("a rule of Landlock");
    }
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    permit_each({"/"}, kReadAccess);  // sanitizers read arbitrary files for their reports
#endif
    // A ruleset with a rule missing would refuse something that the run needs.
    if (!missing.empty()) return missing;
    if (::syscall(SYS_landlock_restrict_self, ruleset.get(), 0) != 0) return failure("Landlock");
    return "";
}

}  // namespace cleave::cli
