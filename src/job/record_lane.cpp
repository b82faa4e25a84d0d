// Several threads work on one sequence of runs, in slots (see base/ordered.h):
//
//   pull   the next run of whole records
//   work   find its fields; write the changed records to memory, or only measure them
//   emit   pass them on, in order
//
// Runs of a mapping are guessed (see scan/guessed_runs.h), and copied before anything is decided from them. If a fault
// is found in such a run, one thread reads on from its start, in order. It reports the fault with its record; if there
// is no fault, the end of the run was guessed wrong. Before a run is passed on, it is compared with the file again (see
// job/batch_check.h).
#include "job/record_lane.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/ordered.h"
#include "base/too_long.h"
#include "io/read_ahead.h"
#include "job/measuring_cutter.h"
#include "job/record_blocks.h"
#include "job/run_keys.h"
#include "scan/contract.h"
#include "scan/guessed_runs.h"
#include "scan/record_runs.h"
#include "scan/walker.h"

namespace cleave {
namespace {

// Parts that wait for their turn, and those at work, for each thread: see base/ordered.h.
constexpr std::size_t kSlotsOfThread = 3;

std::size_t slots_for(unsigned threads) { return threads == 1 ? 1 : threads * kSlotsOfThread; }

// A worker that has written more gives its memory back, and so does a run that was larger.
constexpr std::size_t kMuchWritten = std::size_t{4} << 20;
constexpr std::size_t kLargeRun = std::size_t{1} << 20;

// Runs that the CPU takes before it is decided whether the device is used. The first ones are not timed: threads start,
// and buffers are used for the first time.
constexpr std::uint64_t kWarmRuns = 256;
constexpr std::uint64_t kTimedRuns = 512;
constexpr std::uint64_t kLeastTimed = kRunsBeforeDevice - kWarmRuns;  // are enough to decide

// What one thread takes to read a byte of a stream into a page: 0.9 ns with a pipe, on a server of 2025.
constexpr double kStreamSeconds = 0.9e-9;

// Guessing ends after this many doubtful runs.
constexpr unsigned kMostDoubts = 8;

// Gets where measured records begin in the input, the number of the first one, the sizes of what is written, and the
// values of the key, or nullptr.
using TakeMeasured = std::function<void(std::span<const std::uint64_t> starts, std::uint64_t record,
                                        std::span<const std::uint64_t> sizes, RunKeys* keys)>;

}  // namespace

// A worker that this thread has for a while. Workers are kept: they own memory.
class RecordLane::Borrowed {
public:
    explicit Borrowed(RecordLane& lane) : lane_(lane) {
        const std::scoped_lock lock(lane.mutex_);
        if (lane.idle_.empty()) {
            lane.idle_.reserve(lane.workers_ + 1);  // so that the destructor needs no memory
            lane.idle_.push_back(std::make_unique<StageWorker>(lane.stage_, lane.kernel_, lane.memory_));
            ++lane.workers_;
        }
        worker_ = std::move(lane.idle_.back());
        lane.idle_.pop_back();
    }
    Borrowed(Borrowed&& other) noexcept : lane_(other.lane_), worker_(std::move(other.worker_)) {}
    Borrowed& operator=(Borrowed&&) = delete;
    ~Borrowed() {
        if (!worker_) return;
        const std::scoped_lock lock(lane_.mutex_);
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
    worker->append(head.prefix());
    if (head.has_header && !head.record().empty()) {
        worker->write_unchanged(worker->read(head.record(), head.sample_place, true));
    }
    header_.assign(worker->written().begin(), worker->written().end());
    counts_ = worker->counts();
    if (execution.offload) {
        device_ = std::make_unique<DeviceLane>(stage, kernel_, *execution.offload, memory_,
                                               DeviceLane::Options{run_options().size, execution.threads});
    }
}

RecordLane::~RecordLane() = default;

BlobRange RecordLane::body() const { return {head_.size, input_.blob().size() - head_.size}; }

const RecordIndex& RecordLane::index() {
    if (!index_) index_ = std::make_unique<RecordIndex>(index_records(input_, stage_.dialect(), execution_));
    return *index_;
}

// What becomes of the records: they are written and passed on, or measured.
struct RecordLane::Consumer {
    const Take* take = nullptr;
    const TakeMeasured* take_measured = nullptr;  // if `take` is null
    const KeyField* key = nullptr;                // with `take_measured`
};

// Memory for copies of runs. A run needs it only while a thread works on it. What was given back last is lent first:
// the processor's cache still holds it, and as many copies as there are threads fit where one for each slot does not.
class RecordLane::Copies {
public:
    // `memory` is not null.
    explicit Copies(std::shared_ptr<MemoryManager> memory) : memory_(std::move(memory)) {}

