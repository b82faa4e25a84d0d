// A job settles the dialect, scans and cuts the input, and writes either all of its pieces or none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cleave/dialect.h"
#include "cleave/error.h"
#include "cleave/input.h"
#include "cleave/output.h"
#include "cleave/plan.h"
#include "cleave/rejects.h"
#include "cleave/scan.h"
#include "cleave/stage.h"

namespace cleave {

// How many times a blob is read. The pieces are the same. A stream that is not spooled is read once.
enum class Passes : std::uint8_t {
    kAuto,  // one if that is likely to be faster (Policy::pieces, from a file that is not in the page cache), else two
    kOne,   // scanned, cut and written part by part, in order. Not allowed if needs_index(policy) is true, nor with a
            // snapshot, `resume` or `clone`
    kTwo,   // scanned and planned as a whole; then the pieces are written in parallel
};

struct Job {
    DialectOptions dialect = {};
    Policy policy = {};
    JobRules stage = {};
    Execution execution = {};  // at most as many pieces are written at once as it has threads
    OutputOptions output = {};
    Passes passes = Passes::kAuto;
    // Sets aside records that a strict reader refuses: see RejectOptions. The input is then one without them, also
    // after the job. Not with `resume`, nor for a snapshot.
    std::optional<RejectOptions> rejects = {};
    // Accept a quote that is never closed: everything after it belongs to the last record. Otherwise, and always with
    // rules, it causes OpenQuoteError before anything appears.
    bool allow_open_quote = false;
};

// What a job returns.
struct JobReport {
    SniffedDialect sniffed;  // the dialect, and why
    Findings findings;
    std::uint64_t header_size = 0;  // as plan_pieces() returns it; with a stage, as written
    std::uint64_t pieces = 0;
    StageCounts counts;                   // with a stage
    std::optional<RejectCounts> rejects;  // with Job::rejects
    // With a stage, unless it is a dry run or the pieces go to commands: files beside the pieces that may be pieces of
    // earlier runs, with values that the rules change (doc/guide/redaction.md). Each is given by its path or, if its
    // name may contain a value, as "piece N of the older MANIFEST".
    std::vector<std::string> older_pieces;
};

// Its members are called while a job runs, by one thread at a time. If a member throws, the job fails and is undone.
class JobObserver {
public:
    JobObserver() = default;
    JobObserver(const JobObserver&) = delete;
    JobObserver& operator=(const JobObserver&) = delete;
    virtual ~JobObserver() = default;

    // A stream of `size` decompressed bytes was copied to a temporary file, because the policy needs all of it.
    // Execution::meter starts again at 0.
    virtual void spooled(std::uint64_t /*size*/) {}

    // The rules have been compiled. Nothing is written yet. `header_records` is as in Findings.
    virtual void compiled(const Stage& /*stage*/, std::uint64_t /*header_records*/) {}

    // The input has been scanned. The last piece is not finished yet; with two passes nothing is written yet. Called
    // before an open quote is refused.
    virtual void found(const Findings& /*findings*/) {}

    // The start and length of the piece are known. Called in piece order; with two passes, for all pieces before any is
    // written. With a stage, the pieces of a blob are reported here only if they are measured beforehand: for
    // Policy::max_bytes and Policy::together, for names that contain the place of a piece, for a command, for a dry
    // run, and for a manifest under OutputOptions::resume. finished() gives the start and length in every job.
    virtual void cut(const Piece& /*piece*/) {}

    // The piece is finished and has its name. Called in piece order, from any thread.
    virtual void finished(const Piece& /*piece*/, const std::string& /*path*/, const PieceResult& /*result*/) {}

    // All pieces and the manifest are in place. Once this has returned, nothing can fail.
    virtual void concluded(const JobReport& /*report*/) {}

    // The job has failed, and these URLs are all that may be left of it in a store: as objects, or as uploads that
    // nobody sees. They could not be taken back, or have replaced what was there before. There is at least one.
    virtual void left(const std::vector<std::string>& /*urls*/) {}
};

// Runs the job on an open input that has not been read. If it throws, all files that it created are removed, except
// under OutputOptions::resume. Throws
// - ArgumentError for an argument that a header forbids, two pieces with the same name, a piece with the
//   manifest's name, and a missing directory (MissingDirectoryError),
// - SystemError if a system call fails, and if a name is taken,
// - OutputError, OtherPieceError, CloneError, FilterError,
// - InputError if refuse_foreign() throws it, or if compressed data is corrupt or truncated,
// - OpenQuoteError, an InputError, for an open quote, unless Job::allow_open_quote is set,
// - RuleError, SpoolError,
// - HeaderSizeError, before the first piece,
// - InputChangedError if the input was written to in the meantime; if only the time of its last status change is new,
//   the input is scanned again and compared with the files,
// - Cancelled, when the input's Cancellation is requested, and what the observer throws.
JobReport run_job(Input& input, const Job& job, JobObserver& observer);
JobReport run_job(Input& input, const Job& job);

}  // namespace cleave
