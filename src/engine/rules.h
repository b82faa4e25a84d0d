// What rules add to a run. The feature `redact` defines all of it, in its folder `run`; a build without the feature has
// without/redact.cpp.
#pragma once

#include <memory>
#include <string>

#include "cleave/job.h"
#include "core/writer/file_watcher.h"
#include "engine/piece_bytes.h"
#include "engine/plan_json.h"

namespace cleave {

// Whether a rule needs two passes over the input. Rules that cannot be parsed do not.
bool needs_two_passes(const JobRules& rules);

// Compiles the rules of a job and tells the observer. The input must not have been read. Throws what Rewriting()
// throws.
std::shared_ptr<Rewriting> compile_rules(Input& input, const Dialect& dialect, const Policy& policy, const Job& job,
                                         JobObserver& observer);

// For a report that is signed: see ReportSigning. Throws what InputHash() throws.
std::shared_ptr<InputHash> make_input_hash(Input& input);

StageCounts counts_of(const Rewriting& rewriting);

// Ranges of records that the rules change on the way. The context must have rules.
std::unique_ptr<PieceBytes> make_rewritten_records(const JobContext& context);

// Cuts what the rules write, in order. Not for policies that set the number of pieces.
Findings cut_in_order(Rewriting& rewriting, PieceSink& sink);

// The report on what the rules did, which is signed if the context has a signing. For one thread.
class RulesReport {
public:
    RulesReport() = default;
    RulesReport(const RulesReport&) = delete;
    RulesReport& operator=(const RulesReport&) = delete;
    virtual ~RulesReport() = default;

    // What must see the files of the pieces; null if nothing must.
    virtual FileWatchers* watchers() = 0;
    // Call this when all pieces are written. `manifest` is the text of the manifest.
    virtual std::string text(const InputFacts& facts, const std::string& manifest) = 0;
};

// The context must have rules, and is copied. Throws ArgumentError if the report cannot list what it must.
std::unique_ptr<RulesReport> make_rules_report(const JobContext& context);

}  // namespace cleave
