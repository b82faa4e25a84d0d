#include "write/piece_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace cleave {
namespace {

struct SplitPath {
    std::string directory, name;
};

SplitPath split_path(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    if (slash == std::string::npos) return {".", path};
    return {slash == 0 ? "/" : path.substr(0, slash), path.substr(slash + 1)};
}

}  // namespace

PieceStore::PieceStore(const FileIdentity& input, const SplitOptions& options)
    : input_(input), replace_(options.replace), make_directories_(options.make_directories) {}

PieceStore::~PieceStore() {
    published_.clear();  // before the directories that they are in
    while (!made_directories_.empty()) {
        ::rmdir(made_directories_.back().c_str());
        made_directories_.pop_back();
    }
}

void PieceStore::check(const std::string& path) {
    const auto [directory_path, name] = split_path(path);
    if (name.empty() || name == "." || name == "..") {
        throw std::invalid_argument("the output template makes '" + path + "', which names no file");
    }
    const std::lock_guard lock(mutex_);
    if (const Directory* directory = find_directory(directory_path)) {
        check_name(*directory, name);
    } else if (!make_directories_) {
        throw std::invalid_argument("the output directory '" + directory_path + "' does not exist");
    }
}

TemporaryFile PieceStore::create(const std::string& path) {
    const auto [directory_path, name] = split_path(path);
    const std::lock_guard lock(mutex_);
    const Directory* directory = find_directory(directory_path);
    if (directory == nullptr) {
        make_directories(directory_path);
        directory = &directories_.try_emplace(directory_path, directory_path).first->second;
    }
    return {*directory, name};
}

void PieceStore::publish(TemporaryFile file) {
    if (replace_) check_name(file.directory(), file.name());
    PublishedFile published = file.publish(replace_);
    const std::lock_guard lock(mutex_);
    published_.push_back(std::move(published));
}

void PieceStore::commit() noexcept {
    for (PublishedFile& file : published_) file.keep();
    published_.clear();
    made_directories_.clear();
}

// nullptr if there is none of that path.
const Directory* PieceStore::find_directory(const std::string& path) {
    const auto known = directories_.find(path);
    if (known != directories_.end()) return &known->second;
    try {
        return &directories_.try_emplace(path, path).first->second;
    } catch (const std::system_error& error) {
        if (error.code() != std::errc::no_such_file_or_directory) throw;
        return nullptr;
    }
}

// As mkdir -p does, remembering what was made.
void PieceStore::make_directories(const std::string& path) {
    for (std::size_t end = 0; end != std::string::npos;) {
        end = path.find('/', end + 1);
        const std::string part = path.substr(0, end);
        constexpr mode_t kAll = 0777;  // less the umask
        if (::mkdir(part.c_str(), kAll) == 0) {
            made_directories_.push_back(part);
        } else if (errno != EEXIST) {
            throw_errno(part);
        }
    }
}

void PieceStore::check_name(const Directory& directory, const std::string& name) const {
    struct stat status;
    if (::fstatat(directory.descriptor(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
        if (errno == ENOENT) return;
        throw_errno(directory.path_of(name));
    }
    // The input may stand here itself or behind a link.
    struct stat target;
    if (::fstatat(directory.descriptor(), name.c_str(), &target, 0) == 0 && identity_of(target).is_same_file(input_)) {
        throw OutputError(directory.path_of(name), "would overwrite the input");
    }
    const bool replaceable = S_ISREG(status.st_mode) || S_ISLNK(status.st_mode);
    if (!replace_ || !replaceable) {
        throw std::system_error(EEXIST, std::generic_category(), directory.path_of(name));
    }
}

}  // namespace cleave
