// Several threads work on one sequence of runs, in slots (see base/ordered.h):
//
//   pull   the next run of whole records
//   work   find its fields; write the changed records to memory, or only measure them
//   emit   pass them on, in order
//
// Runs of a mapping are guessed (see scan/guessed_runs.h). If a fault is found in such a run, one thread reads on from
// its start, in order. It reports the fault with its record; if there is no fault, the end of the run was guessed
// wrong.
#include "job/record_lane.h"

#include <algorithm>
#include <utility>

#include "base/ordered.h"
#include "io/read_ahead.h"
#include "job/record_blocks.h"
#include "plan/limits.h"
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

// Guessing ends after this many doubtful runs.
constexpr unsigned kMostDoubts = 8;

// Cuts measured records into pieces.
class MeasuringCutter {
public:
    // `mark` is the byte order mark, if it is not part of a header: it begins the first piece.
    MeasuringCutter(const Policy& policy, std::span<const Piece> cuts, std::uint64_t header_size, BlobRange mark,
                    std::uint64_t record)
        : policy_(policy), cuts_(cuts), header_size_(header_size) {
        begin(mark.offset, record);
        open_.written.length = mark.size;
    }

    // The next record of the input: where it begins, its number, and the bytes that are written of it.
    void take(std::uint64_t offset, std::uint64_t record, std::uint64_t size) {
        if (!cuts_.empty()) {
            // The open piece is cuts_[pieces_.size()].
            while (pieces_.size() + 1 < cuts_.size() && offset >= cuts_[pieces_.size() + 1].start) cut(offset, record);
        } else if (open_.written.records > 0 &&
                   (open_.written.records == limits_.records || open_.written.length + size > limits_.size)) {
            cut(offset, record);
        }
        ++open_.written.records;
        open_.written.length += size;
    }

    // `end` is where the input ends, `record` how many records it has.
    std::vector<StagedPiece> finish(std::uint64_t end, std::uint64_t record) {
        while (pieces_.size() + 1 < cuts_.size()) cut(end, record);
        const bool is_written = open_.written.length > 0 || !cuts_.empty() ||
                                header_size_in(policy_.header, open_.written.number, header_size_) > 0;
        if (is_written) close(end);
        return std::move(pieces_);
    }

private:
    void begin(std::uint64_t offset, std::uint64_t record) {
        const Piece before = pieces_.empty() ? Piece{0, header_size_, 0, 1, 0} : pieces_.back().written;
        open_ = {{offset, 0}, record, {}};
        open_.written.number = before.number + 1;
        open_.written.start = before.start + before.length;
        open_.written.first_record = before.first_record + before.records;
        limits_ = limits_of(policy_, open_.written.number, header_size_);
    }
    void close(std::uint64_t offset) {
        open_.range.size = offset - open_.range.offset;
        open_.written.oversize = open_.written.records == 1 && open_.written.length > limits_.size;
        pieces_.push_back(open_);
    }
    void cut(std::uint64_t offset, std::uint64_t record) {
        close(offset);
        begin(offset, record);
    }

    const Policy& policy_;
    std::span<const Piece> cuts_;
    std::uint64_t header_size_;
    std::vector<StagedPiece> pieces_;
    StagedPiece open_;
    Limits limits_{};
};

// Gets where measured records begin in the input, the number of the first one, and the sizes of what is written.
using TakeMeasured = std::function<void(std::span<const std::uint64_t> starts, std::uint64_t record,
                                        std::span<const std::uint64_t> sizes)>;

// The bytes of a guessed run are not whole records, or have a fault.
class DoubtfulRun : public std::exception {};

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
      memory_(MemoryManager::or_default(execution.memory)) {
    const Borrowed worker(*this);
    worker->append(head.prefix());
    if (head.has_header && !head.record().empty()) {
        worker->write_unchanged(worker->read(head.record(), {head.record_begin, head.records - 1}, true));
    }
    header_.assign(worker->written().begin(), worker->written().end());
    if (execution.offload) {
        device_ = std::make_unique<DeviceLane>(stage, kernel_, execution.offload, memory_, execution.threads);
        if (!device_->is_possible()) device_.reset();
    }
}

