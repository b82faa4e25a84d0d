// A file that a run writes in addition to its data, and that appears only if the run succeeds: a report when there are
// no piece files.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "cleave/input.h"
#include "core/reader/fd.h"
#include "core/reader/temporary_file.h"

namespace cleave {

class LoneFile {
public:
    // Opens the directory, or the path itself if it leads to a descriptor, a pipe or a device. The name must not be
    // taken. Throws SystemError, and OutputError if the path leads to the input.
    LoneFile(const std::string& path, const Input& input);
    LoneFile(const LoneFile&) = delete;
    LoneFile& operator=(const LoneFile&) = delete;
    // Removes the file, unless commit() was called. What was written to a descriptor, a pipe or a device cannot be
    // taken back.
    ~LoneFile() = default;

    // Writes the text and gives the file its name, with the permissions of the input less the umask. Throws
    // SystemError.
    void publish(const std::string& text);

    // Call this after publish(), when the run has succeeded: the file stays.
    void commit() noexcept;

private:
    std::string path_;
    std::string name_;
    const mode_t permissions_;  // of the input
    const Cancellation* cancellation_;
    Fd stream_;
    std::optional<Directory> directory_;
    std::optional<PublishedFile> published_;  // in directory_
};

}  // namespace cleave
