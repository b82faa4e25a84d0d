// Runs a job whose report is signed. Only the command can do this; run_job() in cleave/job.h does everything else.
#pragma once

#include <string>

#include "cleave/job.h"
#include "cleave/keys.h"
#include "io/input_hash.h"

namespace cleave {

// With what a report is signed. The members must outlive the run.
struct ReportSigning {
    const KeyRing& keys;
    const std::string& key;  // the name of a key of the ring
    InputHash& input;        // of the input of the job
};

// Like run_job(), but signs the report if `signing` is not null. See formats/signed_report.h. The job must have rules
// and a report, and must write files: it is not a dry run, and has no filter. Also throws ArgumentError if a piece or
// the manifest is not beneath the folder of the report.
JobReport run_signed_job(Input& input, const Job& job, JobObserver& observer, const ReportSigning* signing);

}  // namespace cleave