RecordLane::~RecordLane() = default;

BlobRange RecordLane::body() const { return {head_.bytes.size(), input_.blob().size() - head_.bytes.size()}; }

const RecordIndex& RecordLane::index() {
    if (!index_) index_ = std::make_unique<RecordIndex>(index_records(input_, stage_.dialect(), execution_));
    return *index_;
}

// What becomes of the records: they are written and passed on, or measured.
struct RecordLane::Consumer {
    const Take* take = nullptr;
    const TakeMeasured* take_measured = nullptr;  // if `take` is null
};

// What the slots of a pass over runs share. Runs are either guessed or taken in order.
struct RecordLane::Pass {
    RecordLane& lane;
    const Consumer& consumer;
    Place& emitted;          // where the next record to be emitted begins
    Meter* meter = nullptr;  // gets the bytes that are emitted
    std::optional<GuessedRuns> guessed;
    std::optional<ReadAhead> ahead;  // with `guessed`
    std::optional<RecordRuns> in_order;
    std::uint64_t left = ~std::uint64_t{0};  // runs in order that are still to be taken

    void run(unsigned threads);
};

class RecordLane::Slot {
public:
    explicit Slot(Pass& pass) : pass_(pass), worker_(pass.lane), run_(pass.lane.memory_) {}

    bool pull() {
        if (pass_.guessed) return pass_.guessed->next(number_);
        return pass_.left-- > 0 && pass_.in_order->next(run_);
    }
    bool is_large() const { return !pass_.guessed && run_.bytes.size() > kLargeRun; }
    void work();
    void emit();

private:
    bool take_blocks();

    Pass& pass_;
    Borrowed worker_;
    RecordRun run_;
    std::uint64_t number_ = 0;           // of a guessed run
    std::unique_ptr<Walker> walker_;     // to guess; made when it is needed
    std::vector<std::uint64_t> starts_;  // of the records in the input, if they are measured
    std::vector<std::uint64_t> sizes_;   // of what is written of them, likewise
};

void RecordLane::Slot::work() {
    worker_->clear();
    starts_.clear();
    sizes_.clear();
    if (!pass_.guessed) {
        take_blocks();
        return;
    }
    if (!walker_) walker_ = std::make_unique<Walker>(pass_.lane.stage_.dialect(), pass_.lane.kernel_, 0);
    pass_.ahead->wait_for(pass_.guessed->reach(number_));
    pass_.guessed->find(number_, *walker_, run_);
    bool is_sound = false;
    try {
        is_sound = take_blocks() || pass_.guessed->is_last(number_);
    } catch (const InputError&) {  // is_sound is false
    }
    if (!is_sound) throw DoubtfulRun();
}

// False if the last record has no terminator.
bool RecordLane::Slot::take_blocks() {
    bool is_terminated = true;
    for_each_block(*worker_, run_.bytes, run_.place, pass_.lane.stage_.max_record(), [&](const RecordBlock& block) {
        is_terminated = block.ends.back() < block.bytes.size();
        if (pass_.consumer.take != nullptr) return worker_->write(block);
        const std::size_t done = sizes_.size();
        sizes_.resize(done + block.record_count());
        worker_->measure(block, std::span(sizes_).subspan(done));
        for (std::size_t r = 0; r < block.record_count(); ++r) {
            starts_.push_back(block.place.offset + block.rows[r].begin);
        }
    });
    return is_terminated;
}

