// The files of one run. Each gets its name when it is complete. Unless the run succeeds, all of them are taken back.
//
//   begin    lock the run marker (core/writer/run_marker.h); clean up after killed runs
//   create   open a file without a name or, where such files are not supported, one with a hidden name, which is noted
//            in the marker
//   publish  give the file its name; to replace a file, exchange names: the old file gets a hidden name
//   seal     sync; note success in the marker; publish the report and the manifest, after all pieces
//   commit   remove the files that were replaced, and the marker
//   else     remove the pieces, put replaced files back, remove the directories that were created, remove the marker
//
// Under options.sync all this also holds across a power failure, because each step is durable before the next step that
// relies on it: the marker before the first piece; the bytes of a piece before it has its name; the note of a file that
// is replaced before the exchange; the names of all pieces before the note of success; and that note before the
// manifest.
//
// If the process is killed, the marker stays. The next run that finds it uses its notes to put replaced files back and
// to remove hidden files; a run that writes the same names also keeps existing files that are identical to its pieces.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "cleave/input.h"
#include "cleave/names.h"
#include "cleave/output.h"
#include "core/reader/copy.h"
#include "core/reader/temporary_file.h"
#include "core/writer/run_marker.h"
#include "core/writer/trust.h"

namespace cleave {

// Members may be called from several threads, except begin(), seal() and commit().
class PieceStore {
public:
    using Parts = std::span<const BlobRange>;  // of the input

    // Names come from `namer`, and `input` must not be overwritten; both must outlive the store. `has_rules`: see
    // Trust. Throws SystemError, and ArgumentError for a missing directory that may not be created.
    PieceStore(const Input& input, const PieceNamer& namer, const OutputOptions& options, bool has_rules);
    PieceStore(const PieceStore&) = delete;
    PieceStore& operator=(const PieceStore&) = delete;
    // Removes everything that the store has published or created, unless commit() was called. Under options.resume,
    // complete pieces stay nevertheless, if the input has not changed and keep_nothing() was not called.
    ~PieceStore();

    // Call this before any file is created. Throws OutputError if another live run could create the same files, and
    // SystemError.
    void begin();

    // Throws if a piece cannot have this path. Its directory must exist, and other users must not be able to change it
    // (see Trust), or the run must be allowed to create it. An existing file must be one that may stay or be replaced.
    // Returns whether there is such a file and it stays if it proves to be the piece: see holds(). Throws
    // SystemError, OutputError, ArgumentError.
    bool check(const std::string& path);

    // Call this before calling check() for `count` paths in a row. A directory with few entries is then listed once,
    // because looking up a million names takes a tenth of the time it takes to create the files. If the file system
    // treats a different spelling as the same name, publish() notices.
    void expect_checks(std::size_t count);

    // Like check(), but for the report and the manifest. Call this after begin(), if that is called at all.
    void check_side_files();

    // "manifest" or "report" if the path leads to that file, as far as the directories exist; else nullptr. Call this
    // after check_side_files().
    const char* side_file_at(const std::string& path) const;

    // Whether the file at `path` is the piece, that is, consists of these parts one after the other. If so, it stays
    // even if the run fails. check() must have returned true for `path`. Throws SystemError; OutputError if the
    // file is not the piece and may not be replaced; Cancelled.
    bool holds(const Piece& piece, const std::string& path, Parts parts);
    // Whether a file at `path` has this content. Throws SystemError, Cancelled.
    bool has_content(const std::string& path, Parts parts) const;

    // For a dry run: opens the file at `path` for reading, or returns a closed descriptor if it is not a regular file.
    // check() must have returned true for `path`. Throws SystemError.
    Fd open_present(const std::string& path) const { return open_regular(*directory_, name_of(path)); }
    // Throws what holds() throws, unless the file may stay or be replaced. `present` is the file if it is the piece.
    void require_piece(const std::optional<FileIdentity>& present, const Piece& piece, const std::string& path) const;
    // Throws what seal() would throw if an existing report or manifest differs and may not be replaced.
    void check_texts(const std::string& report, const std::string& manifest) const;

