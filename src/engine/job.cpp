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

#include "base/name_list.h"
#include "base/text_bytes.h"
#include "cleave/error.h"
#include "cleave/foreign.h"
#include "cleave/names.h"
#include "cleave/rejects.h"
#include "core/dialect/check_arguments.h"
#include "core/offsets/check_arguments.h"
#include "core/offsets/input_head.h"
#include "core/reader/location.h"
#include "core/scan/check_arguments.h"
#include "core/writer/destination.h"
#include "core/writer/dry_target.h"
#include "core/writer/file_target.h"
#include "core/writer/filter_target.h"
#include "core/writer/piece_target.h"
#include "engine/joined.h"
#include "engine/known_job.h"
#include "engine/manifest.h"
#include "engine/piece_bytes.h"
#include "engine/piece_reports.h"
#include "engine/plan_json.h"
#include "engine/rules.h"
#include "rows/values/index_columns.h"
#include "rows/values/key_field.h"

namespace cleave {
namespace {

// Decides the names of a job's pieces, where they go, and which files are created beside them.

// For one thread. Throws what run_job() throws.
class JobOutput {
public:
    // `context` is copied. Throws OtherPieceError if an existing manifest belongs to a different job.
    JobOutput(const JobContext& context, const PieceBytes& bytes);

    // Writes the pieces, and compares them with the input.
    void write(PieceBytes& bytes);
    // Call this when all pieces are written. Does everything that can still fail: writes the manifest and the report on
    // the rules.
    void seal();
    // Call this after seal(). Keeps everything that was created.
    void commit() noexcept { target_->commit(); }
    // Call this if the job has failed: see PieceTarget::take_back().
    std::vector<std::string> take_back() { return target_->take_back(); }
    // Keeps nothing that was created, even under OutputOptions::resume.
    void keep_nothing() noexcept { target_->keep_nothing(); }

private:
    std::unique_ptr<PieceTarget> make_target();
    InputFacts facts() const;
    void check_manifest(const PieceBytes& bytes) const;
    // Whether the pieces are ranges of the input as it is.
    bool has_ranges(const PieceBytes& bytes) const {
        return context_.joined != nullptr && context_.joined->has_ranges() && bytes.is_of_input() &&
               !context_.policy.by && !context_.has_rejects;
    }