void RecordLane::Slot::emit() {
    RecordLane& lane = pass_.lane;
    if (!lane.input_.is_stream()) lane.input_.blob().throw_if_lost();
    Place& place = pass_.emitted;
    // Two guesses of one place differ only if the bytes have changed.
    if (pass_.guessed && run_.place.offset != place.offset) throw InputChangedError();
    if (pass_.consumer.take != nullptr) {
        (*pass_.consumer.take)(worker_->written(), worker_->starts());
        const std::scoped_lock lock(lane.mutex_);
        lane.counts_ += worker_->counts();
        place.record += worker_->starts().size();
    } else {
        (*pass_.consumer.take_measured)(starts_, place.record, sizes_);
        place.record += sizes_.size();
    }
    place.offset += run_.bytes.size();
    if (pass_.meter != nullptr) pass_.meter->scanned += run_.bytes.size();
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

// False if the CPU is to take the runs that are left.
bool RecordLane::write_on_device(RecordRuns& runs, Place& at, const Take& take, Meter* meter) {
    return device_->run(runs, input_.is_mapped(), [&](const DeviceLane::Written& written) {
        if (!input_.is_stream()) input_.blob().throw_if_lost();
        take(written.bytes, written.starts);
        at.record += written.starts.size();
        at.offset += written.input_size;
        if (meter != nullptr) meter->scanned += written.input_size;
        const std::scoped_lock lock(mutex_);
        counts_ += written.counts;
    });
}

// Returns where the range ends, with the number of the record behind it.
Place RecordLane::pass_over(BlobRange range, std::uint64_t record, unsigned threads, const Consumer& consumer,
                            Meter* meter) {
    Place at{range.offset, record};
    const std::uint64_t end = range.offset + range.size;
    const RunOptions options = run_options();
    if (device_ && consumer.take != nullptr && at.offset < end) {
        RecordRuns runs(input_, range, record, stage_.dialect(), kernel_, options);
        if (write_on_device(runs, at, *consumer.take, meter)) return at;
    }
    unsigned doubts = 0;
    while (at.offset < end) {
        Pass pass{*this, consumer, at, meter, {}, {}, {}};
        if (input_.is_mapped() && doubts < kMostDoubts) {
            try {
                pass.guessed.emplace(input_.bytes(), BlobRange{at.offset, end - at.offset}, stage_.dialect(),
                                     options.size);
                pass.ahead.emplace(input_.blob(), at.offset, end);
                pass.run(pass.ahead->readers(threads));
                continue;
            } catch (const DoubtfulRun&) {
                ++doubts;
                pass.ahead.reset();
                pass.guessed.reset();
            }
        }
        const bool is_guessed_after = input_.is_mapped() && doubts < kMostDoubts;
        if (is_guessed_after) pass.left = 1;
        pass.in_order.emplace(input_, BlobRange{at.offset, end - at.offset}, at.record, stage_.dialect(), kernel_,
                              options);
        pass.run(is_guessed_after ? 1 : threads);
    }
    return at;
}

void RecordLane::write_all(const Take& take) {
    const Consumer consumer{&take, nullptr};
    if (!input_.is_stream()) {
        if (execution_.meter != nullptr) execution_.meter->scanned += body().offset;
        pass_over(body(), head_.records, execution_.threads, consumer, execution_.meter);
        return;
    }
    Place at{head_.bytes.size(), head_.records};
    RunOptions options = run_options();
    options.meter = execution_.meter;
    Pass pass{*this, consumer, at, nullptr, {}, {}, {}};
    pass.in_order.emplace(input_, at, stage_.dialect(), kernel_, options);
    if (device_ && write_on_device(*pass.in_order, at, take, nullptr)) return;
    pass.run(execution_.threads);
}

void RecordLane::write_range(BlobRange range, std::uint64_t record, unsigned threads, const Take& take) {
    pass_over(range, record, threads, {&take, nullptr}, nullptr);
}

std::vector<StagedPiece> RecordLane::measure(const Policy& policy, std::span<const Piece> cuts) {
    // Without a header, the byte order mark belongs to the first record.
    const std::uint64_t mark = head_.has_header ? 0 : header_.size();
    check_header_size(policy, header_.size() - mark);
    MeasuringCutter cutter(policy, cuts, header_.size() - mark, {body().offset - mark, mark}, head_.records);
    // An index has counted the bytes already.
    Meter* const meter = index_ ? nullptr : execution_.meter;
    if (meter != nullptr) meter->scanned += body().offset;
    const TakeMeasured take = [&](auto starts, std::uint64_t record, auto sizes) {
        for (std::size_t r = 0; r < sizes.size(); ++r) cutter.take(starts[r], record + r, sizes[r]);
    };
    records_ = pass_over(body(), head_.records, execution_.threads, {nullptr, &take}, meter).record;
    return cutter.finish(input_.blob().size(), records_);
}

}  // namespace cleave
