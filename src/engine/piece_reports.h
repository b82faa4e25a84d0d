// Reports pieces to the observer and the manifest of a job in the order of their numbers, although they finish in any
// order.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "cleave/job.h"
#include "engine/manifest.h"
#include "engine/plan_json.h"

namespace cleave {

// Members may be called from any thread; only one thread at a time calls the observer. Members throw what the observer
// throws, and std::bad_alloc.
class PieceReports {
public:
    // The arguments must outlive this object. report.header_size must be set before the first finished().
    PieceReports(const Job& job, JobObserver& observer, JobReport& report)
        : job_(job), observer_(observer), report_(report) {}

    // Makes Piece::start optional: each piece starts where the piece before it ends, and the first one after the
    // header. Call this before the first finished().
    void set_starts_follow() { starts_follow_ = true; }

    // Sets PieceResult::values and part, given the number of the piece. Call this before the first finished().
    using Identify = std::function<void(std::uint64_t number, PieceResult& result)>;
    void set_identify(Identify identify) { identify_ = std::move(identify); }

    // Says which bytes of several inputs are in each piece. Call this before the first finished().
    void set_joined(const JoinedInputs* joined) { joined_ = joined; }

    // Sets how the manifest names the pieces. Call this before the first finished().
    void set_names(const ManifestNames& names) { names_ = names; }

    // From now on, finished pieces are taken off the list in `older`. Call this before the first finished().
    void set_older(OlderPieces older) {
        const MutexLock lock(mutex_);
        older_ = std::move(older);
    }
    // Returns OlderPieces::texts() for the older pieces that remain. Call this when all pieces are finished.
    std::vector<std::string> older_texts() const {
        const MutexLock lock(mutex_);
        return older_.texts();
    }

    // Sets report.findings.
    void found(const Findings& findings);
    // Call this in piece order.
    void cut(const Piece& piece);
    // Holds a piece back until all pieces before it are finished. Counts it in report.pieces and the meter, and sets
    // PieceResult::size, values and part.
    void finished(const Piece& piece, std::string path, const PieceResult& result);

    // The total size of the pieces' bodies. Call this when all pieces are finished.
    std::uint64_t written() const {
        const MutexLock lock(mutex_);
        return written_;
    }

    // Call this when all pieces are finished, if the job writes a manifest.
    std::string manifest_text(const InputFacts& facts) const {
        const MutexLock lock(mutex_);
        return manifest_.text(facts);
    }

private:
    struct Finished {
        Piece piece;
        PieceFile file;
    };
    void tell(Finished finished) CLEAVE_REQUIRES(mutex_);

    const Job& job_;
    JobObserver& observer_ CLEAVE_GUARDED_BY(mutex_);
    JobReport& report_ CLEAVE_GUARDED_BY(mutex_);
    bool starts_follow_ = false;
    Identify identify_;                     // may be empty
    const JoinedInputs* joined_ = nullptr;  // or null
    ManifestNames names_;
    mutable Mutex mutex_;
    OlderPieces older_ CLEAVE_GUARDED_BY(mutex_);
    std::uint64_t written_ CLEAVE_GUARDED_BY(mutex_) = 0;                  // bytes in the bodies reported so far
    std::map<std::uint64_t, Finished> waiting_ CLEAVE_GUARDED_BY(mutex_);  // by piece number
    PlanJson manifest_ CLEAVE_GUARDED_BY(mutex_);
};

}  // namespace cleave
