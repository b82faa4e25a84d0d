// The record lane of a job: records that a stage changes on their way. The byte lane moves ranges of the input as they
// are; here batches of whole records are read, changed, and passed on in order.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/mutex.h"
#include "cleave/input.h"
#include "cleave/plan.h"
#include "cleave/scan.h"
#include "cleave/stage.h"
#include "lane/device_lane.h"
#include "plan/input_head.h"
#include "plan/measuring_cutter.h"
#include "records/batch_check.h"
#include "records/batch_loop.h"
#include "records/private_bytes.h"

namespace cleave {

class KeyField;
class BatchKeys;

// Members may be called from any thread, except where they say otherwise.
class RecordLane {
public:
    // All must outlive the lane. `head` is that of the input.
    RecordLane(Input& input, const InputHead& head, const Stage& stage, const Execution& execution);
    ~RecordLane();

    // The header as it is written; without a header the byte order mark.
    std::span<const std::uint8_t> header() const { return header_; }

    // Changed records, in order, and where in `bytes` each begins.
    using Take = std::function<void(std::span<const std::uint8_t> bytes, std::span<const std::uint64_t> starts)>;

    // Changed records, in order.
    struct Written {
        std::span<const std::uint8_t> bytes;
        std::span<const std::uint64_t> starts;  // where in `bytes` each begins
        const StageWorker* keys = nullptr;      // has their keys, without the columns in `bytes` that are left out;
                                                // null if nobody asked for keys, or a device has written the records
    };

    // What is made of changed records before they are passed on. For one thread at a time; there are several.
    class Follower {
    public:
        Follower() = default;
        Follower(const Follower&) = delete;
        Follower& operator=(const Follower&) = delete;
        virtual ~Follower() = default;
        // Of some records, while others are at work, too. Nothing may be kept that others see: these may be records
        // that are not there. Throws InputError with the number of the record among these, from 0.
        virtual void work(const Written& /*records*/) {}
        // The same records, in their turn.
        virtual void emit(const Written& records) = 0;
    };
    using MakeFollower = std::function<std::unique_ptr<Follower>()>;

    // Passes on all records but the header. For an input that has not been read; one thread.
    void write_all(const Take& take);
    // With `keyed`, the same stage by with_keys(), the CPU hands over keys, too.
    void write_all(const MakeFollower& make, const Stage* keyed = nullptr);
    // Passes on the records of a range of a blob, which begins and ends with a record.
    void write_range(BlobRange range, std::uint64_t record, unsigned threads, const Take& take);

    // Passes on one record of a blob. In less time than write_range(), which is made for many. One thread.
    void write_record(BlobRange range, std::uint64_t record, const Take& take);
    // Reads the records of a blob, up to the first fault. Throws InputError for that one.
    void throw_first_fault();

    // Cuts a blob by what is written. `cuts` are the first bytes of the pieces, for policies by pieces; else the
    // policy's limits cut. With Policy::together, and only then, `key` is a column of what is written. One thread.
    std::vector<RewrittenPiece> measure(const Policy& policy, std::span<const Piece> cuts, const KeyField* key);

    // Of a blob; made when it is needed first. One thread.
    const RecordIndex& index();

    // Of all that was passed on so far.
    StageCounts counts() const {
        const MutexLock lock(mutex_);
        return counts_;
    }
    // Records of the input that measure() has seen, the header counted.
    std::uint64_t records() const { return records_; }

private:
    // Gets where measured records begin in the input, the number of the first one, the sizes of what is written, and
    // the values of the key, or nullptr.
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
    PrivateBytes lone_;  // of write_record()
    std::uint64_t records_ = 0;
    std::unique_ptr<RecordIndex> index_;
    std::unique_ptr<DeviceLane> device_;  // null: the CPU alone

    mutable Mutex mutex_;
    std::vector<std::unique_ptr<StageWorker>> idle_ CLEAVE_GUARDED_BY(mutex_);
    std::size_t workers_ CLEAVE_GUARDED_BY(mutex_) = 0;  // that were made
    StageCounts counts_ CLEAVE_GUARDED_BY(mutex_);
};

}  // namespace cleave