    const JobContext context_;
    const OutputOptions& options_;
    const PieceNamer namer_;
    const ManifestNames names_in_manifest_;
    const std::unique_ptr<RulesReport> report_;  // null unless the job wants one
    std::unique_ptr<PieceTarget> target_;
    NameList paths_;
};

ManifestNames names_in(const std::string& manifest, const PieceNamer& namer) {
    return manifest.empty() ? ManifestNames() : ManifestNames(manifest, namer.folder());
}

std::unique_ptr<RulesReport> report_of(const JobContext& context) {
    return context.rewriting != nullptr && !context.job.output.report.empty() ? make_rules_report(context) : nullptr;
}

JobOutput::JobOutput(const JobContext& context, const PieceBytes& bytes)
    : context_(context),
      options_(context.job.output),
      namer_(options_.names, context.input.path_with_suffix(), options_.first_index, bytes.count(),
             bytes.most_of_value()),
      names_in_manifest_(names_in(options_.manifest, namer_)),
      report_(report_of(context)),
      paths_(namer_.folder()) {
    context.reports.set_names(names_in_manifest_);
    if (has_ranges(bytes)) context.reports.set_joined(context.joined);
    const bool may_be_mixed_up = context.rewriting != nullptr || options_.replace;
    if (may_be_mixed_up && destination_of(options_).leaves_files)
        context.reports.set_older(
            OlderPieces(namer_, options_.manifest, context.input.path(), context.rewriting == nullptr));
    target_ = make_target();
    paths_ = bytes.names(namer_);
    check_manifest(bytes);
}

std::unique_ptr<PieceTarget> JobOutput::make_target() {
    const Input& input = context_.input;
    const unsigned threads = context_.job.execution.thread_count();
    const bool has_rules = context_.rewriting != nullptr;
    if (destination_of(options_).is_store) {
        if (context_.signing != nullptr) throw ArgumentError("a signed report lists files, and objects are none");
        return make_store_target(context_.store, input, options_, threads);
    }
    if (options_.dry_run) return std::make_unique<DryTarget>(input, namer_, options_, threads, has_rules);
    if (!options_.filter.empty()) return std::make_unique<FilterTarget>(input, options_);
    return std::make_unique<FileTarget>(input, namer_, options_, threads, has_rules,
                                        report_ ? report_->watchers() : nullptr);
}

void JobOutput::write(PieceBytes& bytes) {
    bytes.write(*target_, namer_, paths_);
    target_->wait();
    bytes.check_input(*target_, namer_);
}

void JobOutput::seal() {
    SideTexts texts;
    if (!options_.manifest.empty()) texts.manifest = context_.reports.manifest_text(facts());
    if (report_) texts.report = report_->text(facts(), texts.manifest);
    target_->seal(texts);
}

InputFacts JobOutput::facts() const {
    const Policy& policy = context_.policy;
    InputFacts facts = facts_of(context_.input, context_.dialect, policy.header);
    facts.size = context_.report.findings.size;
    facts.header_size = context_.report.header_size;
    if (context_.rewriting != nullptr) facts.dialect.preamble = 0;  // no piece has the preamble
    facts.piece_compression = options_.compression;
    facts.joined = context_.joined;
    facts.are_names_beneath = names_in_manifest_.are_beneath();
    if (policy.by && policy.by->drops_columns) facts.dropped_columns = policy.by->columns.text;
    if (policy.by && !policy.by->parts.empty()) facts.parts = policy.by;
    if (const auto& counts = context_.report.rejects) {
        facts.size += counts->size;
        facts.rejects = counts;
        facts.rejects->path = names_in_manifest_.of(counts->path);
    }
    return facts;
}

void JobOutput::check_manifest(const PieceBytes& bytes) const {
    if (!options_.resume || options_.replace || options_.manifest.empty() || !bytes.is_planned()) return;
    PlanJson plan;
    std::size_t i = 0;
    for (const Piece& piece : bytes.pieces()) {
        PieceResult result;
        result.size = header_size_in(context_.policy.header, piece.number, context_.report.header_size) + piece.length;
        bytes.identify(piece.number, result);
        plan.add(piece, PieceFile{names_in_manifest_.of(paths_[i++]), std::move(result)},
                 has_ranges(bytes) ? context_.joined : nullptr);
    }
    check_resumed(options_.manifest, plan.text(facts()));
}

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
            if (sifting_ != nullptr) sifting_->rethrow();
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
        dialect_ = ValidDialect(report_.sniffed);
        policy_.header = header_mode(policy_.header, dialect_);
        refuse_unclonable();
        require_columns();
        sift_if_wanted();
        spool_if_needed();
        compile_stage();
        const JobContext context{input_,   job_,           policy_,      dialect_,      rewriting_.get(),   report_,
                                 reports_, known_.signing, known_.store, known_.joined, sifting_ != nullptr};
        const std::unique_ptr<PieceBytes> bytes = plan_bytes(context);
        output_.emplace(context, *bytes);
        output_->write(*bytes);
        if (rewriting_) report_.counts = counts_of(*rewriting_);
        if (!bytes->is_of_input()) report_.findings.size = report_.header_size + reports_.written();
        report_.older_pieces = reports_.older_texts();
        if (sifting_) report_.rejects = sifting_->publish();
        output_->seal();
        observer_.concluded(report_);
        if (sifting_) sifting_->commit();  // first: a run after a kill in between knows the pieces by their marker
        output_->commit();
        return std::move(report_);  // a copy could fail, although the pieces stay
    }

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
            head = read_head(input_, dialect_, policy_.header, kSniffSize);
        } catch (const InputError&) {
            return;
        }
        if (std::ranges::all_of(head->sample, is_line_break)) return;
        const InputColumns columns = columns_of_record(head->sample, dialect_, head->has_header);
        if (policy_.by) find_key_columns(*policy_.by, columns);
        if (policy_.together) find_key_column(*policy_.together, columns);
    }

    // Whether a stream that is needed in full is spooled only after the rules have changed it, while it is being
    // written. False if the temporary file would then contain columns that appear in no piece and in no name.
    bool spools_changed() const {
        return policy_.by && has_rules() && !(policy_.by->has_fixed_pieces() && policy_.by->drops_columns);
    }

    void sift_if_wanted() {
        sifting_ = known_.sifting;
        if (!job_.rejects || sifting_ != nullptr) return;
        RejectOptions options = *job_.rejects;
        options.has_texts = options.has_texts && !has_rules();
        options.waits = false;  // no stage reads all of the input in order
        if (job_.output.dry_run) options.path.clear();
        own_sifting_ = sift(input_, dialect_, policy_, options, job_.execution);
        sifting_ = own_sifting_.get();
        if (job_.execution.meter != nullptr) job_.execution.meter->reset();
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
        rewriting_ = compile_rules(input_, dialect_, policy_, job_, observer_);
        if (!policy_.by) reports_.set_starts_follow();
    }

    Input& input_;
    const Job& job_;
    Policy policy_;
    JobObserver& observer_;
    const KnownParts& known_;
    JobReport report_;
    ValidDialect dialect_;  // of report_.sniffed
    PieceReports reports_;
    std::shared_ptr<Sifting> own_sifting_;  // with Job::rejects
    Sifting* sifting_ = nullptr;            // that, or the command's, or null
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
    if (job.rejects && job.output.resume) throw ArgumentError("job: resume cannot be used with rejects");
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
