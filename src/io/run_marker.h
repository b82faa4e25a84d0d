// The hidden file that says that a run is making files in a directory: `.cleave-ID`, locked by flock(2) while the run
// lives. It tells what a killed run could not take back. Knows no pieces.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>

#include "io/fd.h"
#include "io/temporary_file.h"

namespace cleave {

// For one thread at a time.
class RunMarker {
    struct Key {};

public:
    // Takes the marker of that id, or nullptr if a live run has it. Clears what a killed run left under hidden names:
    // its own files are removed, files that it had replaced are put back. Where the file system has no locks, no run
    // counts as live or killed. Throws std::system_error, and OutputError if what has the marker's name is not a
    // regular file of the caller without other names: what others write must not get a user's files removed, renamed
    // or written to. Such a file stays as it is. `directory` must outlive the marker.
    //
    // With `sync` the marker does its work after a loss of power too: it is on stable storage when this function
    // returns, and so is what the functions below tell it.
    static std::unique_ptr<RunMarker> take(const Directory& directory, std::uint64_t id, bool sync = false);

    // For take() alone.
    RunMarker(Key key, const Directory& directory, std::string name, bool sync);
    RunMarker(const RunMarker&) = delete;
    RunMarker& operator=(const RunMarker&) = delete;
    // Removes the marker, unless leave() was called.
    ~RunMarker();

    // A run of the same id was killed; what it published may still be there.
    bool was_left() const noexcept { return was_left_; }

    // Of the marker in the directory.
    const std::string& name() const noexcept { return name_; }

    // Of the marker, open as long as the run lives.
    int descriptor() const noexcept { return fd_.get(); }

    // A name that no other file has: neither one of a live run, nor one that an earlier run has left for good.
    std::string next_hidden_name();

    // To be called before a file gets the hidden name, and again, with the file's inode, before it exchanges names with
    // the file called `name`. Both names are relative to the directory. Throws std::system_error with the path of
    // `name`.
    void note(const std::string& hidden_name, const std::string& name, ino_t inode = 0);

    // From here on replaced files must not be put back. Throws std::system_error.
    void note_success();

    // Revokes note_success(), if the marker can be written to: the run failed after all. Does nothing if note_success()
    // was not called.
    void note_failure() noexcept;

    // The marker stays, for a later run to find.
    void leave() noexcept { stays_ = true; }

private:
    bool open();
    bool start(bool locked);
    void require_own(const struct stat& status) const;
    void sync(const std::string& path) const;

    const Directory* directory_;
    std::string name_;
    Fd fd_;
    bool was_left_ = false;
    bool stays_ = true;  // until the marker is known to be this run's
    bool has_success_ = false;
    bool syncs_;
    std::uint64_t next_number_;
};

// Clears, as far as it may, what killed runs left under hidden names, and their markers. Ignores runs of other users,
// and all but the first 16,384 entries of a large directory. With `sync`, a marker stays until the rest is on stable
// storage.
void clear_leftovers(const Directory& directory, bool sync = false);

}  // namespace cleave
