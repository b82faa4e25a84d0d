#include "engine/job_output.h"

#include <utility>

#include "core/writer/destination.h"
#include "core/writer/dry_target.h"
#include "core/writer/file_target.h"
#include "core/writer/filter_target.h"
#include "engine/older_pieces.h"
#include "engine/plan_json.h"

namespace cleave {
namespace {

ManifestNames names_in(const std::string& manifest, const PieceNamer& namer) {
    return manifest.empty() ? ManifestNames() : ManifestNames(manifest, namer.folder());
}

std::unique_ptr<RulesReport> report_of(const JobContext& context) {
    return context.rewriting != nullptr && !context.job.output.report.empty() ? make_rules_report(context) : nullptr;
}

}  // namespace

JobOutput::JobOutput(const JobContext& context, const PieceBytes& bytes)
    : context_(context),
      options_(context.job.output),
      namer_(options_.names, context.input.path_with_suffix(), options_.first_index, bytes.count(),
             bytes.most_of_value()),
      names_in_manifest_(names_in(options_.manifest, namer_)),
      report_(report_of(context)),
      paths_(namer_.folder()) {
    context.reports.set_names(names_in_manifest_);
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
    facts.are_names_beneath = names_in_manifest_.are_beneath();
    if (policy.by && policy.by->drops_columns) facts.dropped_columns = policy.by->columns.text;
    if (policy.by && !policy.by->parts.empty()) facts.parts = policy.by;
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
        plan.add(piece, PieceFile{names_in_manifest_.of(paths_[i++]), std::move(result)});
    }
    check_resumed(options_.manifest, plan.text(facts()));
}

}  // namespace cleave
