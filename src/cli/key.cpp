// cleave key: makes keys, replaces them, and shows which there are. No key is ever shown.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <exception>
#include <string>
#include <system_error>
#include <vector>

#include "base/random_seed.h"
#include "cleave/keys.h"
#include "cli/formatted.h"
#include "cli/messages.h"
#include "cli/standard_output.h"
#include "cli/verbs.h"
#include "io/fd.h"
#include "io/temporary_file.h"
#include "memory/secret_memory.h"
#include "stage/key_versions.h"

namespace cleave::cli {
namespace {

constexpr std::size_t kKeySize = 32;

void fill_file(Fd& file, const std::string& path) {
    SecretMemory memory(kKeySize);
    const auto key = memory.bytes().first(kKeySize);
    fill_randomly(key);
    // The umask narrows the mode passed to open(), and may even remove the owner's rights.
    if (::fchmod(file.get(), S_IRUSR | S_IWUSR) != 0) throw_errno(path);
    write_all(file.get(), key, path);
    if (::fsync(file.get()) != 0) throw_errno(path);
    file.close(path);
}

void sync_folder(const std::string& path) {
    const std::string folder(folder_of(path));
    const std::string name = folder.empty() ? "." : folder;
    const Fd directory(::open(name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!directory.is_open() || ::fsync(directory.get()) != 0) throw_errno(name);
}

void make_key(const std::string& path) {
    Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR));
    if (!file.is_open()) throw_errno(path);
    try {
        fill_file(file, path);
        sync_folder(path);
    } catch (const std::exception&) {
        ::unlink(path.c_str());
        throw;
    }
}

// The id of a key that --key accepts.
std::string id_of(const std::string& path) {
    const std::vector<std::string> sources{"key=file:" + path};
    return KeyRing(sources).id("key");
}

// Gives the key a second name, for an older version, and then puts a new key in its place. If this is interrupted, the
// key still has its first name, and the second one does not count; see versions_of_key().
void rotate_key(const std::string& path) {
    id_of(path);  // refuses what is not a key
    const std::uint64_t number = versions_of_key(path).back().number;
    if (number >= kMaxKeyVersion) throw UsageError(formatted("{}: there can be no later version", path));
    const std::string older = name_of_version(path, number);
    const std::string folder(folder_of(path));
    const std::string made = folder + "." + path.substr(folder.size()) + ".cleave-new";
    if (::unlink(made.c_str()) != 0 && errno != ENOENT) throw_errno(made);  // of an interrupted rotation
    const bool is_linked = ::link(path.c_str(), older.c_str()) == 0;
    if (!is_linked && errno != EEXIST) throw_errno(older);  // an interrupted rotation has linked it before
    try {
        make_key(made);
        if (::rename(made.c_str(), path.c_str()) != 0) {
            const int error = errno;
            ::unlink(made.c_str());
            throw SystemError(error, std::generic_category(), path);
        }
    } catch (const std::exception&) {
        if (is_linked) ::unlink(older.c_str());
        throw;
    }
    sync_folder(path);
}

void list_key(const std::string& path, StandardOutput& out) {
    for (const KeyVersion& version : versions_of_key(path)) {
        out.print("{}\t{}\t{}\n", version.number, id_of(version.path), printable(version.path));
    }
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
