// One run:
//
//     settle the dialect, and spool a stream that is needed as a whole
//     find out what the pieces consist of (see job/piece_bytes.h): plans them, unless they are cut as they come
//     make the target: what becomes of a piece, a file, the input of a command, or nothing in a dry run
//     write the pieces
//     check that the input has not changed
//     seal (all that can still fail), conclude, commit (nothing can fail)
#include "cleave/job.h"

#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

#include "base/name_list.h"
#include "cleave/foreign.h"
#include "cleave/names.h"
#include "job/manifest.h"
#include "job/piece_bytes.h"
#include "job/piece_reports.h"
#include "job/stage_report.h"
#include "job/staging.h"
#include "plan/contract.h"
#include "scan/contract.h"
#include "write/contract.h"
#include "write/dry_target.h"
#include "write/file_target.h"
#include "write/filter_target.h"

namespace cleave {
namespace {

class Run {
public:
    Run(Input& input, const Job& job, JobObserver& observer)
        : input_(input),
          job_(job),
          policy_(job.policy),
          output_(job.output),
          observer_(observer),
          reports_(job, observer, report_) {}

    JobReport run() {
        try {
            return run_to_end();
        } catch (const InputError&) {
            // Under rules a bad record may have put values of earlier records into columns that no rule changes.
            if (staging_ && target_) target_->keep_nothing();
            throw;
        }
    }

private:
    JobReport run_to_end() {
        input_.set_threads(job_.execution.threads);
        report_.sniffed = settle_dialect(job_.dialect, input_);
        policy_.header = header_mode(policy_.header, dialect());
        if (output_.clone == CloneMode::kAlways) refuse_unclonable();
        if (needs_whole_input(policy_) && !spools_changed()) spool();
        compile_stage();
        bytes_ = plan_bytes({input_, job_, policy_, dialect(), staging_.get(), report_, reports_});
        make_target();
        const NameList paths = bytes_->names(*namer_);
        check_manifest(paths);
        bytes_->write(*target_, *namer_, paths);
        bytes_->check_input(*target_, *namer_);
        if (staging_) report_.counts = staging_->counts();
        if (!bytes_->is_of_input()) report_.findings.size = report_.header_size + reports_.written();
        report_.older_pieces = reports_.older_texts();
        target_->seal(side_texts());
        observer_.concluded(report_);
        target_->commit();
        return std::move(report_);  // a copy could fail, and the pieces stay
    }

    const Dialect& dialect() const { return report_.sniffed.dialect; }
    bool has_rules() const { return !job_.stage.options.is_empty(); }
    // Whether a stream that is needed as a whole goes to a file only as rules have changed it, and as it is written.
    // Not if the file would have columns that are in no piece and in no name.
    bool spools_changed() const {
        return policy_.by && has_rules() && !(policy_.by->buckets && policy_.by->drops_columns);
    }

    void refuse_unclonable() {
        if (!input_.is_stream() || input_.peek(1).empty()) return;
        const bool is_compressed = input_.compression() != Compression::kNone;
        throw CloneError(input_.path() == "-" ? "stdin" : input_.path(),
                         is_compressed ? "compressed" : "not a regular file");
    }

    void spool() {
        if (!input_.is_stream()) return;
        const auto head = input_.peek(kSniffSize);
        if (has_rules() && !job_.stage.may_spool && !head.empty()) throw SpoolError();
        refuse_foreign(head);  // rather than after the copy
        input_.spool(job_.execution.meter);
        if (job_.execution.meter != nullptr) job_.execution.meter->reset();
        observer_.spooled(input_.blob().size());
    }

    // Rules that change nothing are no exception: a record with other columns is refused, and so are bytes that readers
    // may read differently.
    void compile_stage() {
        if (!has_rules()) return;
        staging_ = std::make_unique<Staging>(input_, dialect(), policy_, job_.stage, job_.execution);
        observer_.compiled(staging_->stage(), staging_->header_records());
        if (!policy_.by) reports_.set_starts_follow();
    }

    void make_target() {
        namer_.emplace(output_.names, input_.path(), output_.first_index, bytes_->count(), bytes_->most_of_value());
        if (!output_.manifest.empty()) names_in_manifest_ = ManifestNames(output_.manifest, namer_->folder());
        reports_.set_names(names_in_manifest_);
        if (staging_ && output_.filter.empty() && !output_.dry_run)
            reports_.set_older(OlderPieces(*namer_, output_.manifest, input_.path()));
        const unsigned threads = job_.execution.threads;
        if (output_.dry_run) {
            target_ = std::make_unique<DryTarget>(input_, *namer_, output_, threads, has_rules());
        } else if (!output_.filter.empty()) {
            target_ = std::make_unique<FilterTarget>(input_, output_);
        } else {
            target_ = std::make_unique<FileTarget>(input_, *namer_, output_, threads, has_rules());
        }
    }

    InputFacts facts() const {
        InputFacts facts = facts_of(input_, dialect(), policy_.header);
        facts.size = report_.findings.size;
        facts.header_size = report_.header_size;
        if (staging_) facts.dialect.preamble = 0;  // it is in no piece
        facts.piece_compression = output_.compression;
        facts.are_names_beneath = names_in_manifest_.are_beneath();
        if (policy_.by && policy_.by->drops_columns) facts.dropped_columns = policy_.by->columns.text;
        return facts;
    }

    SideTexts side_texts() const {
        SideTexts texts;
        if (!output_.manifest.empty()) texts.manifest = reports_.manifest_text(facts());
        if (staging_ && !output_.report.empty()) {
            texts.report = stage_report(staging_->stage(), report_.counts, facts(), report_.pieces);
        }
        return texts;
    }

    // Throws OtherPieceError if an existing manifest belongs to another job.
    void check_manifest(const NameList& paths) const {
        if (!output_.resume || output_.replace || output_.manifest.empty() || !bytes_->is_planned()) return;
        PlanJson plan;
        std::size_t i = 0;
        for (const Piece& piece : bytes_->pieces()) {
            PieceResult result;
            result.size = header_size_in(policy_.header, piece.number, report_.header_size) + piece.length;
            result.values = bytes_->values_of(piece.number);
            plan.add(piece, PieceFile{names_in_manifest_.of(paths[i++]), std::move(result)});
        }
        check_resumed(output_.manifest, plan.text(facts()));
    }

    Input& input_;
    const Job& job_;
    Policy policy_;
    const OutputOptions& output_;
    JobObserver& observer_;
    JobReport report_;
    PieceReports reports_;
    std::unique_ptr<Staging> staging_;  // with rules
    std::unique_ptr<PieceBytes> bytes_;
    std::optional<PieceNamer> namer_;
    ManifestNames names_in_manifest_;
    std::unique_ptr<PieceTarget> target_;
};

void check(const Job& job) {
    checked(job.policy);
    checked_kernel(job.execution);
    check(job.output);
    if (job.passes == Passes::kOne && (job.output.resume || job.output.clone != CloneMode::kNever)) {
        throw std::invalid_argument("job: resume and clone need two passes");
    }
    if (job.policy.by && (job.passes == Passes::kOne || job.output.clone != CloneMode::kNever)) {
        throw std::invalid_argument("job: pieces by value need two passes, and share no blocks");
    }
}

}  // namespace

void JobObserver::found(const Findings& findings) {
    if (findings.open_quote) throw OpenQuoteError(*findings.open_quote);
}

JobReport run_job(Input& input, const Job& job, JobObserver& observer) {
    check(job);
    try {
        return Run(input, job, observer).run();
    } catch (const std::exception&) {
        input.rethrow();
    }
}

}  // namespace cleave
