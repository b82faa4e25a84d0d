#include "core/writer/piece_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/text_bytes.h"
#include "cleave/error.h"
#include "core/writer/lone_file.h"
#include "core/writer/stream_path.h"

namespace cleave {
namespace {

std::string designation(const Piece& piece) { return "piece " + std::to_string(piece.number); }

// The permissions of a new folder, before the umask. Names in the folder may contain values, so only users who can read
// the input may list it.
mode_t folder_permissions(const Input& input) {
    const std::uint32_t of_input = input.identity().permissions;
    const mode_t group = (of_input & S_IRGRP) != 0 ? S_IRGRP | S_IXGRP : 0;
    const mode_t others = (of_input & S_IROTH) != 0 ? S_IROTH | S_IXOTH : 0;
    return S_IRWXU | group | others;
}

}  // namespace

PieceStore::PieceStore(const Input& input, const PieceNamer& namer, const OutputOptions& options, bool has_rules)
    : input_(input), namer_(namer), options_(options), trust_(input.identity(), has_rules), folder_(namer.folder()) {
    add_side_file("report", options.report);
    add_side_file("manifest", options.manifest);
    try {
        open_directory();
    } catch (const std::system_error& error) {
        if (error.code() != std::errc::no_such_file_or_directory) throw;
        require_making(folder_);
    }
}

PieceStore::~PieceStore() {
    const bool stay = options_.resume && may_keep_ && input_.is_unchanged();
    // The marker tells a later run that the remaining pieces come from a run that failed.
    if (marker_ && ((has_kept_ && was_killed_) || (stay && !published_.empty()))) marker_->leave();
    if (stay) {
        for (PublishedFile& file : published_) file.keep();
    } else if (marker_) {
        marker_->note_failure();
    }
    // The manifest is removed first, then the report, because neither may exist without all the pieces. Files are
    // removed before their directories.
    const bool takes_back = !published_.empty();
    while (!published_.empty()) published_.pop_back();
    // Sync while the marker exists: it lets a later run redo this after a power failure.
    if (takes_back && options_.sync) sync();
    marker_.reset();
    for (; !made_directories_.empty(); made_directories_.pop_back()) {
        const auto& [at, path] = made_directories_.back();
        ::unlinkat(at, path.c_str(), AT_REMOVEDIR);
    }
}

void PieceStore::begin() {
    // Opened first, so that the reader of a FIFO sees its end even if the run fails.
    for (SideFile& side : side_files_) {
        if (side.is_stream) side.stream = open_stream(side.path, input_.cancellation());
    }
    const MutexLock lock(mutex_);
    if (!directory_) {
        make_directories(AT_FDCWD, folder_);
        open_directory();
    }
    marker_ = RunMarker::take(*directory_, run_id(*directory_, namer_.pattern()), options_.sync);
    if (!marker_) throw OutputError(directory_->path(), "another run is writing these pieces");
    clear_leftovers(*directory_, options_.sync);
    was_killed_ = marker_->was_left();
    if (options_.sync) note_device(identity_of(stat_of(marker_->descriptor(), directory_->path())), *directory_, "");
}

bool PieceStore::check(const std::string& path) {
    const std::string name = name_of(path);
    const std::string folder(folder_of(name));
    const std::string file = name.substr(folder.size());
    if (file.empty() || file == "." || file == "..") {
        throw ArgumentError("the output template makes '" + path + "', which names no file");
    }
    require_unreserved(file);
    if (!directory_) return false;
    if (!has_folder(folder)) return false;
    if (listed_ && folder.empty() && !listed_->contains(name)) return false;
    return check_name(*directory_, name);
}

void PieceStore::expect_checks(std::size_t count) {
    constexpr std::size_t kFew = 1000;  // looking these up is faster than listing a directory
    listed_.reset();
    if (count > kFew && directory_ && !options_.replace && !options_.resume) listed_ = names_in(*directory_, count / 8);
}

void PieceStore::add_side_file(const char* what, const std::string& path) {
    if (!path.empty()) side_files_.push_back({what, path, leads_to_stream(path), {}, {}, nullptr, {}, false});
}

void PieceStore::check_side_files() {
    for (SideFile& side : side_files_) {
        if (!side.is_stream) check(side);
    }
    if (side_files_.size() == 2 && !side_files_[1].is_stream && leads_to(side_files_[1].path, side_files_[0])) {
        throw ArgumentError("the report and the manifest have the same name '" + side_files_[1].path + "'");
    }
}

void PieceStore::check(SideFile& side) {
    const std::string folder(folder_of(side.path));
    side.name = side.path.substr(folder.size());
    require_unreserved(side.name);
    if (folder == folder_) {
        if (!directory_) return;
        side.directory = &*directory_;
    } else {
        side.directory = &side.own_directory.emplace(folder);
    }
    side.is_present = check_name(*side.directory, side.name);
    if (!side.is_present || !options_.sync) return;
    const MutexLock lock(mutex_);
    // Needed for a side file that stays.
    note_device(identity_of(stat_of(side.directory->descriptor(), folder)), *side.directory, "");
}

void PieceStore::check_access() const {
    require_access(folder_);
    for (const SideFile& side : side_files_) {
        if (!side.is_stream) require_access(std::string(folder_of(side.path)));
    }
}

const char* PieceStore::side_file_at(const std::string& path) const {
    for (const SideFile& side : side_files_) {
        if (leads_to(path, side)) return side.what;
    }
    return nullptr;
}

bool PieceStore::leads_to(const std::string& path, const SideFile& side) const {
    if (side.is_stream) return false;
    if (path == side.path) return true;
    const std::string folder(folder_of(path));
    if (path.substr(folder.size()) != side.name || side.directory == nullptr) return false;
    // A path of a piece is resolved relative to the directory that was opened.
    const bool is_below = directory_ && folder.starts_with(folder_);
    const std::string from_here = "./" + (is_below ? folder.substr(folder_.size()) : folder);
    struct stat of_path;
    struct stat of_side;
    return ::fstatat(is_below ? directory_->descriptor() : AT_FDCWD, from_here.c_str(), &of_path, 0) == 0 &&
           ::fstat(side.directory->descriptor(), &of_side) == 0 &&
           identity_of(of_path).is_same_file(identity_of(of_side));
}

bool PieceStore::holds(const Piece& piece, const std::string& path, Parts parts) {
    const auto present = find_file_of(*directory_, name_of(path), input_.blob(), parts, input_.cancellation());
    if (!judge_present(present, path, designation(piece))) return false;
    const MutexLock lock(mutex_);
    note_kept(*present, name_of(path));
    return true;
}

bool PieceStore::has_content(const std::string& path, Parts parts) const {
    return find_file_of(*directory_, name_of(path), input_.blob(), parts, input_.cancellation()).has_value();
}

void PieceStore::require_piece(const std::optional<FileIdentity>& present, const Piece& piece,
                               const std::string& path) const {
    judge_present(present, path, designation(piece));
}

void PieceStore::check_texts(const std::string& report, const std::string& manifest) const {
    for (const SideFile& side : side_files_) {
        if (!side.is_present) continue;
        const std::string& text = is_report(side) ? report : manifest;
        const Fd file = open_if_of_size(*side.directory, side.name, text.size());
        std::optional<FileIdentity> present;
        if (file.is_open() && read_to_end(file.get(), text.size(), side.path) == text) {
            present = identity_of(stat_of(file.get(), side.path));
        }
        judge_present(present, side.path, "the " + std::string(side.what));
    }
}

TemporaryFile PieceStore::create(const std::string& path) {
    const std::string name = name_of(path);
    if (options_.make_directories) {
        const MutexLock lock(mutex_);
        make_directories(directory_->descriptor(), std::string(folder_of(name)));
    }
    return marker_->create(*directory_, name, input_.identity().permissions);
}

void PieceStore::publish(const Piece& piece, TemporaryFile file, bool is_present) {
    const auto present = is_present ? file.present(input_.cancellation()) : std::nullopt;
    const bool is_kept = is_present && judge_present(present, file.path(), designation(piece));
    if (options_.sync && !is_kept) file.sync();  // first: a power failure must not leave half a piece under its name
    MutexLock lock(mutex_);
    if (is_kept) {
        note_kept(*present, file.name());
        return;
    }
    if (options_.sync) note_device(file.identity(), *directory_, std::string(folder_of(file.name())));
    if (options_.replace) {
        replace(std::move(file));
        return;
    }
    // The system lets only one thread at a time into the directory anyway. A thread that waited for this lock would
    // sleep, and waking it takes longer than giving a file its name.
    lock.unlock();
    PublishedFile published = file.publish();
    lock.lock();
    published_.push_back(std::move(published));
}

void PieceStore::seal(const std::string& report, const std::string& manifest) {
    if (input_.cancellation() != nullptr) input_.cancellation()->throw_if_requested();
    {
        const MutexLock lock(mutex_);
        if (options_.sync && !sync()) throw_errno(directory_->path());
    }
    const auto text_of = [&](const SideFile& side) -> const std::string& {
        return is_report(side) ? report : manifest;
    };
    std::vector<std::pair<const SideFile*, TemporaryFile>> files;
    files.reserve(side_files_.size());
    for (SideFile& side : side_files_) {
        if (side.is_stream) {
            write_all(side.stream.get(), bytes_of(text_of(side)), side.path, input_.cancellation());
            side.stream.close(side.path);
        } else if (auto file = make(side, text_of(side))) {
            files.emplace_back(&side, std::move(*file));
        }
    }
    // If the run is killed from here on, nothing is put back: only the report and the manifest are missing.
    const MutexLock lock(mutex_);
    if (options_.replace) marker_->note_success();
    for (auto& [side, file] : files) {
        if (options_.replace) {
            replace(std::move(file));
        } else {
            published_.push_back(file.publish());
        }
        if (options_.sync) side->directory->sync();
    }
}

void PieceStore::commit() noexcept {
    const MutexLock lock(mutex_);
    for (PublishedFile& file : published_) file.keep();
    published_.clear();
    // Sync while the marker exists: it lets a later run remove the replaced files after a power failure.
    if (options_.sync && options_.replace) sync();
    made_directories_.clear();
    marker_.reset();
}

void PieceStore::open_directory() {
    directory_.emplace(folder_);
    trust_.set_output_folder(stat_of(directory_->descriptor(), directory_->path()));
}

// Whether the folder of a name exists. Throws if the folder must not be used, or if it is missing and may not be
// created.
bool PieceStore::has_folder(const std::string& folder) const {
    for (std::size_t end = folder.find('/'); end != std::string::npos; end = folder.find('/', end + 1)) {
        const std::string part = folder.substr(0, end);
        if (trust_.has_folder(directory_->descriptor(), part, directory_->path_of(part))) continue;
        require_making(directory_->path_of(folder));
        return false;
    }
    return true;
}

// Throws unless missing directories may be created.
void PieceStore::require_making(const std::string& folder) const {
    if (options_.make_directories) return;
    throw MissingDirectoryError("the output directory '" + folder.substr(0, folder.size() - 1) + "' does not exist");
}

// Like `mkdir -p`, but gives access only to users who can read the input, and remembers what was created. `folder` ends
// with a slash, or is empty.
void PieceStore::make_directories(int at, const std::string& folder) {
    if (folder == last_made_) return;
    for (std::size_t end = folder.find('/', 1); end != std::string::npos; end = folder.find('/', end + 1)) {
        const std::string part = folder.substr(0, end);
        // Noted first, because nothing may throw once the directory exists.
        made_directories_.push_back({at, part});
        if (::mkdirat(at, part.c_str(), folder_permissions(input_)) == 0) continue;
        const int error = errno;
        made_directories_.pop_back();
        const bool is_named = at == AT_FDCWD;  // by the user
        const std::string path = is_named ? part : directory_->path_of(part);
        if (error != EEXIST) throw SystemError(error, std::generic_category(), path);
        if (!is_named) trust_.has_folder(at, part, path);
    }
    last_made_ = folder;
}

// Like check(), returns whether the name belongs to an existing file that stays if its content is correct.
bool PieceStore::check_name(const Directory& directory, const std::string& name) const {
    const auto taken = find_replaceable(directory, name, input_);
    if (!taken) return false;
    const bool may_stay = options_.resume || (was_killed_ && !options_.replace);
    if (may_stay && S_ISREG(taken->st_mode)) return true;
    if (!options_.replace) throw SystemError(EEXIST, std::generic_category(), directory.path_of(name));
    return false;
}

void PieceStore::note_kept(const FileIdentity& file, const std::string& name) {
    has_kept_ = true;
    if (options_.sync) note_device(file, *directory_, std::string(folder_of(name)));
    if (options_.replace) own_files_.emplace(file.device, file.inode);
}

// Whether the existing file stays. `present` is the file if it has the correct content. Throws if the file may neither
// stay nor be replaced.
bool PieceStore::judge_present(const std::optional<FileIdentity>& present, const std::string& path,
                               const std::string& what) const {
    const char* const doubt = present ? trust_.doubt_of(*present) : nullptr;
    if (present && doubt == nullptr) return true;
    if (options_.replace) return false;
    if (!options_.resume) throw SystemError(EEXIST, std::generic_category(), path);
    throw OtherPieceError(path, present ? std::string("exists, but ") + doubt : "exists and differs from " + what);
}

// Publishes under options.replace, where two paths may lead to the same file. Never replaces a file that this run has
// published.
void PieceStore::replace(TemporaryFile file) {
    const FileIdentity identity = file.identity();
    own_files_.emplace(identity.device, identity.inode);
    const auto taken = find_replaceable(file.directory(), file.name(), input_);
    if (taken && own_files_.contains({taken->st_dev, taken->st_ino})) {
        throw OutputError(file.path(), "is already a piece of this run");
    }
    published_.push_back(taken ? marker_->exchange(std::move(file)) : file.publish());
}

// Keeps a descriptor of the folder, through which sync() reaches the file's device.
void PieceStore::note_device(const FileIdentity& file, const Directory& directory, const std::string& folder) {
    if (devices_.contains(file.device)) return;
    devices_.emplace(file.device, directory.open(folder));
}

// Waits until everything on the devices of the pieces is on stable storage. Returns false if one fails; errno says why.
bool PieceStore::sync() const noexcept {
    return std::ranges::all_of(devices_, [](const auto& device) { return ::syncfs(device.second.get()) == 0; });
}

// Writes the text to a file that does not have its name yet. Returns nothing if the existing file has this content.
std::optional<TemporaryFile> PieceStore::make(const SideFile& side, const std::string& text) {
    TemporaryFile file = marker_->create(*side.directory, side.name, input_.identity().permissions);
    write_all(file.descriptor(), bytes_of(text), side.path, input_.cancellation());
    if (side.is_present) {
        const auto present = file.present(input_.cancellation());
        if (judge_present(present, side.path, "the " + std::string(side.what))) return std::nullopt;
    }
    if (options_.sync) file.sync();
    return file;
}

}  // namespace cleave
