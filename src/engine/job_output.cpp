#include "engine/job_output.h"

#include <utility>

#include "base/text_bytes.h"
#include "core/writer/destination.h"
#include "core/writer/dry_target.h"
#include "core/writer/file_target.h"
#include "core/writer/filter_target.h"
#include "engine/older_pieces.h"
#include "engine/plan_json.h"
#include "engine/signed_report.h"
#include "engine/stage_report.h"
#include "features/stores/store_target.h"

namespace cleave {
namespace {

ManifestNames names_in(const std::string& manifest, const PieceNamer& namer) {
    return manifest.empty() ? ManifestNames() : ManifestNames(manifest, namer.folder());
}

ContentDigest content_of(const std::string& text) {
    ContentHash hash;
    hash.add(bytes_of(text));
    return hash.digest();
}

}  // namespace

JobOutput::JobOutput(const JobContext& context, const PieceBytes& bytes)
    : context_(context),
      options_(context.job.output),
      namer_(options_.names, context.input.path_with_suffix(), options_.first_index, bytes.count(),
             bytes.most_of_value()),
      names_in_manifest_(names_in(options_.manifest, namer_)),
      paths_(namer_.folder()) {
    context.reports.set_names(names_in_manifest_);
    const bool may_be_mixed_up = context.rewriting != nullptr || options_.replace;
    if (may_be_mixed_up && destination_of(options_).leaves_files)
        context.reports.set_older(
            OlderPieces(namer_, options_.manifest, context.input.path(), context.rewriting == nullptr));
    if (context.signing != nullptr) {  // now rather than after the pieces are written
        name_in_report(options_.report, options_.names);
        if (!options_.manifest.empty()) name_in_report(options_.report, options_.manifest);
    }
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
        if (context_.store == nullptr) own_store_.emplace(options_.names);
        const Store& store = context_.store != nullptr ? *context_.store : *own_store_;
        return std::make_unique<StoreTarget>(store, input, options_, threads);
    }
    if (options_.dry_run) return std::make_unique<DryTarget>(input, namer_, options_, threads, has_rules);
    if (!options_.filter.empty()) return std::make_unique<FilterTarget>(input, options_);
    return std::make_unique<FileTarget>(input, namer_, options_, threads, has_rules,
                                        context_.signing != nullptr ? &files_ : nullptr);
}

void JobOutput::write(PieceBytes& bytes) {
    bytes.write(*target_, namer_, paths_);
    target_->wait();
    bytes.check_input(*target_, namer_);
}

void JobOutput::seal() {
    SideTexts texts;
    if (!options_.manifest.empty()) texts.manifest = context_.reports.manifest_text(facts());
    if (context_.rewriting != nullptr && !options_.report.empty()) texts.report = report_text(texts.manifest);
    target_->seal(texts);
}

std::string JobOutput::report_text(const std::string& manifest) {
    const JobReport& report = context_.report;
    Json json = stage_report(context_.rewriting->stage(), report.counts, facts(), report.pieces);
    if (context_.signing == nullptr) return json.text() + "\n";
    ReportedFiles files;
    const auto& [keys, key, input] = *context_.signing;
    files.input = reported_input(input.finish(), keys, key);
    for (auto& [number, file] : files_.take()) {
        files.pieces.push_back({name_in_report(options_.report, file.path), std::move(file.content), file.records});
    }
    if (!options_.manifest.empty()) {
        files.manifest = {name_in_report(options_.report, options_.manifest), content_of(manifest), {}};
    }
    return signed_report(std::move(json), files, keys, key);
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
