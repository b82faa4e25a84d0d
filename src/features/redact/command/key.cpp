// cleave key: makes keys, replaces them, and shows which there are. No key is ever shown.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <exception>
#include <string>
#include <system_error>
#include <vector>

#include "base/printable.h"
#include "base/random_seed.h"
#include "cleave/keys.h"
#include "cleave/stage_error.h"
#include "cli/formatted.h"
#include "cli/standard_output.h"
#include "cli/verbs.h"
#include "core/reader/fd.h"
#include "core/reader/temporary_file.h"
#include "features/redact/stage/key_versions.h"
#include "rows/memory/secret_memory.h"

namespace cleave::cli {
namespace {

constexpr std::size_t kKeySize = 32;

// The folder that holds a key. Its lock makes runs that rotate keys in it wait for each other.
class KeyFolder {
public:
    explicit KeyFolder(const std::string& key) : name_(folder_of(key)) {
        if (name_.empty()) name_ = ".";
        directory_ = Fd(::open(name_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        if (!directory_.is_open()) throw_errno(key);
    }
    void lock() const {
        while (::flock(directory_.get(), LOCK_EX) != 0) {
            if (errno != EINTR) throw_errno(name_);
        }
    }
    void sync() const {
        if (::fsync(directory_.get()) != 0) throw_errno(name_);
    }

private:
    std::string name_;
    Fd directory_;
};

// Who may use a key.
struct KeyAccess {
    mode_t mode = S_IRUSR | S_IWUSR;
    gid_t group = static_cast<gid_t>(-1);  // -1: the one that a new file gets
};

void fill_file(Fd& file, const KeyAccess& access, const std::string& path) {
    SecretMemory memory(kKeySize);
    const auto key = memory.bytes().first(kKeySize);
    fill_randomly(key);
    const bool has_group = (access.mode & S_IRWXG) != 0;
    if (has_group && ::fchown(file.get(), static_cast<uid_t>(-1), access.group) != 0) throw_errno(path);
    // The umask narrows the mode passed to open(), and may even remove the owner's rights.
    if (::fchmod(file.get(), access.mode) != 0) throw_errno(path);
    write_all(file.get(), key, path);
    if (::fsync(file.get()) != 0) throw_errno(path);
    file.close(path);
}

void make_file(const std::string& path, const KeyAccess& access) {
    Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR));
    if (!file.is_open()) throw_errno(path);
    try {
        fill_file(file, access, path);
    } catch (const std::exception&) {
        ::unlink(path.c_str());
        throw;
    }
}

void make_key(const std::string& path) {
    if (file_source(path).version != 0) {
        throw UsageError(formatted("{}: a name that ends in @ and a number means a version of a key", path));
    }
    const KeyFolder folder(path);
    make_file(path, {});
    folder.sync();
}

// The id of a key that --key accepts. `file` may have a version.
std::string id_of(const std::string& file) {
    const std::vector<std::string> sources{"key=file:" + file};
    try {
        return KeyRing(sources).id("key");
    } catch (const RuleError& error) {
        throw UsageError(formatted("{}: {}", file, error.what()));
    }
}

void remove_if_there(const std::string& path) {
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) throw_errno(path);
}

void link_file(const std::string& path, const std::string& other) {
    if (::link(path.c_str(), other.c_str()) == 0) return;
    if (errno != EPERM && errno != EOPNOTSUPP && errno != ENOSYS) throw_errno(other);
    throw SystemError(errno, std::generic_category(),
                      path + ": older versions are kept as hard links, which cannot be made here");
}

// The unfinished file of a version.
std::string unfinished(const std::string& path, std::uint64_t number) {
    return name_of_version(path, number) + ".cleave-new";
}

// Makes the next version:
//
//   lock the folder
//   if FILE has no name as a version yet: link FILE to FILE.vN
//   write the new key to FILE.v(N+1).cleave-new
//   link that to FILE.v(N+1), so that a version is always complete
//   rename FILE.v(N+1).cleave-new to FILE
//
// No step removes the last name of a key that was ever in use. If a run is killed before the last step, the version
// that it made remains beside FILE, not in use, and its number is not used again.
void rotate_key(const std::string& given) {
    const KeyFile source = file_source(given);
    if (source.version != 0) throw UsageError(formatted("{}: rotate takes a key without a version", given));
    const std::string path = followed(source.path);
    const KeyFolder folder(path);
    folder.lock();
    struct stat old {};
    if (::stat(path.c_str(), &old) != 0) throw_errno(path);
    if (!S_ISREG(old.st_mode)) throw UsageError(formatted("{}: not a regular file", path));
    id_of(path);  // refuses what is not a key

    const std::vector<KeyVersion> versions = versions_of_key(path);
    const std::uint64_t number = versions.back().number + 1;
    if (number > kMaxKeyVersion) throw UsageError(formatted("{}: there can be no later version", path));
    const auto used = std::ranges::find(versions, true, &KeyVersion::is_in_use);
    if (used->path == path) link_file(path, name_of_version(path, used->number));
    for (const KeyVersion& version : versions) remove_if_there(unfinished(path, version.number));
    const std::string made = unfinished(path, number);
    remove_if_there(made);
    make_file(made, {old.st_mode & ~static_cast<mode_t>(S_IFMT), old.st_gid});
    try {
        link_file(made, name_of_version(path, number));
        folder.sync();  // from now on, a loss of power leaves both keys
        if (::rename(made.c_str(), path.c_str()) != 0) throw_errno(path);
    } catch (const std::exception&) {
        ::unlink(made.c_str());
        throw;
    }
    folder.sync();
}

void list_key(const std::string& given, StandardOutput& out) {
    const KeyFile source = file_source(given);
    const KeyFolder folder(followed(source.path));
    folder.lock();
    bool is_any = false;
    for (const KeyVersion& version : versions_of_key(source.path)) {
        if (source.version != 0 && source.version != version.number) continue;
        is_any = true;
        out.print("{}\t{}\t{}{}\n", version.number, id_of(version.path), printable(version.path),
                  version.is_in_use ? "\tin use" : "");
    }
    if (!is_any) throw UsageError(formatted("{}: the key has no version {}", source.path, source.version));
}

}  // namespace

void run_key(const Arguments& arguments) {
    const std::string& path = arguments.key_file;
    StandardOutput out;
    switch (arguments.key_command) {
        case KeyCommand::kNew: return make_key(path);
        case KeyCommand::kRotate: return rotate_key(path);
        case KeyCommand::kList: list_key(path, out); break;
        case KeyCommand::kCheck: out.print("{}\n", id_of(path)); break;
    }
    out.flush();
}

}  // namespace cleave::cli
