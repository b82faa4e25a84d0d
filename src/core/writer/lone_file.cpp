#include "core/writer/lone_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "base/text_bytes.h"
#include "cleave/error.h"
#include "cleave/output.h"
#include "core/reader/input_parts.h"
#include "core/writer/stream_path.h"

namespace cleave {

void require_access(std::string folder) {
    if (folder.size() > 1) folder.pop_back();
    if (folder.empty()) folder = ".";
    if (::access(folder.c_str(), W_OK | X_OK) == 0) return;
    if (errno != ENOENT || folder == ".") throw_errno(folder);
    require_access(std::string(folder_of(folder)));
}

std::optional<struct stat> find_replaceable(const Directory& directory, const std::string& name, const Input& input) {
    const std::string path = directory.path_of(name);
    struct stat status;
    if (::fstatat(directory.descriptor(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
        if (errno == ENOENT) return std::nullopt;
        throw_errno(path);
    }
    // The name may be the input's, directly or through a link.
    struct stat target;
    const bool has_target = ::fstatat(directory.descriptor(), name.c_str(), &target, 0) == 0;
    if (has_target && InputParts::is_of_file(input, identity_of(target))) {
        throw OutputError(path, "would overwrite the input");
    }
    // A link itself is replaced, not its target. Links to devices and open descriptors, such as /dev/stdout, belong to
    // the system.
    const bool is_file = !has_target || S_ISREG(target.st_mode) || S_ISDIR(target.st_mode);
    if (S_ISREG(status.st_mode) || (S_ISLNK(status.st_mode) && is_file && !leads_to_stream(path))) return status;
    throw OutputError(path, "exists and is not a regular file");
}

LoneFile::LoneFile(const std::string& path, const Input& input, bool replace, mode_t most)
    : path_(path), input_(input), replaces_(replace), permissions_(input.identity().permissions & most) {
    if (leads_to_stream(path)) {
        stream_ = open_stream(path, input.cancellation());
        return;
    }
    const std::string folder(folder_of(path));
    name_ = path.substr(folder.size());
    require_unreserved(name_);
    directory_.emplace(folder);
    require_access(folder);
    note_file();
    if (!before_ || replace) return;
    may_stay_ = has_markers(*directory_);
    if (!may_stay_) throw SystemError(EEXIST, std::generic_category(), path);
}

void LoneFile::note_file() {
    const auto present = find_replaceable(*directory_, name_, input_);
    before_ = present ? std::optional(identity_of(*present)) : std::nullopt;
}

bool LoneFile::has_file_of_before() const {
    const auto present = find_replaceable(*directory_, name_, input_);
    return present ? before_ && before_->is_same_file(identity_of(*present)) : !before_;
}

int LoneFile::descriptor() {
    if (is_stream()) return stream_.get();
    if (!file_) {
        // What follows may put back a file that a killed run has replaced.
        const bool is_as_before = replaces_ && has_file_of_before();
        marker_ = RunMarker::take(*directory_, run_id(*directory_, name_));
        if (!marker_) throw OutputError(path_, "another run is writing it");
        clear_leftovers(*directory_);
        if (is_as_before) note_file();
        file_.emplace(marker_->create(*directory_, name_, permissions_));
    }
    return file_->descriptor();
}

void LoneFile::publish() {
    if (input_.cancellation() != nullptr) input_.cancellation()->throw_if_requested();
    if (is_stream()) return stream_.close(path_);
    descriptor();
    if (may_stay_ && file_->present(input_.cancellation())) {
        file_.reset();
    } else if (replaces_ && find_replaceable(*directory_, name_, input_)) {
        // Another file may be a piece of this run.
        if (!has_file_of_before()) throw OutputError(path_, "another file has taken the name since this run began");
        published_.emplace(marker_->exchange(std::move(*file_)));
        marker_->note_success();
    } else {
        published_.emplace(file_->publish());
    }
}

void LoneFile::publish(const std::string& text) {
    write_all(descriptor(), bytes_of(text), path_, input_.cancellation());
    publish();
}

void LoneFile::commit() noexcept {
    if (published_) published_->keep();
    marker_.reset();
}

}  // namespace cleave
