// A job: settles the dialect, scans and cuts the input, and writes its pieces, all or none.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cleave/dialect.h"
#include "cleave/error.h"
#include "cleave/input.h"
#include "cleave/output.h"
#include "cleave/plan.h"
#include "cleave/scan.h"
#include "cleave/stage.h"

namespace cleave {

// How often a blob is read. The pieces are the same. A stream that is not spooled is read once.
enum class Passes : std::uint8_t {
    kAuto,  // one where that is likely faster: by pieces, from a file that is not in the page cache; else two
    kOne,   // scanned, cut and written part by part, in order. Not if needs_index(policy), for a snapshot, resume, or
            // clone
    kTwo,   // scanned and planned as a whole; then the pieces are written side by side
};

// What changes records on their way into the pieces. With a stage, Policy::size limits what is written, and starts and
// lengths of pieces, in names, manifest and observer, are those of what is written: Piece::start counts from the start
// of the header as it is written. Shares of Policy::pieces are shares of the input's bytes, so each record is in the
// piece in which it is without a stage. Policy::together names a column of the input, and looks at what is written of
// it; a column that is left out is a RuleError. Not with Policy::alignment, and not for a stream that is needed as a
// whole, unless `may_spool`. With Policy::by a stream needs that only for buckets that drop the columns: otherwise what
// goes to a temporary file is what is written, or becomes a name.
struct JobRules {
    StageOptions options;  // no stage if these are empty, or change nothing in any input
    const KeyRing* keys = nullptr;
    bool may_spool = false;  // a stream may be copied, as it is, to a temporary file
};
using StageJob [[deprecated("JobRules")]] = JobRules;  // until 0.3

struct Job {
    DialectOptions dialect;
    Policy policy;
    JobRules stage;
    Execution execution;  // its threads are also the most pieces that are written at a time
    OutputOptions output;
    Passes passes = Passes::kAuto;
};

// The result of a job.
struct JobReport {
    SniffedDialect sniffed;  // the dialect, and why
    Findings findings;
    std::uint64_t header_size = 0;  // as plan_pieces() returns it; with a stage, of the header as it is written
    std::uint64_t pieces = 0;
    StageCounts counts;  // with a stage
    // With a stage, unless it is a dry run or the pieces go to commands: files that stay beside the pieces and may be
    // pieces of earlier runs, with values that the rules change (doc/redaction.md). The path of each or, where its name
    // may hold a value, "piece N of the older MANIFEST".
    std::vector<std::string> older_pieces;
};

// A stage would need a copy of a stream, with its values, in a temporary file.
class SpoolError : public std::invalid_argument {
public:
    SpoolError() : std::invalid_argument("the input is a stream that would be copied, with its values, to a file") {}
};

// Is called while a job runs, by one thread at a time. If a member throws, the job fails and is undone.
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

    // The input has been scanned. The last piece is not finished yet; with two passes nothing is written yet. Throws
    // OpenQuoteError for an open quote: override it to accept one.
    virtual void found(const Findings& findings);

    // Start and length of the piece are known. In piece order; with two passes, for all pieces before any is written.
    // Never called for a stage's pieces of a blob unless they are measured beforehand: for Policy::size and together,
    // for names with the place of a piece, for a command, for a dry run, and for a manifest under
    // OutputOptions::resume. finished() tells start and length in every job.
    virtual void cut(const Piece& /*piece*/) {}

    // The piece is finished and has its name. In piece order, from any thread.
    virtual void finished(const Piece& /*piece*/, const std::string& /*path*/, const PieceResult& /*result*/) {}

    // All pieces and the manifest are in place. After this has returned, nothing can fail.
    virtual void concluded(const JobReport& /*report*/) {}
};

// Runs the job on an open input that has not been read. If it throws, all files that it made are removed, except under
// OutputOptions::resume. Throws
// - std::invalid_argument for an argument that a header forbids, two pieces of one name, a piece with the name of the
//   manifest, and a missing directory (MissingDirectoryError),
// - std::system_error if the system refuses, and where a name is taken,
// - OutputError, OtherPieceError, CloneError, FilterError,
// - InputError if refuse_foreign() throws it, the compressed data are corrupt or end too early, and what
//   JobObserver::found() throws,
// - RuleError, SpoolError,
// - HeaderSizeError, before the first piece,
// - InputChangedError if the input was written to meanwhile; if only the time of its last status change is new, the
//   input is scanned again and compared with the files,
// - Cancelled, by the input's Cancellation, and what the observer throws.
JobReport run_job(Input& input, const Job& job, JobObserver& observer);

}  // namespace cleave
