#include "features/stores/store_target.h"

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "base/parallel.h"
#include "base/text_bytes.h"
#include "cleave/error.h"
#include "core/reader/copy.h"
#include "core/writer/checksum.h"

namespace cleave {
namespace {

constexpr std::uint64_t kCompareSize = std::uint64_t{1} << 20;

// It is not the input that has changed.
void read_present(const RemoteFile& object, const std::string& url, std::uint64_t offset,
                  std::span<std::uint8_t> into) {
    try {
        object.read(offset, into);
    } catch (const InputChangedError& error) {
        throw StoreError(shown_url(url) + ": " + error.what());
    }
}

}  // namespace

StoreTarget::StoreTarget(const Store* store, const Input& input, const OutputOptions& options, unsigned threads)
    : own_store_(store == nullptr ? std::optional<Store>(options.names) : std::nullopt),
      store_(store == nullptr ? *own_store_ : *store),
      input_(input),
      options_(options),
      stop_(input.cancellation()),
      helpers_(threads),
      copies_(input),
      queue_([this] { stop_.request(); }) {
    if (!Location(options.names).is_bucket()) throw ArgumentError("objects are written only under s3:// and gs://");
    if (options.clone != CloneMode::kNever) throw ArgumentError("a store does not share blocks with the input");
}

StoreTarget::~StoreTarget() {
    if (!is_settled_) undo();
}

std::vector<char> StoreTarget::prepare(std::span<const Piece> pieces, const NameList& paths, const PartsOf& parts_of) {
    if (options_.resume && (!parts_of || options_.compression.format != Compression::kNone)) {
        throw ArgumentError("--resume: an object is compared with its piece only if the pieces are ranges of a file");
    }
    refuse_equal_names(paths);
    for (std::size_t i = 0; i < paths.size(); ++i) refuse_name(paths[i]);
    if (!options_.report.empty() && options_.report == options_.manifest) {
        throw ArgumentError("the report and the manifest have the same name '" + options_.report + "'");
    }
    open_side(report_, options_.report);
    open_side(manifest_, options_.manifest);
    std::vector<char> are_there(pieces.size());
    if (options_.replace && !options_.resume) return are_there;
    const auto look = [&](std::size_t i) {
        const std::string path = paths[i];
        if (options_.resume) {
            PartsRoom room;
            are_there[i] = settle_present(path, parts_of(pieces[i], room)) ? 1 : 0;
        } else if (store_.has(path, &stop_)) {
            throw SystemError(EEXIST, std::generic_category(), path);
        }
    };
    parallel_for(paths.size(), RequestQueue::kThreads, look);
    are_checked_ = !paths.empty();
    return are_there;
}

// A piece must replace neither the input nor what else the run writes, even under `replace`.
void StoreTarget::refuse_name(const std::string& path) const {
    if (path == options_.manifest || path == options_.report) {
        throw ArgumentError("a piece has the name '" + path + "', which is also that of the manifest or the report");
    }
    refuse_input(path);
}

void StoreTarget::refuse_input(const std::string& path) const {
    if (input_.remote_place().empty() || !Location::is_url(path)) return;
    if (store_.place(path) == input_.remote_place()) throw OutputError(shown_url(path), "would overwrite the input");
}

// Under `resume`: aborts what a killed run has left. Returns whether there is an object that is the piece.
bool StoreTarget::settle_present(const std::string& path, std::span<const BlobRange> parts) {
    if (!options_.dry_run) store_.abort_uploads(path, &stop_);
    const auto object = store_.find_present(path, &stop_);
    if (!object) return false;
    if (holds(*object, path, parts)) return true;
    if (options_.replace) return false;
    throw OtherPieceError(path, "exists and differs from the piece");
}

bool StoreTarget::holds(const RemoteFile& object, const std::string& url, std::span<const BlobRange> parts) const {
    std::uint64_t size = 0;
    for (const BlobRange& part : parts) size += part.size;
    if (object.size() != size) return false;
    std::vector<std::uint8_t> there(std::min(size, kCompareSize));
    std::uint64_t offset = 0;
    bool are_equal = true;
    for (const BlobRange& part : parts) {
        for_each_part(input_.blob(), part, &stop_, [&](std::span<const std::uint8_t> bytes) {
            if (!are_equal) return;
            const std::span<std::uint8_t> read = std::span(there).first(bytes.size());
            read_present(object, url, offset, read);
            are_equal = std::ranges::equal(read, bytes);
            offset += bytes.size();
        });
        if (!are_equal) return false;
    }
    return true;
}

ObjectUpload& StoreTarget::add_object(const std::string& url, Present present) {
    const MutexLock lock(mutex_);
    return objects_.emplace_back(store_, url, options_.replace ? Present::kReplaced : present, &stop_);
}

std::unique_ptr<PieceOutput> StoreTarget::open(const Piece&, const std::string& path) {
    refuse_name(path);
    if (options_.dry_run) {
        if (!are_checked_ && !options_.replace && store_.has(path, &stop_)) {
            throw SystemError(EEXIST, std::generic_category(), path);
        }
        return std::make_unique<NullOutput>();
    }
    ObjectUpload& object = add_object(path, are_checked_ ? Present::kNone : Present::kUnknown);
    auto output =
        std::make_unique<StoreOutput>(queue_, object, input_, copies_, options_.compression, helpers_, &stop_);
    if (options_.checksum) return with_checksum(std::move(output));
    return output;
}

void StoreTarget::fail(const std::exception_ptr& failure) noexcept {
    {
        const MutexLock lock(mutex_);
        if (!failure_) failure_ = failure;
    }
    stop_.request();
}

void StoreTarget::throw_failure() {
    {
        const MutexLock lock(mutex_);
        if (failure_) std::rethrow_exception(failure_);
    }
    queue_.throw_failure();
}

void StoreTarget::wait() {
    try {
        queue_.wait();
    } catch (const Cancelled&) {
        throw_failure();
        throw;
    }
}

void StoreTarget::open_side(SideText& side, const std::string& path) {
    if (path.empty()) return;
    refuse_input(path);
    side.path = path;
    if (!Location::is_url(path)) {
        if (!options_.dry_run) side.file.emplace(path, input_);
        return;
    }
    if (options_.resume && !options_.dry_run) store_.abort_uploads(path, &stop_);
    if (!options_.replace) side.present = store_.find_present(path, &stop_);
    if (side.present && !options_.resume) throw SystemError(EEXIST, std::generic_category(), path);
    if (!side.present && !options_.dry_run) side.object = &add_object(path, Present::kUnknown);
}

// Under `resume`: an object of an earlier run stays if it has this text.
void StoreTarget::compare_side(const SideText& side, const std::string& text) {
    if (!side.present) return;
    std::vector<std::uint8_t> there(side.present->size() == text.size() ? text.size() : 0);
    if (!there.empty()) read_present(*side.present, side.path, 0, there);
    if (!std::ranges::equal(there, bytes_of(text))) {
        throw OtherPieceError(side.path, "exists and differs from that of this run");
    }
}

void StoreTarget::publish(SideText& side, const std::string& text) {
    if (side.file) side.file->publish(text);
    if (side.object == nullptr) return;
    side.object->parts().put(1, bytes_of(text));
    side.object->complete();
}

void StoreTarget::seal(const SideTexts& texts) {
    if (options_.dry_run) return;
    wait();
    copies_.check();
    compare_side(report_, texts.report);
    compare_side(manifest_, texts.manifest);
    {
        const MutexLock lock(mutex_);
        for (ObjectUpload& object : objects_) {
            if (&object != report_.object && &object != manifest_.object)
                queue_.add(0, [&object] { object.complete(); });
        }
    }
    wait();
    publish(report_, texts.report);
    publish(manifest_, texts.manifest);
}

void StoreTarget::commit() noexcept {
    is_settled_ = true;
    if (report_.file) report_.file->commit();
    if (manifest_.file) manifest_.file->commit();
}

std::vector<std::string> StoreTarget::take_back() {
    if (is_settled_) return {};
    undo();
    std::vector<std::string> left;
    const MutexLock lock(mutex_);
    for (const ObjectUpload& object : objects_) {
        if (object.may_be_left()) left.push_back(shown_url(object.url()));
    }
    return left;
}

// Aborting comes first, because whoever may write objects may do that, but need not be allowed to remove them. It may
// tell that an upload has perhaps become the object, which is then removed like those that are complete. In each of
// both, the first failure ends it: the store cannot be reached, and every further attempt would wait for a while.
void StoreTarget::undo() noexcept {
    is_settled_ = true;
    stop_.request();
    for (const bool is_complete : {false, true}) {
        queue_.clear();
        try {
            const MutexLock lock(mutex_);
            for (ObjectUpload& object : objects_) {
                if (object.is_complete() == is_complete) queue_.add(0, [&object] { object.take_back(); });
            }
            queue_.wait();
        } catch (const std::exception&) {  // the run has failed in any case
        }
    }
    queue_.clear();
}

std::unique_ptr<PieceTarget> make_store_target(const Store* store, const Input& input, const OutputOptions& options,
                                               unsigned threads) {
    return std::make_unique<StoreTarget>(store, input, options, threads);
}

}  // namespace cleave
