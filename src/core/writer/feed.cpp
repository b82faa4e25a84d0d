#include "core/writer/feed.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <exception>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "cleave/error.h"

namespace cleave {
namespace {

class DirectFeed : public Feed {
public:
    DirectFeed(PieceTarget& target, Finished finished) : target_(target), finished_(std::move(finished)) {}

    void begin(const Piece& piece, const std::string& path) override {
        path_ = path;
        output_ = target_.open(piece, path);
    }
    void write(std::span<const std::uint8_t> bytes) override { output_->write(bytes); }
    void end(const Piece& piece) override {
        const PieceResult result = output_->finish(piece);
        output_.reset();
        finished_(piece, path_, result);
    }
    void finish() override {}

private:
    PieceTarget& target_;
    Finished finished_;
    std::string path_;
    std::unique_ptr<PieceOutput> output_;
};

using Bytes = std::vector<std::uint8_t>;

// A piece on its way from the feeding thread to the thread that works on it.
struct QueuedPiece {
    const Piece begun;  // as known at begin()
    const std::string path;
    std::deque<Bytes> parts;
    std::optional<Piece> ended;
};

class ThreadedFeed : public Feed {
public:
    // Call start() next. The constructor does not start the threads: if it threw, the destructor would not run and end
    // them.
    ThreadedFeed(PieceTarget& target, Finished finished) : target_(target), finished_(std::move(finished)) {}
    ThreadedFeed(const ThreadedFeed&) = delete;
    ThreadedFeed& operator=(const ThreadedFeed&) = delete;
    ~ThreadedFeed() override {
        MutexLock lock(mutex_);
        if (has_finished_ || workers_.empty()) return;
        is_stopped_ = true;
        changed_.notify_all();
        lock.unlock();
        target_.stop();
    }

    // Starts up to `threads` workers, or fewer if the system refuses one. Returns whether any runs. Call this once.
    bool start(unsigned threads) {
        workers_.reserve(threads);
        try {
            while (workers_.size() < threads) workers_.emplace_back([this] { work(); });
        } catch (const std::system_error&) {  // a limit on threads or address space is no reason to fail
        }
        return !workers_.empty();
    }

    void begin(const Piece& piece, const std::string& path) override {
        MutexLock lock(mutex_);
        while (waiting_.size() >= workers_.size() && !failure_) changed_.wait(lock);
        throw_failure();
        last_ = std::make_shared<QueuedPiece>(QueuedPiece{piece, path, {}, {}});
        waiting_.push_back(last_);
        changed_.notify_all();
    }

    void write(std::span<const std::uint8_t> bytes) override {
        MutexLock lock(mutex_);
        while (queued_ >= kMostQueued && !failure_) changed_.wait(lock);
        throw_failure();
        queued_ += bytes.size();
        std::deque<Bytes>& parts = last_->parts;
        // Small parts are combined.
        if (parts.empty() || parts.back().size() + bytes.size() > kPartSize) parts.emplace_back();
        parts.back().insert(parts.back().end(), bytes.begin(), bytes.end());
        changed_.notify_all();
    }

    void end(const Piece& piece) override {
        const MutexLock lock(mutex_);
        throw_failure();
        last_->ended = piece;
        last_.reset();
        changed_.notify_all();
    }

    void finish() override {
        MutexLock lock(mutex_);
        while ((!waiting_.empty() || busy_ > 0) && !failure_) changed_.wait(lock);
        throw_failure();
        has_finished_ = true;
        changed_.notify_all();
    }

private:
    static constexpr std::size_t kMostQueued = std::size_t{16} << 20;
    static constexpr std::size_t kPartSize = std::size_t{64} << 10;

    void throw_failure() const CLEAVE_REQUIRES(mutex_) {
        if (failure_) std::rethrow_exception(failure_);
    }

    void work() {
        try {
            while (const std::shared_ptr<QueuedPiece> job = next_job()) {
                const std::unique_ptr<PieceOutput> output = target_.open(job->begun, job->path);
                while (const std::optional<Bytes> part = next_part(*job)) output->write(*part);
                const PieceResult result = output->finish(*job->ended);  // `ended` is set, and no longer changes
                finished_(*job->ended, job->path, result);
                const MutexLock lock(mutex_);
                --busy_;
                changed_.notify_all();
            }
        } catch (...) {  // passed on to the feeding thread
            const MutexLock lock(mutex_);
            if (!failure_) failure_ = std::current_exception();
            is_stopped_ = true;
            changed_.notify_all();
        }
    }

    // Returns nothing when everything is done.
    std::shared_ptr<QueuedPiece> next_job() {
        MutexLock lock(mutex_);
        while (waiting_.empty() && !has_finished_ && !is_stopped_) changed_.wait(lock);
        if (waiting_.empty() || is_stopped_) return nullptr;
        std::shared_ptr<QueuedPiece> job = std::move(waiting_.front());
        waiting_.pop_front();
        ++busy_;
        return job;
    }

    // Returns nothing at the end of the piece. Throws Cancelled if the piece will not be finished.
    std::optional<Bytes> next_part(QueuedPiece& job) {
        MutexLock lock(mutex_);
        while (job.parts.empty() && !job.ended && !is_stopped_) changed_.wait(lock);
        if (is_stopped_) throw Cancelled();
        if (job.parts.empty()) return std::nullopt;
        Bytes part = std::move(job.parts.front());
        job.parts.pop_front();
        queued_ -= part.size();
        changed_.notify_all();
        return part;
    }

    PieceTarget& target_;
    Finished finished_;

    Mutex mutex_;
    ConditionVariable changed_;
    std::deque<std::shared_ptr<QueuedPiece>> waiting_ CLEAVE_GUARDED_BY(mutex_);
    std::shared_ptr<QueuedPiece> last_ CLEAVE_GUARDED_BY(mutex_);  // the piece that is being fed
    std::size_t queued_ CLEAVE_GUARDED_BY(mutex_) = 0;             // bytes
    unsigned busy_ CLEAVE_GUARDED_BY(mutex_) = 0;                  // workers that have a piece
    bool has_finished_ CLEAVE_GUARDED_BY(mutex_) = false;
    bool is_stopped_ CLEAVE_GUARDED_BY(mutex_) = false;
    std::exception_ptr failure_ CLEAVE_GUARDED_BY(mutex_);

    std::vector<std::jthread> workers_;  // last, so that they are joined before the other members are destroyed
};

}  // namespace

std::unique_ptr<Feed> make_feed(PieceTarget& target, unsigned threads, Feed::Finished finished) {
    if (threads > 1) {
        auto feed = std::make_unique<ThreadedFeed>(target, finished);
        if (feed->start(threads)) return feed;
    }
    return std::make_unique<DirectFeed>(target, std::move(finished));
}

}  // namespace cleave
