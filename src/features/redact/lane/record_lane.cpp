// The loop over batches reads the records (see records/batch_loop.h). Consumers process them:
//
//   Rewrite   writes the changed records to memory, and passes them on
//   Measure   computes how large the changed records would be and, if there is a key, its values; discards the output
//
// A device replaces Rewrite where it is faster. Before records are passed on, they are compared with the file again
// (see records/batch_check.h).
#include "features/redact/lane/record_lane.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include "base/too_long.h"
#include "core/offsets/measuring_cutter.h"
#include "core/reader/input_parts.h"
#include "core/scan/check_arguments.h"
#include "features/redact/stage/record_blocks.h"
#include "rows/records/batch_loop.h"
#include "rows/values/batch_keys.h"

namespace cleave {
namespace {

// A worker that has written more than this releases its memory.
constexpr std::size_t kMuchWritten = std::size_t{4} << 20;

// How many batches the CPU processes before the lane decides whether to use the device. The first batches are not
// timed, because threads are still starting and buffers are being used for the first time.
constexpr std::uint64_t kWarmBatches = 256;
constexpr std::uint64_t kTimedBatches = 512;
constexpr std::uint64_t kSlices = 4;
constexpr std::uint64_t kLeastTimed = kRunsBeforeDevice - kWarmBatches;  // enough to decide

// How long one thread takes to read a byte of a stream into a page: 0.9 ns with a pipe, on a 2025 server.
constexpr double kStreamSeconds = 0.9e-9;

}  // namespace

// A worker borrowed by this thread. Workers are kept for reuse, because they own memory.
class RecordLane::Borrowed {
public:
    explicit Borrowed(RecordLane& lane) : lane_(lane) {
        const MutexLock lock(lane.mutex_);
        if (lane.idle_.empty()) {
            lane.idle_.reserve(lane.workers_ + 1);  // so that the destructor needs no memory
            lane.idle_.push_back(std::make_unique<StageWorker>(lane.stage_, lane.kernel_, lane.memory_));
            lane.idle_.back()->pick_ends();
            ++lane.workers_;
        }
        worker_ = std::move(lane.idle_.back());
        lane.idle_.pop_back();
    }
    Borrowed(Borrowed&& other) noexcept : lane_(other.lane_), worker_(std::move(other.worker_)) {}
    Borrowed& operator=(Borrowed&&) = delete;
    ~Borrowed() {
        if (!worker_) return;
        const MutexLock lock(lane_.mutex_);
        lane_.idle_.push_back(std::move(worker_));
    }

    StageWorker& operator*() const { return *worker_; }
    StageWorker* operator->() const { return worker_.get(); }

private:
    RecordLane& lane_;
    std::unique_ptr<StageWorker> worker_;
};

RecordLane::RecordLane(Input& input, const InputHead& head, const Stage& stage, const Execution& execution)
    : input_(input),
      head_(head),
      stage_(stage),
      execution_(execution),
      kernel_(checked_kernel(execution)),
      memory_(MemoryManager::or_default(execution.memory)),
      check_(input, BatchCheck::Reads::kMapping),
      lone_(memory_) {
    const Borrowed worker(*this);
    if (head.has_header) {  // the lines above the header, which must be empty to every reader
        const std::size_t mark = bom_size(head.bytes);
        worker->read(head.prefix().subspan(mark), {head.sample_place.offset - (head.prefix().size() - mark), 0}, true);
    }
    worker->append(head.prefix());
    if (head.has_header && !head.record().empty()) {
        worker->write_unchanged(worker->read(head.record(), head.sample_place, true));
    }
    header_.assign(worker->written().begin(), worker->written().end());
    counts_ = worker->counts();
    if (execution.offload) {
        device_ = make_device_lane(stage, kernel_, *execution.offload, memory_,
                                   {batch_options(nullptr).size, execution.thread_count()});
    }
}

RecordLane::~RecordLane() = default;

BlobRange RecordLane::body() const { return {head_.size, input_.blob().size() - head_.size}; }

const RecordIndex& RecordLane::index() {
    if (!index_) index_ = std::make_unique<RecordIndex>(index_records(input_, stage_.dialect(), execution_));
    return *index_;
}

namespace {

// Passes records on as they are.
class PassedOn final : public RecordLane::Follower {
public:
    explicit PassedOn(const RecordLane::Take& take) : take_(take) {}
    void emit(const RecordLane::Written& records) override { take_(records.bytes, records.starts); }

private:
    const RecordLane::Take& take_;
};

RecordLane::MakeFollower passing_on(const RecordLane::Take& take) {
    return [&take] { return std::make_unique<PassedOn>(take); };
}

}  // namespace

// For one thread at a time, as the loop over batches requires.
class RecordLane::Rewrite {
public:
    // `keyed` is as in write_all().
    Rewrite(RecordLane& lane, std::unique_ptr<Follower> follower, const Stage* keyed)
        : lane_(lane), follower_(std::move(follower)) {
        if (keyed != nullptr) {
            keyed_.emplace(*keyed, lane.kernel_, lane.memory_).pick_ends();
        } else {
            borrowed_.emplace(lane);
        }
    }