    ValueBuffer take() {
        const std::scoped_lock lock(mutex_);
        if (idle_.empty()) return ValueBuffer(memory_);
        ValueBuffer copy = std::move(idle_.back());
        idle_.pop_back();
        return copy;
    }
    void give(ValueBuffer copy) {
        if (copy.size() > kLargeRun) return;
        const std::scoped_lock lock(mutex_);
        idle_.push_back(std::move(copy));
    }

private:
    std::shared_ptr<MemoryManager> memory_;
    std::mutex mutex_;
    std::vector<ValueBuffer> idle_;  // guarded
};

// What the slots of a pass over runs share. Runs are either guessed or taken in order.
struct RecordLane::Pass {
    RecordLane& lane;
    const Consumer& consumer;
    Place& emitted;     // where the next record to be emitted begins
    BatchTrail& trail;  // of what was emitted
    Copies& copies;     // of guessed runs
    Meter* meter;       // gets the bytes that are emitted; may be null
    std::optional<GuessedRuns> guessed;
    std::optional<ReadAhead> ahead;  // with `guessed`
    std::optional<RecordRuns> in_order;
    std::uint64_t left = ~std::uint64_t{0};  // runs that are still to be taken

    void run(unsigned threads);
};

class RecordLane::Slot {
public:
    explicit Slot(Pass& pass) : pass_(pass), worker_(pass.lane), run_(pass.lane.memory_) {
        const KeyField* const key = pass.consumer.key;
        if (key != nullptr) keys_.emplace(*key, pass.lane.stage_.dialect(), pass.lane.kernel_, pass.lane.memory_);
    }

    bool pull() {
        if (pass_.left == 0) return false;
        --pass_.left;
        return pass_.guessed ? pass_.guessed->next(number_) : pass_.in_order->next(run_);
    }
    bool is_large() const { return !pass_.guessed && run_size_ > kLargeRun; }
    void work();
    void emit();

private:
    void find_guessed();
    bool take_blocks();

