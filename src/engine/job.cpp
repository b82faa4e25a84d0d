// One run:
//
//     settle the dialect, and spool a stream that is needed in full
//     compile the rules
//     find out what the pieces consist of (see engine/piece_bytes.h), and plan them unless they are cut on arrival
//     create the output: a piece goes to a file, to a command or, in a dry run, nowhere
//     write the pieces
//     check that the input has not changed
//     seal (everything that can still fail), conclude, commit (cannot fail)
#include "cleave/job.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/text_bytes.h"
#include "cleave/error.h"
#include "cleave/foreign.h"
#include "core/offsets/check_arguments.h"
#include "core/offsets/input_head.h"
#include "core/reader/location.h"
#include "core/scan/check_arguments.h"
#include "core/writer/check_arguments.h"
#include "engine/job_output.h"
#include "engine/known_job.h"
#include "engine/piece_bytes.h"
#include "engine/piece_reports.h"
#include "engine/rules.h"
#include "rows/values/index_columns.h"
#include "rows/values/key_field.h"

namespace cleave {
namespace {

class Run {
public:
    Run(Input& input, const Job& job, JobObserver& observer, const KnownParts& known)
        : input_(input),
          job_(job),
          policy_(job.policy),
          observer_(observer),
          known_(known),
          reports_(job, observer, report_) {}

    JobReport run() {
        try {
            return run_to_end();
        } catch (const InputError&) {
            // With rules, values of records before the bad one may have ended up in columns that no rule changes.
            if (rewriting_ && output_) output_->keep_nothing();
            take_back();
            throw;
        } catch (...) {  // also what the observer throws
            take_back();
            throw;
        }
    }

private:
    void take_back() {
        if (!output_) return;
        const std::vector<std::string> left = output_->take_back();
        if (!left.empty()) observer_.left(left);
    }

    JobReport run_to_end() {
        input_.set_threads(job_.execution.thread_count());
        report_.sniffed = known_.sniffed != nullptr ? *known_.sniffed : settle_dialect(job_.dialect, input_);
        policy_.header = header_mode(policy_.header, dialect());
        refuse_unclonable();
        require_columns();
        spool_if_needed();
        compile_stage();
        const JobContext context{input_,  job_,     policy_,        dialect(),   rewriting_.get(),
                                 report_, reports_, known_.signing, known_.store};
        const std::unique_ptr<PieceBytes> bytes = plan_bytes(context);
        output_.emplace(context, *bytes);
        output_->write(*bytes);
        if (rewriting_) report_.counts = counts_of(*rewriting_);
        if (!bytes->is_of_input()) report_.findings.size = report_.header_size + reports_.written();
        report_.older_pieces = reports_.older_texts();
        output_->seal();
        observer_.concluded(report_);
        output_->commit();
        return std::move(report_);  // a copy could fail, although the pieces stay
    }

    const Dialect& dialect() const { return report_.sniffed.dialect; }
    bool has_rules() const { return !job_.stage.options.is_empty(); }

    void refuse_unclonable() {
        if (job_.output.clone != CloneMode::kAlways) return;
        const bool is_compressed = input_.compression() != Compression::kNone;
        const bool is_decoded = is_compressed && !input_.is_stream() && input_.blob().backing().descriptor < 0;
        if ((!input_.is_stream() && !is_decoded) || input_.peek(1).empty()) return;
        const char* why = "not a regular file";
        if (input_.compression() != Compression::kNone) why = "compressed";
        if (input_.encoding() != Encoding::kBytes) why = "converted to UTF-8";
        throw CloneError(Location(input_.path()).shown(), why);
    }

    // Throws RuleError, before anything else is read, if a column of the policy is not in the header. With rules, their
    // compilation does. A header that does not end soon is left to what reads all of it.
    void require_columns() {
        if (has_rules() || (!policy_.by && !policy_.together)) return;
        std::optional<InputHead> head;
        try {
            head = read_head(input_, dialect(), policy_.header, kSniffSize);
        } catch (const InputError&) {
            return;
        }
        if (std::ranges::all_of(head->sample, is_line_break)) return;
        const InputColumns columns = columns_of_record(head->sample, dialect(), head->has_header);
        if (policy_.by) find_key_columns(*policy_.by, columns);
        if (policy_.together) find_key_column(*policy_.together, columns);
    }

    // Whether a stream that is needed in full is spooled only after the rules have changed it, while it is being
    // written. False if the temporary file would then contain columns that appear in no piece and in no name.
    bool spools_changed() const {
        return policy_.by && has_rules() && !(policy_.by->has_fixed_pieces() && policy_.by->drops_columns);
    }

    void spool_if_needed() {
        if (!input_.is_stream()) return;
        if (!needs_two_passes(job_.stage) && (!needs_whole_input(policy_) || spools_changed())) return;
        const auto head = input_.peek(kSniffSize);
        if (has_rules() && !job_.stage.may_spool && !head.empty()) throw SpoolError();
        refuse_foreign(head);  // now rather than after the copy
        input_.spool(job_.execution.meter);
        if (job_.execution.meter != nullptr) job_.execution.meter->reset();
        observer_.spooled(input_.blob().size());
    }

    // Rules that change nothing are compiled too: they still refuse a record with different columns, and bytes that
    // readers may interpret differently.
    void compile_stage() {
        if (!has_rules()) return;
        rewriting_ = compile_rules(input_, dialect(), policy_, job_, observer_);
        if (!policy_.by) reports_.set_starts_follow();
    }

    Input& input_;
    const Job& job_;
    Policy policy_;
    JobObserver& observer_;
    const KnownParts& known_;
    JobReport report_;
    PieceReports reports_;
    std::shared_ptr<Rewriting> rewriting_;  // with rules
    std::optional<JobOutput> output_;
};

void check(const Job& job) {
    checked(job.policy);
    checked_kernel(job.execution);
    check(job.output);
    if (job.passes == Passes::kOne && (job.output.resume || job.output.clone != CloneMode::kNever)) {
        throw ArgumentError("job: resume and clone need two passes");
    }
    if (job.policy.by && (job.passes == Passes::kOne || job.output.clone != CloneMode::kNever)) {
        throw ArgumentError("job: pieces by value need two passes and cannot share blocks");
    }
}

}  // namespace

JobReport run_job(Input& input, const Job& job) {
    JobObserver silent;
    return run_job(input, job, silent);
}

JobReport run_job(Input& input, const Job& job, JobObserver& observer) {
    return run_known_job(input, job, observer, {});
}

JobReport run_known_job(Input& input, const Job& job, JobObserver& observer, const KnownParts& known) {
    check(job);
    try {
        return Run(input, job, observer, known).run();
    } catch (const std::exception&) {
        input.rethrow();
    }
}

}  // namespace cleave
