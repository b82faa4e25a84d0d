#include "core/writer/lone_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <span>
#include <system_error>

#include "cleave/error.h"
#include "core/writer/stream_path.h"

namespace cleave {

LoneFile::LoneFile(const std::string& path, const Input& input)
    : path_(path), permissions_(input.identity().permissions), cancellation_(input.cancellation()) {
    if (leads_to_stream(path)) {
        stream_ = open_stream(path, cancellation_);
        return;
    }
    const std::string folder(folder_of(path));
    name_ = path.substr(folder.size());
    directory_.emplace(folder);
    struct stat status;
    if (::fstatat(directory_->descriptor(), name_.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) {
        throw SystemError(EEXIST, std::generic_category(), path);
    }
    if (errno != ENOENT) throw_errno(path);
}

void LoneFile::publish(const std::string& text) {
    const std::span<const std::uint8_t> bytes(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
    if (!directory_) {
        write_all(stream_.get(), bytes, path_, cancellation_);
        stream_.close(path_);
        return;
    }
    TemporaryFile file =
        TemporaryFile::hidden(*directory_, name_, ".cleave-report-" + std::to_string(::getpid()), permissions_);
    write_all(file.descriptor(), bytes, path_, cancellation_);
    published_.emplace(file.publish());
}

void LoneFile::commit() noexcept {
    if (published_) published_->keep();
}

}  // namespace cleave
