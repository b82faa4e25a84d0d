// Reports pieces to the observer and the manifest of a job in piece order, though they are finished in any order.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "cleave/job.h"
#include "formats/manifest.h"
#include "formats/plan_json.h"
#include "job/older_pieces.h"

namespace cleave {

// Any thread; calls the observer by one thread at a time. Throws what the observer throws, and std::bad_alloc.
class PieceReports {
public:
    // All must outlive this. report.header_size must be right before the first finished().
    PieceReports(const Job& job, JobObserver& observer, JobReport& report)
        : job_(job), observer_(observer), report_(report) {}

    // From here on Piece::start need not be set: each piece starts where the one before it ends, and the first one
    // after the header. To be called before the first finished().
    void set_starts_follow() { starts_follow_ = true; }

    // From here on PieceResult::values are set, by the number of the piece. To be called before the first finished().
    using ValuesOf = std::function<std::vector<std::string>(std::uint64_t number)>;
    void set_values(ValuesOf values_of) { values_of_ = std::move(values_of); }

    // How the manifest names the pieces. To be called before the first finished().
    void set_names(const ManifestNames& names) { names_ = names; }

    // From here on finished pieces are taken out of these. To be called before the first finished().
    void set_older(OlderPieces older) {
        const MutexLock lock(mutex_);
        older_ = std::move(older);
    }
    // Those that are left, as texts of OlderPieces. When all pieces are finished.
    std::vector<std::string> older_texts() const {
        const MutexLock lock(mutex_);
        return older_.texts();
    }

    // Sets report.findings.
    void found(const Findings& findings);
    // In piece order.
    void cut(const Piece& piece);
    // A piece is held back until those before it are finished. Counts it in report.pieces and the meter, and sets
    // PieceResult::size and values.
    void finished(const Piece& piece, std::string path, const PieceResult& result);

    // Bytes of the bodies of the pieces so far. When all pieces are finished.
    std::uint64_t written() const {
        const MutexLock lock(mutex_);
        return written_;
    }

    // When all pieces are finished, if the job makes a manifest.
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
    ValuesOf values_of_;  // may be empty
    ManifestNames names_;
    mutable Mutex mutex_;
    OlderPieces older_ CLEAVE_GUARDED_BY(mutex_);
    std::uint64_t written_ CLEAVE_GUARDED_BY(mutex_) = 0;                  // bytes of the bodies that were reported
    std::map<std::uint64_t, Finished> waiting_ CLEAVE_GUARDED_BY(mutex_);  // by number
    PlanJson manifest_ CLEAVE_GUARDED_BY(mutex_);
};

}  // namespace cleave
