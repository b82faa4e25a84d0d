// cleave key new: creates a file with a new key.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <exception>
#include <string>

#include "base/random_seed.h"
#include "cli/verbs.h"
#include "io/fd.h"
#include "io/temporary_file.h"
#include "memory/secret_memory.h"

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

}  // namespace

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

}  // namespace cleave::cli
