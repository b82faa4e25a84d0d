// Runs a job as only the command does: with a report that is signed, or with a dialect and a store that it has settled
// and opened. run_job() in cleave/job.h does everything else.
#pragma once

#include <string>

#include "cleave/job.h"

namespace cleave {

class InputHash;
class JoinedInputs;
class Sifting;
class Store;

// With what a report is signed. The members must outlive the run.
struct ReportSigning {
    const KeyRing& keys;
    const std::string& key;  // the name of a key of the ring
    InputHash& input;        // of the input of the job
};

// What the command knows before the run. The members must outlive it; each may be null.
struct KnownParts {
    const SniffedDialect* sniffed = nullptr;  // what settle_dialect() returned for the input
    // The report is signed with it: see features/redact/run/signed_report.h. The job must have rules and a report, and
    // must write files: it is not a dry run, and has no filter.
    const ReportSigning* signing = nullptr;
    // Where the names of the pieces lead if they are URLs; if it is null, the run opens the store, which loads a module
    // and reads files.
    const Store* store = nullptr;
    // What has set aside records of the input; the job's own `rejects` are not used then.
    Sifting* sifting = nullptr;
    // What the input consists of, for the manifest; null if it is one file.
    const JoinedInputs* joined = nullptr;
};

// Like run_job(). If the report is signed, also throws ArgumentError if a piece or the manifest is not beneath the
// folder of the report.
JobReport run_known_job(Input& input, const Job& job, JobObserver& observer, const KnownParts& known);

}  // namespace cleave
