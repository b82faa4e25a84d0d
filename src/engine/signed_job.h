// Runs a job as only the command does: with a report that is signed, or with a store that is open already. run_job()
// in cleave/job.h does everything else.
#pragma once

#include <string>

#include "cleave/job.h"

namespace cleave {

class InputHash;
class Store;

// With what a report is signed. The members must outlive the run.
struct ReportSigning {
    const KeyRing& keys;
    const std::string& key;  // the name of a key of the ring
    InputHash& input;        // of the input of the job
};

// Like run_job(), but signs the report if `signing` is not null. See features/redact/run/signed_report.h. The job must
// have rules and a report, and must write files: it is not a dry run, and has no filter. Also throws ArgumentError if a
// piece or the manifest is not beneath the folder of the report. `store` is where the names of the pieces lead if they
// are URLs; if it is null, the run opens the store, which loads a module and reads files.
JobReport run_signed_job(Input& input, const Job& job, JobObserver& observer, const ReportSigning* signing,
                         const Store* store = nullptr);

}  // namespace cleave
