// Pieces as objects in a store, all or none.
//
// Every piece, and the manifest and the report if they go to the store, is an upload that nobody sees. When all of them
// have all their parts, seal() completes them. If anything fails before that, they are aborted; if completing fails,
// what is complete is removed again. An object that replaced another one cannot be taken back: it stays.
//
// A run that is killed leaves its uploads in the store, where nobody sees them. A run with the same names under
// OutputOptions::resume aborts them.
#pragma once

#include <deque>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/helpers.h"
#include "base/mutex.h"
#include "cleave/output.h"
#include "core/reader/remote_file.h"
#include "core/writer/lone_file.h"
#include "core/writer/piece_target.h"
#include "features/stores/object_upload.h"
#include "features/stores/request_queue.h"
#include "features/stores/store.h"
#include "features/stores/store_output.h"

namespace cleave {

class StoreTarget : public PieceTarget {
public:
    // At most `threads` threads compress. What the arguments refer to must outlive the target. If `store` is null,
    // opens the store that the names lead to. Throws ArgumentError for options that only files have, and for a manifest
    // or a report at a URL of another bucket, and what Store() throws.
    StoreTarget(const Store* store, const Input& input, const OutputOptions& options, unsigned threads);
    ~StoreTarget() override;

    // Also throws StoreError, OtherPieceError, SystemError (EEXIST) for an object that exists, and OutputError for the
    // name of the input. A dry run does nothing else.
    std::vector<char> prepare(std::span<const Piece> pieces, const NameList& paths, const PartsOf& parts_of) override;
    std::unique_ptr<PieceOutput> open(const Piece& piece, const std::string& path) override;
    void stop() noexcept override { stop_.request(); }
    const Cancellation* cancellation() const noexcept override { return &stop_; }
    void fail(const std::exception_ptr& failure) noexcept override;
    void throw_failure() override;
    void wait() override;
    std::vector<std::string> take_back() override;
    void seal(const SideTexts& texts) override;
    void commit() noexcept override;

private:
    // The manifest or the report.
    struct SideText {
        std::string path;
        ObjectUpload* object = nullptr;             // if it goes to the store,
        std::unique_ptr<const RemoteFile> present;  // unless it is there, under `resume`
        std::optional<LoneFile> file;               // otherwise
    };

    void open_side(SideText& side, const std::string& path);
    static void publish(SideText& side, const std::string& text);
    static void compare_side(const SideText& side, const std::string& text);
    void refuse_name(const std::string& path) const;
    void refuse_input(const std::string& path) const;
    bool settle_present(const std::string& path, std::span<const BlobRange> parts);
    bool holds(const RemoteFile& object, const std::string& url, std::span<const BlobRange> parts) const;
    ObjectUpload& add_object(const std::string& url, Present present) CLEAVE_EXCLUDES(mutex_);
    void undo() noexcept;

    const std::optional<Store> own_store_;
    const Store& store_;
    const Input& input_;
    const OutputOptions& options_;
    Cancellation stop_;
    Helpers helpers_;  // for the threads that compress pieces
    StoreCopies copies_;
    SideText report_;
    SideText manifest_;
    bool are_checked_ = false;  // prepare() has looked at all names
    bool is_settled_ = false;   // committed, or taken back
    Mutex mutex_;
    std::deque<ObjectUpload> objects_ CLEAVE_GUARDED_BY(mutex_);
    std::exception_ptr failure_ CLEAVE_GUARDED_BY(mutex_);
    RequestQueue queue_;  // last: its requests use the other members
};

}  // namespace cleave