    // Creates a file that will get this path; check() must have been called for it. Creates the directory if needed.
    // The file's mode is FileIdentity::permissions of the input, less the umask. Throws SystemError.
    TemporaryFile create(const std::string& path);

    // Gives the file its name. If `is_present` (check() returned true) and the existing file is the piece already, that
    // file stays instead. Throws what holds() throws, and OutputError if the existing file is a piece of this run.
    void publish(const Piece& piece, TemporaryFile file, bool is_present);

    // Call this when all pieces are published. Publishes first the report and then the manifest, if requested.
    // Under options.sync everything is on stable storage afterwards. Throws SystemError, OutputError, Cancelled.
    void seal(const std::string& report, const std::string& manifest);

    // Keeps no piece of this run, even under options.resume. Call this after the last call from another thread.
    void keep_nothing() noexcept { may_keep_ = false; }

    // Call this after seal(), when the run has succeeded: what is published stays.
    void commit() noexcept;

    // For a dry run: throws SystemError if this process may not create files in the directory of the pieces, in
    // the directory where that one would be created, or in the directories of the report and the manifest.
    void check_access() const;

private:
    std::string name_of(const std::string& path) const { return path.substr(folder_.size()); }
    void open_directory();
    bool has_folder(const std::string& folder) const;
    void require_making(const std::string& folder) const;
    void make_directories(int at, const std::string& folder) CLEAVE_REQUIRES(mutex_);
    bool check_name(const Directory& directory, const std::string& name) const;
    bool judge_present(const std::optional<FileIdentity>& present, const std::string& path,
                       const std::string& what) const;
    void note_kept(const FileIdentity& file, const std::string& name) CLEAVE_REQUIRES(mutex_);
    void replace(TemporaryFile file) CLEAVE_REQUIRES(mutex_);
    void note_device(const FileIdentity& file, const Directory& directory, const std::string& folder)
        CLEAVE_REQUIRES(mutex_);
    bool sync() const noexcept CLEAVE_REQUIRES(mutex_);
    // A file beside the pieces: the report or the manifest.
    struct SideFile {
        const char* what;
        std::string path;
        bool is_stream;  // a descriptor, a pipe or a device, opened by begin():
        Fd stream;
        std::string name;
        const Directory* directory = nullptr;  // directory_, or the member below:
        std::optional<Directory> own_directory;
        bool is_present = false;  // there is a file of this name that may have the same content
    };
    void add_side_file(const char* what, const std::string& path);
    void check(SideFile& side) CLEAVE_EXCLUDES(mutex_);
    bool leads_to(const std::string& path, const SideFile& side) const;
    static bool is_report(const SideFile& side) { return std::string_view(side.what) == "report"; }
    std::optional<TemporaryFile> make(const SideFile& side, const std::string& text) CLEAVE_EXCLUDES(mutex_);

    const Input& input_;
    const PieceNamer& namer_;
    const OutputOptions& options_;
    Trust trust_;
    std::string folder_;
    std::optional<Directory> directory_;                     // nothing until it exists
    std::optional<std::unordered_set<std::string>> listed_;  // the names in directory_, set by expect_checks()
    std::deque<SideFile> side_files_;                        // in the order of publishing
    std::unique_ptr<RunMarker> marker_;
    bool was_killed_ = false;            // an earlier run for the same names: RunMarker::was_left()
    bool may_keep_ = true;               // under options.resume, pieces of this run may stay if it fails
    std::atomic<bool> has_kept_{false};  // existing files that are pieces were kept

    Mutex mutex_;
    struct MadeDirectory {
        int at;
        std::string path;
    };
    std::vector<MadeDirectory> made_directories_ CLEAVE_GUARDED_BY(mutex_);  // outermost first
    std::string last_made_ CLEAVE_GUARDED_BY(mutex_);
    std::deque<PublishedFile> published_ CLEAVE_GUARDED_BY(mutex_);
    // Under options.replace: device and inode of each piece.
    std::set<std::pair<std::uint64_t, std::uint64_t>> own_files_ CLEAVE_GUARDED_BY(mutex_);
    std::map<std::uint64_t, Fd> devices_ CLEAVE_GUARDED_BY(mutex_);  // the pieces' devices: a directory on each
};

}  // namespace cleave