    Pass& pass_;
    Borrowed worker_;
    RecordRun run_;                      // until its work is done
    std::uint64_t run_size_ = 0;         // then
    std::vector<std::uint8_t> last_;     // see BatchTrail::last_of()
    std::uint64_t number_ = 0;           // of a guessed run
    std::unique_ptr<Walker> walker_;     // to guess; made when it is needed
    std::vector<std::uint64_t> starts_;  // of the records in the input, if they are measured
    std::vector<std::uint64_t> sizes_;   // of what is written of them, likewise
    std::optional<RunKeys> keys_;        // of what is written of them, if there is a key
};

void RecordLane::Slot::work() {
    worker_->clear();
    starts_.clear();
    sizes_.clear();
    bool is_sound = true;
    if (!pass_.guessed) {
        take_blocks();
    } else {
        find_guessed();
        try {
            is_sound = take_blocks() || pass_.guessed->is_last(number_);
        } catch (const InputError&) {
            is_sound = false;
        }
        pass_.lane.input_.blob().throw_if_lost();
    }
    if (!is_sound) throw DoubtfulRun();
    pass_.lane.check_.compare(run_.place.offset, run_.bytes);
    run_size_ = run_.bytes.size();
    const auto last = BatchTrail::last_of(run_.bytes);
    last_.assign(last.begin(), last.end());
    if (pass_.guessed) pass_.copies.give(std::move(run_.copy));
}

void RecordLane::Slot::find_guessed() {
    RecordLane& lane = pass_.lane;
    if (!walker_) walker_ = std::make_unique<Walker>(lane.stage_.dialect(), lane.kernel_);
    pass_.ahead->wait_for(pass_.guessed->reach(number_));
    const BlobRange found = pass_.guessed->find(number_, *walker_);
    run_.place = {found.offset, 0};
    run_.copy = pass_.copies.take();
    run_.copy.reserve(static_cast<std::size_t>(found.size));
    run_.bytes = {run_.copy.data(), static_cast<std::size_t>(found.size)};
}

// False if the last record has no terminator.
bool RecordLane::Slot::take_blocks() {
    bool is_terminated = true;
    const auto take = [&](const RecordBlock& block) {
        is_terminated = block.ends.back() < block.bytes.size();
        if (pass_.consumer.take != nullptr) return worker_->write(block);
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
    };
    const std::uint64_t most = pass_.lane.stage_.max_record();
    if (pass_.guessed) {
        const auto source = pass_.lane.input_.bytes().subspan(run_.place.offset, run_.bytes.size());
        for_each_block(*worker_, source.data(), {run_.copy.data(), run_.bytes.size()}, run_.place, most, take);
    } else {
        for_each_block(*worker_, run_.bytes, run_.place, run_.is_cut, most, take);
    }
    if (keys_) {
        const auto begins = worker_->starts();
        for (std::size_t r = 0; r < begins.size(); ++r) {
            sizes_[r] = (r + 1 < begins.size() ? begins[r + 1] : worker_->written().size()) - begins[r];
        }
        keys_->read(worker_->written(), begins.size());
    }
    return is_terminated;
}

void RecordLane::Slot::emit() {
    RecordLane& lane = pass_.lane;
    Place& place = pass_.emitted;
    // Two guesses of one place differ only if the bytes have changed.
    if (pass_.guessed && run_.place.offset != place.offset) throw InputChangedError();
    pass_.trail.take(run_size_, last_);
    if (pass_.consumer.take != nullptr) {
        (*pass_.consumer.take)(worker_->written(), worker_->starts());
        const std::scoped_lock lock(lane.mutex_);
        lane.counts_ += worker_->counts();
        place.record += worker_->starts().size();
    } else {
        (*pass_.consumer.take_measured)(starts_, place.record, sizes_, keys_ ? &*keys_ : nullptr);
        place.record += sizes_.size();
    }
    place.offset += run_size_;
    if (pass_.meter != nullptr) pass_.meter->scanned += run_size_;
    if (worker_->written().size() <= kMuchWritten && !is_large()) return;
    worker_->release();
    run_.copy.release();
}

void RecordLane::Pass::run(unsigned threads) {
    std::vector<Slot> slots;
    const std::size_t count = slots_for(threads);
    slots.reserve(count);
    while (slots.size() < count) slots.emplace_back(*this);
    run_in_order(std::span(slots), threads);
}

RunOptions RecordLane::run_options() const {
    return {std::min(kBlockSize, execution_.block_size), stage_.max_record(), nullptr, memory_};
}

// Whether the device is, or may be, used for what the consumer gets.
bool RecordLane::uses_device(const Consumer& consumer, DeviceLane::Use use) const {
    return device_ && consumer.take != nullptr && device_->use() == use;
}

// False if the CPU is to take the pages that are left.
bool RecordLane::write_on_device(PageSource& pages, Place& at, BatchTrail& trail, const Take& take, Meter* meter) {
    return device_->run(pages, [&](const DeviceLane::Written& written) {
        if (written.offset != at.offset) throw InputChangedError();
        check_.compare(written.offset, written.input, execution_.threads);
        trail.take(written.input);
        take(written.bytes, written.starts);
        at.record += written.starts.size();
        at.offset += written.input.size();
        if (meter != nullptr) meter->scanned += written.input.size();
        const std::scoped_lock lock(mutex_);
        counts_ += written.counts;
    });
}

// Takes runs by the CPU, `runs` of them timed. Its speed decides whether the device takes the others. `end` is that of
// the input; of a stream it is unknown, and as much is taken to be left as was read.
void RecordLane::try_cpu(Pass& pass, unsigned threads, std::uint64_t runs, std::optional<std::uint64_t> end) {
    pass.left = kWarmRuns;
    pass.run(threads);
    pass.left = runs;
    const std::uint64_t begin = pass.emitted.offset;
    const auto start = std::chrono::steady_clock::now();
    pass.run(threads);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    const std::uint64_t at = pass.emitted.offset;
    if (at - begin < kLeastTimed * run_options().size) return;
    // Others may work on other ranges at the same time.
    const double share = static_cast<double>(threads) / execution_.threads;
    const double per_byte = seconds.count() * share / static_cast<double>(at - begin);
    if (end) {
        device_->decide({*end - at, per_byte, 0, true});
    } else {
        device_->decide({at, per_byte, kStreamSeconds, false});
    }
}

// Returns where the range ends, with the number of the record behind it.
Place RecordLane::pass_over(BlobRange range, std::uint64_t record, unsigned threads, const Consumer& consumer,
                            Meter* meter) {
    Place at{range.offset, record};
    const std::uint64_t end = range.offset + range.size;
    const RunOptions options = run_options();
    BatchTrail trail(check_, at.offset, head_.before(at.offset));
    Copies copies(memory_);
    unsigned doubts = 0;
    while (at.offset < end) {
        const BlobRange rest{at.offset, end - at.offset};
        const bool is_guessed = input_.is_mapped() && doubts < kMostDoubts;
        Pass pass{*this, consumer, at, trail, copies, meter, {}, {}, {}};
        try {
            if (uses_device(consumer, DeviceLane::Use::kTaken)) {
                if (is_guessed) {
                    GuessedPages pages(input_, rest, stage_.dialect(), kernel_, device_->shape());
                    write_on_device(pages, at, trail, *consumer.take, meter);
                } else {
                    RecordRuns runs(input_, rest, at.record, stage_.dialect(), kernel_, options);
                    GatheredPages pages(runs, device_->shape().size, memory_);
                    write_on_device(pages, at, trail, *consumer.take, meter);
                }
                continue;
            }
            if (is_guessed) {
                pass.guessed.emplace(input_.bytes(), rest, stage_.dialect(), options.size);
                pass.ahead.emplace(input_.blob(), at.offset, end);
                const unsigned readers = pass.ahead->readers(threads);
                if (uses_device(consumer, DeviceLane::Use::kUndecided)) {
                    try_cpu(pass, readers, kTimedRuns, input_.blob().size());
                } else {
                    pass.run(readers);
                }
                continue;
            }
        } catch (const DoubtfulRun&) {
            ++doubts;
            pass.ahead.reset();
            pass.guessed.reset();
        }
        const bool is_guessed_after = input_.is_mapped() && doubts < kMostDoubts;
        if (is_guessed_after) pass.left = 1;
        pass.in_order.emplace(input_, BlobRange{at.offset, end - at.offset}, at.record, stage_.dialect(), kernel_,
                              options);
        if (is_guessed_after) {
            pass.run(1);
        } else if (uses_device(consumer, DeviceLane::Use::kUndecided)) {
            try_cpu(pass, threads, kTimedRuns, input_.blob().size());
        } else {
            pass.run(threads);
        }
    }
    trail.end();
    return at;
}

void RecordLane::write_all(const Take& take) {
    const Consumer consumer{&take, nullptr};
    if (!input_.is_stream()) {
        if (execution_.meter != nullptr) execution_.meter->scanned += body().offset;
        pass_over(body(), head_.records, execution_.threads, consumer, execution_.meter);
        return;
    }
    Place at{head_.size, head_.records};
    BatchTrail trail(check_, at.offset, head_.before(at.offset));
    Copies copies(memory_);
    RunOptions options = run_options();
    options.meter = execution_.meter;
    Pass pass{*this, consumer, at, trail, copies, nullptr, {}, {}, {}};
    pass.in_order.emplace(input_, at, stage_.dialect(), kernel_, options);
    for (std::uint64_t runs = kTimedRuns; uses_device(consumer, DeviceLane::Use::kUndecided); runs *= 2) {
        const std::uint64_t begin = at.offset;
        try_cpu(pass, execution_.threads, runs, {});
        if (at.offset == begin) return;
    }
    if (uses_device(consumer, DeviceLane::Use::kTaken)) {
        GatheredPages pages(*pass.in_order, device_->shape().size, memory_);
        if (write_on_device(pages, at, trail, take, nullptr)) return;
    }
    pass.left = ~std::uint64_t{0};
    pass.run(execution_.threads);
}

void RecordLane::write_range(BlobRange range, std::uint64_t record, unsigned threads, const Take& take) {
    pass_over(range, record, threads, {&take, nullptr}, nullptr);
}

// Its place comes from an index. Where no record ends before it, or with it, the bytes are others since.
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
    const std::scoped_lock lock(mutex_);
    counts_ += worker->counts();
}

void RecordLane::throw_first_fault() {
    const TakeMeasured take = [](auto, std::uint64_t, auto, RunKeys*) {};
    pass_over(body(), head_.records, execution_.threads, {nullptr, &take, nullptr}, nullptr);
}

std::vector<StagedPiece> RecordLane::measure(const Policy& policy, std::span<const Piece> cuts, const KeyField* key) {
    // Without a header, the byte order mark belongs to the first record.
    const std::uint64_t mark = head_.has_header ? 0 : header_.size();
    check_header_size(policy, header_.size() - mark);
    MeasuringCutter cutter(policy, cuts, header_.size() - mark, {body().offset - mark, mark}, head_.records);
    // An index has counted the bytes already.
    Meter* const meter = index_ ? nullptr : execution_.meter;
    if (meter != nullptr) meter->scanned += body().offset;
    RunKeys::Last last(memory_);
    const TakeMeasured take = [&](auto starts, std::uint64_t record, auto sizes, RunKeys* keys) {
        if (keys != nullptr) keys->follow(last);
        for (std::size_t r = 0; r < sizes.size(); ++r) {
            cutter.take(starts[r], record + r, sizes[r], keys == nullptr || keys->changes()[r] != 0);
        }
    };
    records_ = pass_over(body(), head_.records, execution_.threads, {nullptr, &take, key}, meter).record;
    return cutter.finish(input_.blob().size(), records_);
}

}  // namespace cleave