    void work(const Batch& batch) {
        StageWorker& worker = this->worker();
        worker.clear();
        for_each_block(worker, batch, lane_.stage_.max_record(),
                       [&](const RecordBlock& block) { worker.write(block); });
        lane_.follow(*follower_, written(), batch);
    }

    std::uint64_t emit(Place) {
        StageWorker& worker = this->worker();
        follower_->emit(written());
        lane_.count(worker.counts());
        const std::uint64_t records = worker.starts().size();
        if (worker.written().size() > kMuchWritten) worker.release();
        return records;
    }

private:
    StageWorker& worker() { return keyed_ ? *keyed_ : **borrowed_; }
    Written written() { return {worker().written(), worker().starts(), keyed_ ? &*keyed_ : nullptr}; }

    RecordLane& lane_;
    std::unique_ptr<Follower> follower_;
    std::optional<Borrowed> borrowed_;
    std::optional<StageWorker> keyed_;  // used instead of borrowed_
};

class RecordLane::Measure {
public:
    Measure(RecordLane& lane, const TakeMeasured& take, const KeyField* key) : take_(take), lane_(lane), worker_(lane) {
        if (key != nullptr) keys_.emplace(*key, lane.stage_.dialect(), lane.kernel_, lane.memory_);
    }

    void work(const Batch& batch) {
        worker_->clear();
        starts_.clear();
        sizes_.clear();
        for_each_block(*worker_, batch, lane_.stage_.max_record(), [&](const RecordBlock& block) { measure(block); });
        if (!keys_) return;
        const auto begins = worker_->starts();
        for (std::size_t r = 0; r < begins.size(); ++r) {
            sizes_[r] = (r + 1 < begins.size() ? begins[r + 1] : worker_->written().size()) - begins[r];
        }
        keys_->read(worker_->written(), begins.size());
    }

    std::uint64_t emit(Place place) {
        take_(starts_, place.record, sizes_, keys_ ? &*keys_ : nullptr);
        if (worker_->written().size() > kMuchWritten) worker_->release();
        return sizes_.size();
    }

private:
    void measure(const RecordBlock& block) {
        const std::size_t done = sizes_.size();
        sizes_.resize(done + block.record_count());
        if (keys_) {
            worker_->write(block);
        } else {
            worker_->measure(block, std::span(sizes_).subspan(done));
        }
        for (std::size_t r = 0; r < block.record_count(); ++r) {
            starts_.push_back(block.place.offset + block.rows[r].begin);
        }
    }

