#include "write/piece_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <strings.h>

#include <cerrno>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>

#include "io/stream_path.h"

namespace cleave {
namespace {

// Runs that could create the same files have the same id, whatever path leads to the directory. FNV-1a, 64 bit (Fowler,
// Noll, Vo; RFC 9923).
std::uint64_t run_id(const Directory& directory, const std::string& pattern) {
    struct stat status;
    if (::fstat(directory.descriptor(), &status) != 0) throw_errno(directory.path());
    const std::string text = std::to_string(status.st_dev) + ' ' + std::to_string(status.st_ino) + ' ' + pattern;
    std::uint64_t hash = 0xCBF29CE484222325;
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
    return hash;
}

std::string designation(const Piece& piece) { return "piece " + std::to_string(piece.number); }

// Throws std::invalid_argument if the name begins as those of markers and hidden files do. Some file systems ignore
// case.
void require_unreserved(const std::string& name) {
    constexpr std::string_view kReserved = ".cleave-";
    if (::strncasecmp(name.c_str(), kReserved.data(), kReserved.size()) != 0) return;
    throw std::invalid_argument("'" + name + "': names that begin with '.cleave-' are for the files of a run");
}

Fd open_folder(const Directory& directory, const std::string& folder) {
    Fd fd(
        ::openat(directory.descriptor(), std::string("./").append(folder).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd.is_open()) throw_errno(directory.path_of(folder));
    return fd;
}

// Whether a link may be replaced. The link itself is replaced, not its target. Links to devices and open descriptors,
// such as /dev/stdout, belong to the system.
bool is_replaceable_link(const Directory& directory, const std::string& name) {
    struct stat target;
    if (::fstatat(directory.descriptor(), name.c_str(), &target, 0) != 0) target.st_mode = S_IFREG;
    return (S_ISREG(target.st_mode) || S_ISDIR(target.st_mode)) && !leads_to_stream(directory.path_of(name));
}

// Throws if this process may not make files in `folder`, which ends with a slash or is empty. If it is missing, the
// nearest folder above it counts.
void require_access(const std::string& folder) {
    const std::string path = folder.empty() ? "." : folder;
    if (::faccessat(AT_FDCWD, path.c_str(), W_OK | X_OK, AT_EACCESS) == 0) return;
    if (errno != ENOENT || folder.empty()) throw_errno(path);
    require_access(std::string(folder_of(folder.substr(0, folder.find_last_not_of('/') + 1))));
}

}  // namespace

PieceStore::PieceStore(const Input& input, const PieceNamer& namer, const OutputOptions& options)
    : input_(input),
      namer_(namer),
      options_(options),
      folder_(namer.folder()),
      makes_manifest_(!options.manifest.empty()),
      streams_manifest_(makes_manifest_ && leads_to_stream(options.manifest)) {
    try {
        directory_.emplace(folder_);
    } catch (const std::system_error& error) {
        if (error.code() != std::errc::no_such_file_or_directory) throw;
        require_making(folder_);
    }
}

PieceStore::~PieceStore() {
    const bool stay = options_.resume && input_.is_unchanged();
    // The marker tells a later run that the pieces which stay come from a run that failed.
    if (marker_ && ((has_kept_ && marker_->was_left()) || (stay && !published_.empty()))) marker_->leave();
    if (stay) {
        for (PublishedFile& file : published_) file.keep();
    } else if (marker_) {
        marker_->note_failure();
    }
    // The manifest goes first: it must not exist without all pieces. Files go before their directories.
    while (!published_.empty()) published_.pop_back();
    marker_.reset();
    for (; !made_directories_.empty(); made_directories_.pop_back()) {
        const auto& [at, path] = made_directories_.back();
        ::unlinkat(at, path.c_str(), AT_REMOVEDIR);
    }
}

void PieceStore::begin() {
    // Opened first: the reader of a FIFO then sees its end even if the run fails.
    if (streams_manifest_) manifest_stream_ = open_stream(options_.manifest, input_.cancellation());
    if (!directory_) {
        make_directories(AT_FDCWD, folder_);
        directory_.emplace(folder_);
    }
    marker_ = RunMarker::take(*directory_, run_id(*directory_, namer_.pattern()));
    if (!marker_) throw OutputError(directory_->path(), "another run is writing these pieces");
    has_unnamed_files_ = can_name_descriptors(*directory_, marker_->descriptor(), marker_->name());
    clear_leftovers(*directory_);
    if (options_.sync) note_device(identity_of(stat_of(marker_->descriptor(), directory_->path())), "");
}

bool PieceStore::check(const std::string& path) {
    const std::string name = name_of(path);
    const std::string folder(folder_of(name));
    const std::string file = name.substr(folder.size());
    if (file.empty() || file == "." || file == "..") {
        throw std::invalid_argument("the output template makes '" + path + "', which names no file");
    }
    require_unreserved(file);
    if (!directory_) return false;
    struct stat status;
    if (!folder.empty() && ::fstatat(directory_->descriptor(), folder.c_str(), &status, 0) != 0) {
        if (errno != ENOENT) throw_errno(directory_->path_of(folder));
        require_making(directory_->path_of(folder));
        return false;
    }
    return check_name(*directory_, name);
}

void PieceStore::check_manifest() {
    if (!makes_manifest_ || streams_manifest_) return;
    const std::string folder(folder_of(options_.manifest));
    manifest_name_ = options_.manifest.substr(folder.size());
    require_unreserved(manifest_name_);
    if (folder == folder_) {
        if (!directory_) return;
        manifest_directory_ = &*directory_;
    } else {
        manifest_directory_ = &own_manifest_directory_.emplace(folder);
    }
    has_manifest_ = check_name(*manifest_directory_, manifest_name_);
}

void PieceStore::check_access() const {
    require_access(folder_);
    if (makes_manifest_ && !streams_manifest_) require_access(std::string(folder_of(options_.manifest)));
}

bool PieceStore::is_manifest(const std::string& path) const {
    if (!makes_manifest_ || streams_manifest_) return false;
    if (path == options_.manifest) return true;
    const std::string name = name_of(path);
    const std::string folder(folder_of(name));
    if (name.substr(folder.size()) != manifest_name_ || !directory_ || manifest_directory_ == nullptr) return false;
    struct stat of_piece;
    struct stat of_manifest;
    return ::fstatat(directory_->descriptor(), std::string("./").append(folder).c_str(), &of_piece, 0) == 0 &&
           ::fstat(manifest_directory_->descriptor(), &of_manifest) == 0 &&
           identity_of(of_piece).is_same_file(identity_of(of_manifest));
}

bool PieceStore::holds(const Piece& piece, const std::string& path, Parts parts) {
    const auto present = find_file_of(*directory_, name_of(path), input_.blob(), parts, input_.cancellation());
    if (!judge_present(present.has_value(), path, designation(piece))) return false;
    const std::scoped_lock lock(mutex_);
    note_kept(*present);
    return true;
}

bool PieceStore::has_content(const std::string& path, Parts parts) const {
    return find_file_of(*directory_, name_of(path), input_.blob(), parts, input_.cancellation()).has_value();
}

TemporaryFile PieceStore::create(const std::string& path) {
    const std::string name = name_of(path);
    if (options_.make_directories) {
        const std::scoped_lock lock(mutex_);
        make_directories(directory_->descriptor(), std::string(folder_of(name)));
    }
    const mode_t permissions = input_.identity().permissions;
    if (auto file = create_unnamed(*directory_, name, permissions)) return std::move(*file);
    return create_hidden(name, permissions);
}

void PieceStore::publish(const Piece& piece, TemporaryFile file, bool is_present) {
    const auto present = is_present ? file.present(input_.cancellation()) : std::nullopt;
    const bool is_kept = is_present && judge_present(present.has_value(), file.path(), designation(piece));
    const std::scoped_lock lock(mutex_);
    if (is_kept) {
        note_kept(*present);
        return;
    }
    if (options_.sync) note_device(file.identity(), std::string(folder_of(file.name())));
    publish_in_turn(std::move(file));
}

void PieceStore::seal(const std::string& manifest) {
    if (input_.cancellation() != nullptr) input_.cancellation()->throw_if_requested();
    if (options_.sync) sync();
    if (streams_manifest_) {
        write_manifest(manifest_stream_.get(), manifest);
        manifest_stream_.close(options_.manifest);
    }
    std::optional<TemporaryFile> manifest_file = make_manifest(manifest);
    // If the run is killed from here on, nothing is put back: only the manifest is missing.
    if (options_.replace) marker_->note_success(options_.sync);
    if (manifest_file) {
        publish_in_turn(std::move(*manifest_file));
        if (options_.sync) sync_manifest();
    }
}

void PieceStore::commit() noexcept {
    for (PublishedFile& file : published_) file.keep();
    published_.clear();
    made_directories_.clear();
    marker_.reset();
}

// Throws unless missing directories may be made.
void PieceStore::require_making(const std::string& folder) const {
    if (options_.make_directories) return;
    throw MissingDirectoryError("the output directory '" + folder.substr(0, folder.size() - 1) + "' does not exist");
}

// As mkdir -p does, remembering what was made. `folder` ends with a slash, or is empty.
void PieceStore::make_directories(int at, const std::string& folder) {
    if (folder == last_made_) return;
    for (std::size_t end = folder.find('/', 1); end != std::string::npos; end = folder.find('/', end + 1)) {
        const std::string part = folder.substr(0, end);
        constexpr mode_t kAll = 0777;  // less the umask
        // First: nothing may throw once the directory is there.
        made_directories_.push_back({at, part});
        if (::mkdirat(at, part.c_str(), kAll) == 0) continue;
        const int error = errno;
        made_directories_.pop_back();
        if (error == EEXIST) continue;
        throw std::system_error(error, std::generic_category(), at == AT_FDCWD ? part : directory_->path_of(part));
    }
    last_made_ = folder;
}

// As check(): whether a file has the name that stays if its content is right.
bool PieceStore::check_name(const Directory& directory, const std::string& name) const {
    struct stat status;
    if (::fstatat(directory.descriptor(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
        if (errno == ENOENT) return false;
        throw_errno(directory.path_of(name));
    }
    // The input may stand here itself or behind a link.
    struct stat target;
    if (::fstatat(directory.descriptor(), name.c_str(), &target, 0) == 0 &&
        identity_of(target).is_same_file(input_.identity())) {
        throw OutputError(directory.path_of(name), "would overwrite the input");
    }
    const bool may_stay = options_.resume || (marker_ && marker_->was_left() && !options_.replace);
    if (may_stay && S_ISREG(status.st_mode)) return true;
    const bool is_replaceable =
        S_ISREG(status.st_mode) || (S_ISLNK(status.st_mode) && is_replaceable_link(directory, name));
    if (!options_.replace || !is_replaceable) {
        throw std::system_error(EEXIST, std::generic_category(), directory.path_of(name));
    }
    return false;
}

void PieceStore::note_kept(const FileIdentity& file) {
    has_kept_ = true;
    if (options_.replace) own_files_.emplace(file.device, file.inode);
}

// Returns `is_right`: whether the existing file has the right content. Throws if not and it may not be replaced.
bool PieceStore::judge_present(bool is_right, const std::string& path, const std::string& what) const {
    if (is_right || options_.replace) return is_right;
    if (!options_.resume) throw std::system_error(EEXIST, std::generic_category(), path);
    throw OtherPieceError(path, "exists, and differs from " + what);
}

std::optional<TemporaryFile> PieceStore::create_unnamed(const Directory& directory, const std::string& name,
                                                        mode_t permissions) const {
    if (!has_unnamed_files_) return std::nullopt;
    return TemporaryFile::unnamed(directory, name, permissions);
}

TemporaryFile PieceStore::create_hidden(const std::string& name, mode_t permissions) {
    const std::scoped_lock lock(mutex_);
    std::string hidden_name = std::string(folder_of(name)) + marker_->next_hidden_name();
    marker_->note(hidden_name, name);
    return TemporaryFile::hidden(*directory_, name, std::move(hidden_name), permissions);
}

// Under options.replace two paths may lead to one file. A file that this run has published is never replaced.
void PieceStore::publish_in_turn(TemporaryFile file) {
    const FileIdentity identity = file.identity();
    const std::string& name = file.name();
    struct stat taken;
    if (options_.replace) own_files_.emplace(identity.device, identity.inode);
    if (!options_.replace || ::fstatat(file.directory().descriptor(), name.c_str(), &taken, AT_SYMLINK_NOFOLLOW) != 0) {
        published_.push_back(file.publish());
        return;
    }
    check_name(file.directory(), name);
    if (own_files_.contains({taken.st_dev, taken.st_ino})) {
        throw OutputError(file.path(), "is already a piece of this run");
    }
    std::string hidden_name = file.hidden_name();
    if (hidden_name.empty()) hidden_name = std::string(folder_of(name)) + marker_->next_hidden_name();
    if (&file.directory() == &*directory_) marker_->note(hidden_name, name, identity.inode);
    published_.push_back(file.publish_instead(std::move(hidden_name)));
}

// Keeps a descriptor of the folder, by which sync() reaches the file's device.
void PieceStore::note_device(const FileIdentity& file, const std::string& folder) {
    if (devices_.contains(file.device)) return;
    devices_.emplace(file.device, open_folder(*directory_, folder));
}

void PieceStore::sync() const {
    for (const auto& [device, fd] : devices_) {
        if (::syncfs(fd.get()) != 0) throw_errno(directory_->path());
    }
}

void PieceStore::write_manifest(int descriptor, const std::string& text) const {
    const std::span<const std::uint8_t> bytes(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
    write_all(descriptor, bytes, options_.manifest, input_.cancellation());
}

// Writes the manifest to a file that does not have its name yet. Nothing if no such file is wanted or the existing one
// is right.
std::optional<TemporaryFile> PieceStore::make_manifest(const std::string& text) {
    if (!makes_manifest_ || streams_manifest_) return std::nullopt;
    TemporaryFile file = create_manifest();
    write_manifest(file.descriptor(), text);
    if (has_manifest_) {
        const bool is_right = file.present(input_.cancellation()).has_value();
        if (judge_present(is_right, options_.manifest, "the manifest")) return std::nullopt;
    }
    if (options_.sync && ::fsync(file.descriptor()) != 0) throw_errno(options_.manifest);
    return file;
}

// The marker lists hidden files in its own directory only.
TemporaryFile PieceStore::create_manifest() {
    constexpr mode_t kPermissions = 0666;  // a manifest holds no records of the input
    if (manifest_directory_ == &*directory_) return create_hidden(manifest_name_, kPermissions);
    if (auto file = create_unnamed(*manifest_directory_, manifest_name_, kPermissions)) return std::move(*file);
    return TemporaryFile::hidden(*manifest_directory_, manifest_name_, marker_->next_hidden_name(), kPermissions);
}

void PieceStore::sync_manifest() const {
    const Fd folder = open_folder(*manifest_directory_, "");
    if (::fsync(folder.get()) != 0) throw_errno(manifest_directory_->path());
}

}  // namespace cleave
