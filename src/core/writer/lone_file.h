// One file that is published on its own, or a stream: what join puts together, an index, or a report where there are no
// piece files. It appears under its name once it is complete, and only if the run succeeds. PieceStore does the same
// for the many files of a run; both have a RunMarker, which creates the file and cleans up after a kill.
#pragma once

#include <sys/stat.h>

#include <memory>
#include <optional>
#include <string>

#include "cleave/input.h"
#include "core/reader/fd.h"
#include "core/reader/temporary_file.h"
#include "core/writer/run_marker.h"

namespace cleave {

// Throws SystemError if this process may not create files in `folder`, which ends with a slash or is empty. If the
// folder is missing, the nearest existing folder above it counts.
void require_access(std::string folder);

// What has the name, and may be replaced by a file: a regular file or a link; nothing if the name is free. Throws
// OutputError for anything else and for the input, and SystemError.
std::optional<struct stat> find_replaceable(const Directory& directory, const std::string& name, const Input& input);

// For use by one thread. `input` must outlive the object.
class LoneFile {
public:
    // Opens the directory, in which the caller must be able to create files, or the path itself if it leads to a
    // descriptor, a pipe or a device. Unless `replace`, the name must not be taken, except where a run was killed: a
    // file that it left stays if it is the same. The file will have the permissions of the input, but at most `most`,
    // less the umask. Throws SystemError, ArgumentError for a reserved name, and what find_replaceable() throws.
    LoneFile(const std::string& path, const Input& input, bool replace = false, mode_t most = 0777);
    LoneFile(const LoneFile&) = delete;
    LoneFile& operator=(const LoneFile&) = delete;
    // Removes the file, unless commit() was called. What was written to a stream cannot be taken back.
    ~LoneFile() = default;

    bool is_stream() const noexcept { return !directory_; }

    // What to write to. The first call creates the file. Throws SystemError, and OutputError if another live run is
    // writing it.
    int descriptor();

    // Gives the file its name, or closes the stream. Throws what descriptor() throws, OutputError if the name has been
    // taken since, and Cancelled.
    void publish();
    // The same after writing the text.
    void publish(const std::string& text);

    // Call this after publish(), when the run has succeeded: the file stays, and what it replaced is removed.
    void commit() noexcept;

private:
    void note_file();
    bool has_file_of_before() const;

    const std::string path_;
    const Input& input_;
    const bool replaces_;
    const mode_t permissions_;
    std::string name_;                    // in directory_
    std::optional<FileIdentity> before_;  // what had the name when the run began
    bool may_stay_ = false;               // the file that has the name may be a killed run's
    Fd stream_;
    std::optional<Directory> directory_;
    std::unique_ptr<RunMarker> marker_;
    std::optional<TemporaryFile> file_;
    std::optional<PublishedFile> published_;
};

}  // namespace cleave
