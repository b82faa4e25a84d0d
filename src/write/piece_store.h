// The files of one run. Each gets its name when it is complete. Unless the run succeeds, all are taken back.
//
//   begin    lock the run marker (io/run_marker.h); clear what killed runs left
//   create   open a file without a name or, where there are no such files, with a hidden name, noted in the marker
//   publish  give the file its name; to replace a file, exchange names: the old file gets a hidden name
//   seal     sync; note success in the marker; publish the report and the manifest, after all pieces
//   commit   remove the files that were replaced, and the marker
//   else     remove the pieces, put replaced files back, remove the directories that were made, and the marker
//
// Under options.sync a loss of power changes nothing of this, because each step is durable before the next one that
// relies on it: the marker before the first piece; the bytes of a piece before it has its name; the note of a file that
// is replaced before the exchange; the names of all pieces before the success; that before the manifest.
//
// If the process is killed, the marker stays. The next run that finds the marker puts replaced files back and removes
// hidden files by its notes; a run for the same names also keeps existing files that equal its pieces.
#pragma once

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
#include "io/copy.h"
#include "io/run_marker.h"
#include "io/temporary_file.h"
#include "write/trust.h"

namespace cleave {

// Members may be called from several threads, except begin(), seal() and commit().
class PieceStore {
public:
    using Parts = std::span<const BlobRange>;  // of the input

    // Names come from `namer`, and `input` must not be overwritten; both must outlive the store. `has_rules`: see
    // Trust. Throws std::system_error, std::invalid_argument for a directory that is missing and may not be made.
    PieceStore(const Input& input, const PieceNamer& namer, const OutputOptions& options, bool has_rules);
    PieceStore(const PieceStore&) = delete;
    PieceStore& operator=(const PieceStore&) = delete;
    // Removes everything that the store has published or made, unless commit() was called; under options.resume
    // complete pieces stay even then, if the input has not changed and keep_nothing() was not called.
    ~PieceStore();

    // To be called before any file is made. Throws OutputError if a live run may create the same files,
    // std::system_error.
    void begin();

    // Throws unless a piece can get this path: its directory must be there, and others must not be able to change it
    // (Trust), or it may be made; and nothing that must not be replaced has the name. Returns whether a file has the
    // name that stays if it is the piece: see holds(). Throws std::system_error, OutputError, std::invalid_argument.
    bool check(const std::string& path);

    // To be called before check() is called for that many paths, one after the other. A directory with few entries is
    // then listed once: to look up a million names takes a tenth of the time in which the files are made. If the file
    // system takes another spelling of a name for the same, publish() finds it.
    void expect_checks(std::size_t count);

    // The same for the report and the manifest. After begin(), if that is called at all.
    void check_side_files();

    // "manifest" or "report" if the path leads to that file, as far as the directories are there; else nullptr. After
    // check_side_files().
    const char* side_file_at(const std::string& path) const;

    // Whether the file of that path, for which check() was true, is the piece: it consists of these parts, one after
    // the other. Then it stays, even if the run fails. Throws std::system_error and OutputError if it is not the piece
    // and may not be replaced; Cancelled.
    bool holds(const Piece& piece, const std::string& path, Parts parts);
    // Whether a file of that path has this content. Throws std::system_error, Cancelled.
    bool has_content(const std::string& path, Parts parts) const;

    // For a dry run. The file of that path, for which check() was true, to be read; closed if it is no regular file.
    // Throws std::system_error.
    Fd open_present(const std::string& path) const { return open_regular(*directory_, name_of(path)); }
    // Throws as holds() unless the file may stay or be replaced. `present` is the file if it is the piece.
    void require_piece(const std::optional<FileIdentity>& present, const Piece& piece, const std::string& path) const;
    // Throws as seal() would if the report or the manifest exists, is another, and may not be replaced.
    void check_texts(const std::string& report, const std::string& manifest) const;

    // A file that will have that path, for which check() was called. Makes the directory if need be. The file's mode is
    // FileIdentity::permissions of the input, less the umask. Throws std::system_error.
    TemporaryFile create(const std::string& path);

    // Gives the file its name. If `is_present` (check() was true) and the existing file is the piece already, that file
    // stays instead. Throws as holds(), and OutputError if the existing file is a piece of this run.
    void publish(const Piece& piece, TemporaryFile file, bool is_present);

    // To be called when all pieces are published. Publishes the report and then the manifest, if there are to be such
    // files. Under options.sync
    // everything is on stable storage afterwards. Throws std::system_error, OutputError, Cancelled.
    void seal(const std::string& report, const std::string& manifest);

    // options.resume lets no piece of this run stay. After the last call from another thread.
    void keep_nothing() noexcept { may_keep_ = false; }

    // After seal(): the run has succeeded, and what is published stays.
    void commit() noexcept;

    // For a dry run: throws std::system_error if this process may not make files in the directory of the pieces, or
    // where that would be made, or in the directories of report and manifest.
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
    std::optional<TemporaryFile> create_unnamed(const Directory& directory, const std::string& name,
                                                mode_t permissions) const;
    TemporaryFile create_hidden(const std::string& name, mode_t permissions) CLEAVE_EXCLUDES(mutex_);
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
        const Directory* directory = nullptr;  // directory_, or this:
        std::optional<Directory> own_directory;
        bool is_present = false;  // a file has its name that may be the same
    };
    void add_side_file(const char* what, const std::string& path);
    void check(SideFile& side) CLEAVE_EXCLUDES(mutex_);
    bool leads_to(const std::string& path, const SideFile& side) const;
    static bool is_report(const SideFile& side) { return std::string_view(side.what) == "report"; }
    void write(const SideFile& side, int descriptor, const std::string& text) const;
    std::optional<TemporaryFile> make(const SideFile& side, const std::string& text) CLEAVE_EXCLUDES(mutex_);
    TemporaryFile create(const SideFile& side) CLEAVE_EXCLUDES(mutex_);

    const Input& input_;
    const PieceNamer& namer_;
    const OutputOptions& options_;
    Trust trust_;
    std::string folder_;
    std::optional<Directory> directory_;                     // nothing until it is made
    std::optional<std::unordered_set<std::string>> listed_;  // the names in directory_, by expect_checks()
    std::deque<SideFile> side_files_;                        // in the order in which they are published
    std::unique_ptr<RunMarker> marker_ CLEAVE_POINTEE_GUARDED_BY(mutex_);
    bool was_killed_ = false;            // an earlier run for the same names: RunMarker::was_left()
    bool has_unnamed_files_ = false;     // this process can give an open file a name; its file system may still
                                         // have no files without a name
    bool may_keep_ = true;               // pieces of this run, under options.resume, if it fails
    std::atomic<bool> has_kept_{false};  // existing files that are pieces

    Mutex mutex_;
    struct MadeDirectory {
        int at;
        std::string path;
    };
    std::vector<MadeDirectory> made_directories_ CLEAVE_GUARDED_BY(mutex_);  // outermost first
    std::string last_made_ CLEAVE_GUARDED_BY(mutex_);
    std::deque<PublishedFile> published_ CLEAVE_GUARDED_BY(mutex_);
    // Under options.replace: device and inode of pieces.
    std::set<std::pair<std::uint64_t, std::uint64_t>> own_files_ CLEAVE_GUARDED_BY(mutex_);
    std::map<std::uint64_t, Fd> devices_ CLEAVE_GUARDED_BY(mutex_);  // of the pieces: a directory on each
};

}  // namespace cleave
