// The record lane of a job: records that a stage changes on the way. The byte lane moves ranges of the input unchanged;
// here batches of whole records are read, changed, and passed on in order.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/mutex.h"
#include "cleave/input.h"
#include "cleave/plan.h"
#include "cleave/scan.h"
#include "cleave/stage.h"
#include "core/offsets/input_head.h"
#include "core/offsets/measuring_cutter.h"
#include "features/redact/lane/device_lane.h"
#include "rows/records/batch_check.h"
#include "rows/records/batch_loop.h"
#include "rows/records/private_bytes.h"

namespace cleave {

class KeyField;
class BatchKeys;

// Members may be called from any thread, unless they say otherwise.
class RecordLane {
public:
    // The arguments must outlive the lane. `head` is the head of the input.
    RecordLane(Input& input, const InputHead& head, const Stage& stage, const Execution& execution);
    ~RecordLane();

    // The header as it is written. Without a header, the byte order mark.
    std::span<const std::uint8_t> header() const { return header_; }

    // Takes changed records, in order, and where in `bytes` each begins.
    using Take = std::function<void(std::span<const std::uint8_t> bytes, std::span<const std::uint64_t> starts)>;

    // Changed records, in order.
    struct Written {
        std::span<const std::uint8_t> bytes;
        std::span<const std::uint64_t> starts;  // where in `bytes` each begins
        // The worker that holds the keys of the records, because key columns may have been left out of `bytes`. Null if
        // no keys were requested, or if a device wrote the records.
        const StageWorker* keys = nullptr;
    };

    // Processes changed records before they are passed on. There are several followers, each for one thread at a time.
    class Follower {
    public:
        Follower() = default;
        Follower(const Follower&) = delete;
        Follower& operator=(const Follower&) = delete;
        virtual ~Follower() = default;
        // Processes some records while other followers process other records. Must have no effect that others can
        // see, because a guess may be wrong, in which case the records do not exist. Throws InputError with the number
        // of the record among these, counted from 0.
        virtual void work(const Written& /*records*/) {}
        // Passes on the same records, when it is their turn.
        virtual void emit(const Written& records) = 0;
    };
    using MakeFollower = std::function<std::unique_ptr<Follower>()>;

    // Passes on all records except the header. The input must not have been read. One thread.
    void write_all(const Take& take);
    // If `keyed` is not null, it is what with_keys() returns for this stage, and the CPU hands over keys too.
    void write_all(const MakeFollower& make, const Stage* keyed = nullptr);
    // Passes on the records of a range of a blob. The range begins and ends with a record.
    void write_range(BlobRange range, std::uint64_t record, unsigned threads, const Take& take);

    // Passes on one record of a blob, faster than write_range(), which is designed for many. One thread.
    void write_record(BlobRange range, std::uint64_t record, const Take& take);
    // Reads the records of a blob up to the first fault, and throws the InputError for it.
    void throw_first_fault();

    // Cuts a blob according to the size of what is written. If the policy sets the number of pieces, `cuts` say where
    // they begin; otherwise the policy's limits decide. `key` is null unless Policy::together is set; it is then a
    // column of what is written. One thread.
    std::vector<RewrittenPiece> measure(const Policy& policy, std::span<const Piece> cuts, const KeyField* key);

    // The index of a blob, created when first needed. One thread.
    const RecordIndex& index();

    // The counts for everything passed on so far.
    StageCounts counts() const {
        const MutexLock lock(mutex_);
        return counts_;
    }
    // How many records of the input measure() has seen, counting the header.
    std::uint64_t records() const { return records_; }

private:
    // Receives where measured records begin in the input, the number of the first one, the sizes of what is written,
    // and the values of the key or, without a key, nullptr.
    using TakeMeasured = std::function<void(std::span<const std::uint64_t> starts, std::uint64_t record,
                                            std::span<const std::uint64_t> sizes, BatchKeys* keys)>;

    class Borrowed;
    class Rewrite;
    class Measure;

    BatchLoop loop_over(BlobRange range, std::uint64_t record, Meter* meter);
    std::uint64_t measure_all(const TakeMeasured& take, const KeyField* key, Meter* meter);
    void rewrite(BatchLoop& loop, unsigned threads, const MakeFollower& make, const Stage* keyed);
    void rewrite_on_device(BatchLoop& loop, Follower& follower);
    void try_cpu(BatchLoop& loop, std::uint64_t timed, unsigned threads, const MakeFollower& make, const Stage* keyed);
    void follow(Follower& follower, const Written& records, const Batch& batch);
    bool uses_device(DeviceLane::Use use) const;
    BatchOptions batch_options(Meter* meter) const;
    void count(const StageCounts& counts);
    BlobRange body() const;

    Input& input_;
    const InputHead& head_;
    const Stage& stage_;
    const Execution& execution_;
    const Kernel& kernel_;
    const std::shared_ptr<MemoryManager> memory_;
    std::vector<std::uint8_t> header_;
    BatchCheck check_;
    PrivateBytes lone_;  // used by write_record()
    std::uint64_t records_ = 0;
    std::unique_ptr<RecordIndex> index_;
    std::unique_ptr<DeviceLane> device_;  // null if only the CPU is used

    mutable Mutex mutex_;
    std::vector<std::unique_ptr<StageWorker>> idle_ CLEAVE_GUARDED_BY(mutex_);
    std::size_t workers_ CLEAVE_GUARDED_BY(mutex_) = 0;  // how many have been created
    StageCounts counts_ CLEAVE_GUARDED_BY(mutex_);
};

}  // namespace cleave
