// The files of one run: published under their names when they are complete, and taken back together unless the run
// succeeds.
#pragma once

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cleave/input.h"
#include "cleave/names.h"
#include "cleave/output.h"
#include "io/copy.h"
#include "io/run_marker.h"
#include "io/temporary_file.h"

namespace cleave {

// Members may be called from several threads, but for begin(), seal() and commit().
class PieceStore {
public:
    using Parts = std::span<const BlobRange>;  // of the input

    // Names come from `namer`, and `input` must not be overwritten; both must outlive the store. Throws
    // std::system_error, std::invalid_argument for a directory that is missing and may not be made.
    PieceStore(const Input& input, const PieceNamer& namer, const OutputOptions& options);
    PieceStore(const PieceStore&) = delete;
    PieceStore& operator=(const PieceStore&) = delete;
    // Removes everything that the store has published or made, unless commit() was called; under options.resume
    // complete pieces stay all the same, if the input is what it was.
    ~PieceStore();

    // To be called before any file is made: clears what killed runs have left, and keeps other runs from the same
    // names. Throws OutputError if a live run is after them, std::system_error.
    void begin();

    // Makes sure that the path can be given to a piece: its directory is there, or may be made, and nothing has its
    // name that may not be replaced. True if a file has it that is to stay if it is the very piece; holds() tells.
    // Throws std::system_error, OutputError, std::invalid_argument.
    bool check(const std::string& path);

    // The same for the manifest. After begin(), if that is called at all.
    void check_manifest();

    // Whether a piece of that path would be the manifest's file, as far as that is known before there is such a file.
    // After check_manifest().
    bool is_manifest(const std::string& path) const;

    // Whether the file of that path, of which check() was true, is the piece: consists of these parts, one after the
    // other. Then it stays, whatever becomes of the run. Throws std::system_error and OutputError if it is not and may
    // not be replaced; Cancelled.
    bool holds(const Piece& piece, const std::string& path, Parts parts);
    // Whether a file of that path has this content. Throws std::system_error, Cancelled.
    bool has(const std::string& path, Parts parts) const;

    // A file that will have that path, for which check() was called, in a directory that is made if need be. Its
    // mode is FileIdentity::permissions of the input, less the umask. Throws std::system_error.
    TemporaryFile create(const std::string& path);

    // The file gets its name; but if check() was true for it, and the file that has it is the piece already, that one
    // stays. Throws as holds(), and OutputError if what has the name is a piece of this run.
    void publish(const Piece& piece, TemporaryFile file, bool is_present);

    // All pieces are published. The manifest, if there is to be one, appears after them. Under options.sync all of it
    // is on stable storage then. Throws std::system_error, OutputError, Cancelled.
    void seal(const std::string& manifest);

    // After seal(): the run has succeeded, and what is published stays.
    void commit() noexcept;

    // Throws std::system_error if this process may not make files in the directory of the pieces, or where that would
    // be made, or in the directory of the manifest. For a run that only says what another one would do.
    void check_access() const;

private:
    std::string name_of(const std::string& path) const { return path.substr(folder_.size()); }
    void require_making(const std::string& folder) const;
    void make_directories(int at, const std::string& folder);
    bool check_name(const Directory& directory, const std::string& name) const;
    bool judge_present(bool is_right, const std::string& path, const std::string& what) const;
    std::optional<TemporaryFile> create_unnamed(const Directory& directory, const std::string& name,
                                                mode_t permissions) const;
    TemporaryFile create_hidden(const std::string& name, mode_t permissions);
    void note_kept(const FileIdentity& file);
    void publish_in_turn(TemporaryFile file);
    void note_device(const FileIdentity& file, const std::string& folder);
    void sync() const;
    void write_manifest(int descriptor, const std::string& text) const;
    std::optional<TemporaryFile> make_manifest(const std::string& text);
    TemporaryFile create_manifest();
    void sync_manifest() const;

    const Input& input_;
    const PieceNamer& namer_;
    const OutputOptions& options_;
    std::string folder_;
    std::optional<Directory> directory_;  // nothing as long as it is to be made
    bool makes_manifest_;
    bool streams_manifest_;  // into a descriptor, a pipe or a device, open from begin() on:
    Fd manifest_stream_;
    std::string manifest_name_;
    const Directory* manifest_directory_ = nullptr;  // directory_, or this:
    std::optional<Directory> own_manifest_directory_;
    bool has_manifest_ = false;  // there is one that may stay
    std::unique_ptr<RunMarker> marker_;
    bool has_unnamed_files_ = false;     // files can be made without a name and get one later, unless their file system
                                         // has no such files
    std::atomic<bool> has_kept_{false};  // pieces that were there

    std::mutex mutex_;  // of what is below
    struct MadeDirectory {
        int at;
        std::string path;
    };
    std::vector<MadeDirectory> made_directories_;  // outermost first
    std::string last_made_;
    std::deque<PublishedFile> published_;
    std::set<std::pair<std::uint64_t, std::uint64_t>> own_files_;  // under options.replace: device and inode of pieces
    std::map<std::uint64_t, Fd> devices_;                          // that pieces lie on, each by a directory
};

}  // namespace cleave
