// The hidden file `.cleave-ID`, which shows that a run is creating files in a directory. The run keeps it locked with
// flock(2) until it ends. The marker records what to undo if the run is killed, so it also creates the run's files.
// Knows nothing about pieces.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>

#include "base/mutex.h"
#include "core/reader/fd.h"
#include "core/reader/temporary_file.h"

namespace cleave {

// The id of a run that writes files with names of this pattern. Runs that could create the same files have the same id,
// whatever path leads to the directory. Throws SystemError.
std::uint64_t run_id(const Directory& directory, const std::string& pattern);

// For one thread at a time, except create(), exchange(), next_hidden_name() and note().
class RunMarker {
    struct Key {};

public:
    // Takes the marker with that id; returns nullptr if a live run has it. Cleans up what a killed run left under
    // hidden names: removes the files that it created, and puts back files that it had replaced. Where the file system
    // has no locks, no run counts as live or killed. `directory` must outlive the marker.
    //
    // Throws SystemError, and OutputError if the file with the marker's name is not a regular file of the caller
    // with no other hard links. Such a file is left alone: what other users write must not cause a user's files to be
    // removed, renamed or written to.
    //
    // With `sync`, the marker survives a loss of power too: it is on stable storage when this function returns, and so
    // is everything noted by the functions below when they return.
    static std::unique_ptr<RunMarker> take(const Directory& directory, std::uint64_t id, bool sync = false);

    // Used only by take().
    RunMarker(Key key, const Directory& directory, std::string name, bool sync);
    RunMarker(const RunMarker&) = delete;
    RunMarker& operator=(const RunMarker&) = delete;
    // Removes the marker, unless leave() was called.
    ~RunMarker();

    // Whether a run with the same id was killed; the files that it published may still be there.
    bool was_left() const noexcept { return was_left_; }

    // The marker's descriptor, which stays open until the run ends.
    int descriptor() const noexcept { return fd_.get(); }

    // Creates a file that will get this name. Where it cannot be nameless until then, it has a hidden name, which is
    // noted if `directory` is the marker's own. Throws SystemError.
    TemporaryFile create(const Directory& directory, const std::string& name, mode_t permissions);

    // Publishes a file in exchange for the one that has its name. The same is noted. Throws SystemError.
    PublishedFile exchange(TemporaryFile file);

    // Returns a name that no other file has, not even a file that an earlier run has left behind for good.
    std::string next_hidden_name() CLEAVE_EXCLUDES(mutex_);

    // Call this before a file gets the hidden name, and again, with the file's inode, before it exchanges names with
    // the file called `name`. Both names are relative to the directory. Throws SystemError with the path of
    // `name`.
    void note(const std::string& hidden_name, const std::string& name, ino_t inode = 0) CLEAVE_EXCLUDES(mutex_);

    // From here on, replaced files must not be put back. Throws SystemError.
    void note_success();

    // Call this if the run fails after all: revokes note_success() if the marker can be written to. Does nothing if
    // note_success() was not called.
    void note_failure() noexcept;

    // Keeps the marker for a later run to find.
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
    // Whether this process can give an open file a name. Even then, the file system might not support files without a
    // name.
    bool has_unnamed_files_ = false;
    Mutex mutex_;
    std::uint64_t next_number_ CLEAVE_GUARDED_BY(mutex_);
};

// Throws ArgumentError if the name begins like the names of markers and hidden files. Ignores case, as some file
// systems do.
void require_unreserved(const std::string& name);

// Whether the directory has markers of runs, which live or were killed. Looks at as many entries as clear_leftovers().
bool has_markers(const Directory& directory);

// Cleans up, as far as possible, what killed runs left under hidden names, and removes their markers. Ignores other
// users' runs, and all but the first 16,384 entries of a large directory. With `sync`, a marker is removed only after
// the other changes are on stable storage.
void clear_leftovers(const Directory& directory, bool sync = false);

}  // namespace cleave