    const TakeMeasured& take_;
    RecordLane& lane_;
    Borrowed worker_;
    std::vector<std::uint64_t> starts_;  // of the records in the input
    std::vector<std::uint64_t> sizes_;   // of what is written for them
    std::optional<BatchKeys> keys_;      // the keys in what is written for them, if there is a key
};

BatchOptions RecordLane::batch_options(Meter* meter) const {
    return {std::min(kBlockSize, execution_.block_size), stage_.max_record(), meter, memory_};
}

void RecordLane::count(const StageCounts& counts) {
    const MutexLock lock(mutex_);
    counts_ += counts;
}

// Runs follower.work() on the changed records of `batch`. Converts positions in errors to positions in the input.
void RecordLane::follow(Follower& follower, const Written& records, const Batch& batch) {
    try {
        follower.work(records);
    } catch (const InputError& error) {
        if (!error.place()) throw;
        const Borrowed worker(*this);
        throw InputError(error.what(), place_of_record(*worker, batch, stage_.max_record(), error.place()->record));
    }
}

bool RecordLane::uses_device(DeviceLane::Use use) const { return device_ && device_->use() == use; }

// Processes the records from loop.at() onwards, for as long as the device handles them.
void RecordLane::rewrite_on_device(BatchLoop& loop, Follower& follower) {
    const DeviceLane::Emit emit = [&](const DeviceLane::Written& written) {
        loop.compare(written.offset, written.input, execution_.thread_count());
        const Written records{written.bytes, written.starts};
        follow(follower, records, Batch{written.input, loop.at()});
        follower.emit(records);
        loop.advance(written.input.size(), written.starts.size());
        count(written.counts);
    };
    if (!loop.may_guess() || !input_.is_mapped()) {
        if (device_->run(loop.exact(), emit)) loop.end();
        return;
    }
    try {
        device_->run(input_.blob(), loop.rest(), emit);
    } catch (const DoubtfulBatch&) {
        loop.doubt();
    }
}

// Processes the next batches on the CPU, and times the last `timed` of them, in slices: other work on the machine may
// hold up some of them, so the fastest counts. Its speed decides whether the device handles the remaining records. The
// length of a stream is unknown, so the lane assumes that as much remains as has been read.
void RecordLane::try_cpu(BatchLoop& loop, std::uint64_t timed, unsigned threads, const MakeFollower& make_follower,
                         const Stage* keyed) {
    const auto make = [&] { return Rewrite(*this, make_follower(), keyed); };
    loop.run(threads, make, kWarmBatches);
    const std::uint64_t begin = loop.at().offset;
    std::uint64_t at = begin;
    double fastest = std::numeric_limits<double>::max();  // in seconds per byte
    for (std::uint64_t slice = 0; slice < kSlices; ++slice) {
        const auto start = std::chrono::steady_clock::now();
        loop.run(threads, make, timed / kSlices);
        const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
        const std::uint64_t size = loop.at().offset - std::exchange(at, loop.at().offset);
        if (size > 0) fastest = std::min(fastest, seconds.count() / static_cast<double>(size));
    }
    if (at - begin < kLeastTimed * batch_options(nullptr).size) return;
    // Other threads may be working on other ranges at the same time.
    const double per_byte = fastest * static_cast<double>(threads) / execution_.thread_count();
    if (input_.is_stream()) {
        device_->decide({at, per_byte, kStreamSeconds, false});
    } else {
        device_->decide({input_.blob().size() - at, per_byte, 0, true});
    }
}

void RecordLane::rewrite(BatchLoop& loop, unsigned threads, const MakeFollower& make, const Stage* keyed) {
    for (std::uint64_t timed = kTimedBatches; !loop.is_done();) {
        const bool is_for_device = uses_device(DeviceLane::Use::kTaken);
        if (is_for_device && !loop.is_in_doubt()) {
            rewrite_on_device(loop, *make());
        } else if (uses_device(DeviceLane::Use::kUndecided)) {
            try_cpu(loop, timed, threads, make, keyed);
            timed *= 2;
        } else {
            const std::uint64_t most = is_for_device ? 1 : BatchLoop::kAll;
            const auto make_consumer = [&] { return Rewrite(*this, make(), keyed); };
            loop.run(threads, make_consumer, most);
        }
    }
    loop.finish();
}

BatchLoop RecordLane::loop_over(BlobRange range, std::uint64_t record, Meter* meter) {
    return {input_.blob(),        range,   record,
            stage_.dialect(),     kernel_, BatchAccess::kMapping,
            batch_options(meter), &check_, head_.before(range.offset)};
}

// Returns the number of records up to the end of the body.
std::uint64_t RecordLane::measure_all(const TakeMeasured& take, const KeyField* key, Meter* meter) {
    BatchLoop loop = loop_over(body(), head_.records, meter);
    loop.run(execution_.thread_count(), [&] { return Measure(*this, take, key); });
    loop.finish();
    return loop.at().record;
}

void RecordLane::write_all(const Take& take) { write_all(passing_on(take)); }

void RecordLane::write_all(const MakeFollower& make, const Stage* keyed) {
    if (!input_.is_stream()) {
        if (execution_.meter != nullptr) execution_.meter->scanned += body().offset;
        for (Place begin{body().offset, head_.records};;) {
            BatchLoop loop =
                loop_over({begin.offset, input_.blob().size() - begin.offset}, begin.record, execution_.meter);
            try {
                return rewrite(loop, execution_.thread_count(), make, keyed);
            } catch (const InputError&) {
                begin = loop.at();
                if (!InputParts::mend(input_, begin)) throw;
            }
        }
    }
    BatchLoop loop(input_, Place{head_.size, head_.records}, stage_.dialect(), kernel_,
                   batch_options(execution_.meter));
    rewrite(loop, execution_.thread_count(), make, keyed);
}

void RecordLane::write_range(BlobRange range, std::uint64_t record, unsigned threads, const Take& take) {
    BatchLoop loop = loop_over(range, record, nullptr);
    rewrite(loop, threads, passing_on(take), nullptr);
}

// The range comes from an index. If no record ends right before it, or it is not exactly one record, the bytes have
// changed since the index was made.
void RecordLane::write_record(BlobRange range, std::uint64_t record, const Take& take) {
    if (range.size > stage_.max_record()) throw_too_long(stage_.max_record(), {range.offset, record});
    const Borrowed worker(*this);
    worker->clear();
    const std::size_t before = range.offset == body().offset ? 0 : 1;
    const auto read = lone_.read(input_.blob(), range.offset - before, static_cast<std::size_t>(range.size) + before);
    const auto bytes = read.subspan(before);
    const RecordBlock block = worker->read(bytes, {range.offset, record}, true);
    const bool is_last = range.offset + range.size == input_.blob().size();
    const bool begins = before == 0 || read.front() == '\n' || read.front() == '\r';
    const bool ends = is_last || (block.record_count() > 0 && block.ends.back() < bytes.size());
    if (!begins || !ends || block.record_count() != 1) throw InputChangedError();
    worker->write(block);
    check_.compare(range.offset - before, read);
    input_.throw_if_changed();
    take(worker->written(), worker->starts());
    count(worker->counts());
}

void RecordLane::throw_first_fault() {
    measure_all([](auto, std::uint64_t, auto, BatchKeys*) {}, nullptr, nullptr);
}

std::vector<RewrittenPiece> RecordLane::measure(const Policy& policy, std::span<const Piece> cuts,
                                                const KeyField* key) {
    // Without a header, the byte order mark belongs to the first record.
    const std::uint64_t mark = head_.has_header ? 0 : header_.size();
    check_header_size(policy, header_.size() - mark);
    MeasuringCutter cutter(policy, cuts, header_.size() - mark, {body().offset - mark, mark}, head_.records);
    // If there is an index, the bytes of the input have already been counted.
    Meter* const meter = index_ ? nullptr : execution_.meter;
    if (meter != nullptr) meter->scanned += body().offset;
    BatchKeys::Last last(memory_);
    const TakeMeasured take = [&](auto starts, std::uint64_t record, auto sizes, BatchKeys* keys) {
        if (keys != nullptr) keys->follow(last);
        for (std::size_t r = 0; r < sizes.size(); ++r) {
            cutter.take(starts[r], record + r, sizes[r], keys == nullptr || keys->changes()[r] != 0);
        }
    };
    records_ = measure_all(take, key, meter);
    return cutter.finish(input_.blob().size(), records_);
}

}  // namespace cleave
