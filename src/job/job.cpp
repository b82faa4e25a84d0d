// One run:
//
//     settle the dialect, and spool a stream that is needed as a whole
//     cut the input and write its pieces, in one of two ways:
//         two passes   scan all of it, plan all pieces, then write them side by side, each from its place in the input
//         one pass     scan, cut and write part by part, in order
//     check that the input has not changed
//     seal (all that can still fail), conclude, commit (nothing can fail)
//
// The target decides what becomes of a piece: a file, the input of a command, or nothing in a dry run.
#include "cleave/job.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/name_list.h"
#include "base/parallel.h"
#include "cleave/foreign.h"
#include "cleave/names.h"
#include "io/copy.h"
#include "io/fd.h"
#include "io/page_cache.h"
#include "io/stable_input.h"
#include "job/by_value.h"
#include "job/input_cancellation.h"
#include "job/manifest.h"
#include "job/piece_reports.h"
#include "job/stage_report.h"
#include "job/staging.h"
#include "job/stream_sink.h"
#include "plan/contract.h"
#include "scan/contract.h"
#include "write/checksum.h"
#include "write/contract.h"
#include "write/dry_target.h"
#include "write/feed.h"
#include "write/file_target.h"
#include "write/filter_target.h"
#include "write/gather.h"
#include "write/threads.h"

namespace cleave {
namespace {

// The descriptors that starting a command needs: both ends of a pipe and of a control socket.
constexpr std::uint64_t kDescriptorsOfFilter = 4;

// More than completing pieces that are open, and a manifest, take at once.
constexpr std::size_t kDescriptorsOfPieces = 8;

// Does `work`. If it was cancelled because the target has failed, throws the target's failure.
template <class Work>
void write_to(PieceTarget& target, const Work& work) {
    try {
        work();
    } catch (const Cancelled&) {
        target.throw_failure();
        throw;
    }
}

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
    const Dialect& dialect() const { return report_.sniffed.dialect; }

    JobReport run_to_end() {
        input_.set_threads(job_.execution.threads);
        report_.sniffed = settle_dialect(job_.dialect, input_);
        policy_.header = header_mode(policy_.header, dialect());
        if (output_.clone == CloneMode::kAlways) refuse_unclonable();
        if (needs_whole_input(policy_) && !spools_changed()) spool();
        compile_stage();
        if (policy_.by) {
            cut_by_value();
        } else if (is_one_pass()) {
            cut_in_order();
        } else if (staging_) {
            cut_by_stage();
        } else {
            cut_by_index();
        }
        if (staging_) report_.counts = staging_->counts();
        if (is_rewritten()) report_.findings.size = report_.header_size + reports_.written();
        SideTexts texts;
        if (!output_.manifest.empty()) texts.manifest = reports_.manifest().text(facts());
        if (staging_ && !output_.report.empty()) {
            texts.report = stage_report(staging_->stage(), report_.counts, facts(), report_.pieces);
        }
        report_.older_pieces = reports_.older().texts();
        target_->seal(texts);
        observer_.concluded(report_);
        target_->commit();
        return std::move(report_);  // a copy could fail, and the pieces stay
    }

    bool has_rules() const { return !job_.stage.options.is_empty(); }
    // Whether a stream that is needed as a whole goes to a file only as rules have changed it, and as it is written.
    // Not if the file would have columns that are in no piece and in no name.
    bool spools_changed() const {
        return policy_.by && has_rules() && !(policy_.by->buckets && policy_.by->drops_columns);
    }
    // Whether pieces have other bytes than the input.
    bool is_rewritten() const { return staging_ || (by_value_ && !by_value_->is_of_input()); }

    bool makes_plain_files() const {
        return output_.filter.empty() && output_.compression.format == Compression::kNone;
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

    bool is_one_pass() const {
        if (input_.is_stream()) return true;
        if (staging_ || job_.execution.index != nullptr) return false;
        if (job_.passes != Passes::kAuto) return job_.passes == Passes::kOne;
        return policy_.pieces && !needs_index(policy_) && makes_plain_files() && !output_.resume && !output_.dry_run &&
               !input_.is_snapshot() && is_better_read_once(input_.blob(), job_.execution.threads);
    }

    void make_target(const std::optional<std::uint64_t>& count) {
        const bool have_values = by_value_ && !policy_.by->buckets;
        namer_.emplace(output_.names, input_.path(), output_.first_index, count,
                       have_values ? std::optional(by_value_->plan().most_of_key()) : std::nullopt);
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

    NameList names_of(std::span<const Piece> pieces) const {
        if (by_value_) return by_value_->names_of(pieces, *namer_, output_.hive_names);
        NameList names(namer_->folder());
        for (const Piece& piece : pieces) names.append(namer_->name(piece));
        return names;
    }

    // What a piece consists of.
    std::span<const BlobRange> parts_of(const Piece& piece, PartsRoom& room) const {
        if (by_value_) return by_value_->parts(piece.number);
        room = {BlobRange{0, header_size_in(policy_.header, piece.number, report_.header_size)},
                BlobRange{piece.start, piece.length}};
        return room;
    }

    InputFacts facts() const {
        InputFacts facts = facts_of(input_, dialect(), policy_.header);
        facts.size = report_.findings.size;
        if (staging_ && !pieces_.empty())
            facts.size = std::max(facts.size, pieces_.back().start + pieces_.back().length);
        facts.header_size = report_.header_size;
        if (staging_) facts.dialect.preamble = 0;  // it is in no piece
        facts.piece_compression = output_.compression;
        facts.are_names_beneath = names_in_manifest_.are_beneath();
        if (policy_.by && policy_.by->drops_columns) facts.dropped_columns = policy_.by->columns.text;
        return facts;
    }

    // Throws OtherPieceError if an existing manifest belongs to another job.
    void check_manifest(const NameList& paths) const {
        if (!output_.resume || output_.replace || output_.manifest.empty()) return;
        PlanJson plan;
        for (std::size_t i = 0; i < pieces_.size(); ++i) {
            const Piece& piece = pieces_[i];
            const std::uint64_t header_size = header_size_in(policy_.header, piece.number, report_.header_size);
            PieceResult result;
            result.size = header_size + piece.length;
            if (by_value_) result.values = by_value_->plan().values_of(piece.number);
            plan.add(piece, PieceFile{names_in_manifest_.of(paths[i]), std::move(result)});
        }
        check_resumed(output_.manifest, plan.text(facts()));
    }

    // Throws HeaderSizeError.
    std::uint64_t plan_all(const RecordIndex& index, std::vector<Piece>& pieces) const {
        return plan_pieces(index, policy_, [&](const Piece& piece) { pieces.push_back(piece); });
    }

    void cut_by_index() {
        {
            const RecordIndex index = index_records(input_, dialect(), job_.execution);
            reports_.found(index.findings());
            report_.header_size = plan_all(index, pieces_);
        }
        for (const Piece& piece : pieces_) reports_.cut(piece);
        write_planned();
    }

    void cut_by_value() {
        by_value_.emplace(input_, dialect(), policy_, job_.execution, staging_.get(),
                          [this](const Findings& findings) { reports_.found(findings); });
        reports_.set_values([this](std::uint64_t number) { return by_value_->plan().values_of(number); });
        report_.header_size = by_value_->plan().header_size();
        pieces_ = by_value_->plan().take_pieces();
        if (is_rewritten()) {  // as the manifest says it in the end
            report_.findings.size = report_.header_size;
            for (const Piece& piece : pieces_) report_.findings.size += piece.length;
        }
        for (const Piece& piece : pieces_) reports_.cut(piece);
        write_planned();
    }

    // Writes the pieces, each from its parts of the input.
    void write_planned() {
        make_target(pieces_.size());
        const NameList paths = names_of(pieces_);
        const bool scatters = can_scatter();
        if (by_value_ && !scatters) by_value_->plan().list_parts();
        check_manifest(paths);
        std::vector<char> are_there(pieces_.size());
        if (is_rewritten()) {
            target_->prepare({}, paths, {});
        } else {
            are_there = target_->prepare(pieces_, paths,
                                         [this](const Piece& piece, PartsRoom& room) { return parts_of(piece, room); });
        }
        if (scatters && write_scattered(paths)) return;
        if (by_value_) by_value_->plan().list_parts();
        const bool reads_parts = output_.checksum || std::ranges::find(are_there, 0) != are_there.end();
        if (by_value_ && !output_.dry_run && reads_parts) by_value_->regroup(pieces_, available_memory());
        const unsigned threads = makes_plain_files() ? threads_for(pieces_, job_.execution.threads)
                                                     : threads_within(job_.execution.threads, kDescriptorsOfFilter);
        write_side_by_side(threads, [&](std::size_t i) { write_piece(pieces_[i], paths[i], are_there[i] != 0); });
    }

    // Whether pieces may be written as their records come. They are all open at once and complete at the end, so a
    // later run finds all of them or none: not what --resume is for.
    bool can_scatter() const {
        return by_value_ && !pieces_.empty() && !output_.resume && target_->takes_any_order() &&
               by_value_->plan().can_scatter() && pieces_.size() <= descriptor_limit() / 4;
    }

    // False if there are too few descriptors. Nothing is written then.
    bool write_scattered(const NameList& paths) {
        std::vector<std::unique_ptr<PieceOutput>> outputs;
        outputs.reserve(pieces_.size());
        try {
            for (std::size_t i = 0; i < pieces_.size(); ++i) outputs.push_back(target_->open(pieces_[i], paths[i]));
            const SpareDescriptors spare(kDescriptorsOfPieces);
        } catch (const std::system_error& error) {
            if (error.code() != std::errc::too_many_files_open) throw;
            return false;
        }
        write_to(*target_, [&] { by_value_->scatter(outputs, policy_.header, job_.execution.meter); });
        write_side_by_side(job_.execution.threads, [&](std::size_t i) {
            const PieceResult result = outputs[i]->finish(pieces_[i]);
            reports_.finished(pieces_[i], paths[i], result);
        });
        return true;
    }

    // As cut_by_index(), of what the stage writes. It is measured only where the plan, a name or a command needs it.
    void cut_by_stage() {
        const PieceNamer namer(output_.names, input_.path(), output_.first_index, std::nullopt);
        const bool is_measured = policy_.size || policy_.together || namer.needs_place() || !output_.filter.empty() ||
                                 output_.dry_run || (output_.resume && !output_.manifest.empty());
        std::vector<StagedPiece> staged;
        report_.header_size = staging_->header_size();
        reports_.found(staging_->plan(is_measured, staged));
        for (const StagedPiece& piece : staged) pieces_.push_back(piece.written);
        if (is_measured) {
            for (const Piece& piece : pieces_) reports_.cut(piece);
        }
        make_target(pieces_.size());
        const NameList paths = names_of(pieces_);
        check_manifest(paths);
        target_->prepare({}, paths, {});
        const unsigned threads = threads_within(job_.execution.threads, kDescriptorsOfFilter);
        const auto share = static_cast<unsigned>(threads / std::clamp<std::size_t>(staged.size(), 1, threads));
        try {
            write_side_by_side(threads, [&](std::size_t i) { write_staged(staged[i], paths[i], share, is_measured); });
        } catch (const InputError&) {
            staging_->throw_first_fault();
            throw;
        }
    }

    void write_staged(const StagedPiece& staged, std::string path, unsigned threads, bool is_measured) {
        Piece piece = staged.written;
        const std::unique_ptr<PieceOutput> output = target_->open(piece, path);
        const std::uint64_t length = staging_->write_piece(staged, threads, [&](std::span<const std::uint8_t> bytes) {
            output->write(bytes);
            if (job_.execution.meter != nullptr) job_.execution.meter->written += bytes.size();
        });
        if (is_measured && length != piece.length) throw InputChangedError();
        piece.length = length;
        const PieceResult result = output->finish(piece);
        reports_.finished(piece, std::move(path), result);
    }

    // Calls write(i) for every piece, by several threads, and checks the input.
    template <class Write>
    void write_side_by_side(unsigned threads, const Write& write) {
        write_to(*target_, [&] {
            parallel_for(pieces_.size(), threads, [&](std::size_t i) {
                try {
                    write(i);
                } catch (const Cancelled&) {
                    throw;
                } catch (const std::exception&) {  // ends the other pieces early
                    target_->fail(std::current_exception());
                    throw;
                }
            });
        });
        throw_if_changed();
    }

    void write_piece(const Piece& piece, std::string path, bool is_there) {
        PieceResult result;
        if (!is_there || output_.checksum) {
            const std::unique_ptr<PieceOutput> output = is_there ? make_checksum_only() : target_->open(piece, path);
            write_parts(piece, *output);
            result = output->finish(piece);
        } else if (job_.execution.meter != nullptr) {
            job_.execution.meter->written += piece.length;
        }
        reports_.finished(piece, std::move(path), result);
    }

    void write_parts(const Piece& piece, PieceOutput& output) const {
        if (by_value_ && output_.dry_run && !output_.resume) {  // no bytes are compared
            if (job_.execution.meter != nullptr) job_.execution.meter->written += piece.length;
            return;
        }
        const std::uint64_t header_size = header_size_in(policy_.header, piece.number, report_.header_size);
        if (by_value_) {
            Gatherer gatherer(by_value_->blob(), input_.cancellation(), job_.execution.meter);
            gatherer.write(by_value_->parts(piece.number), header_size, output);
            return by_value_->throw_if_lost();
        }
        for_each_part(input_.blob(), {0, header_size}, input_.cancellation(),
                      [&](std::span<const std::uint8_t> bytes) { output.write(bytes); });
        output.write_body(input_, piece, header_size, job_.execution.meter);
    }

    void cut_in_order() {
        make_target(policy_.pieces);
        const InputCancellation by_target(input_, target_->cancellation());
        target_->prepare({}, names_known_beforehand(), {});
        // One thread writes plain files as fast as an input can be read in order.
        const bool is_one_thread = makes_plain_files() || output_.dry_run;
        const unsigned threads = is_one_thread ? 1 : threads_within(job_.execution.threads, kDescriptorsOfFilter);
        write_to(*target_, [&] {
            const auto feed = make_feed(*target_, threads,
                                        [&](const Piece& piece, const std::string& path, const PieceResult& result) {
                                            reports_.finished(piece, path, result);
                                        });
            StreamSink sink(policy_.header, job_.execution.meter, *namer_, *feed, reports_, report_.header_size);
            const Findings findings =
                staging_ ? staging_->cut_in_order(sink) : cut_stream(input_, dialect(), job_.execution, policy_, sink);
            if (!is_checkable()) input_.throw_if_changed();
            reports_.found(findings);
            sink.end_last();
            feed->finish();
            throw_if_changed();
        });
    }

    // For one pass: the names of all pieces, if they do not depend on the cuts.
    NameList names_known_beforehand() const {
        NameList names(namer_->folder());
        if (!policy_.pieces || namer_->needs_place()) return names;
        for (Piece piece; piece.number <= *policy_.pieces; ++piece.number) names.append(namer_->name(piece));
        return names;
    }

    // Whether finished pieces can be compared with the input. The bytes of a stream are gone. A checksum may stem from
    // bytes that have changed and then changed back.
    bool is_checkable() const {
        return !input_.is_stream() && !is_rewritten() &&
               (output_.dry_run || (output_.filter.empty() && !output_.checksum));
    }

    // To be called when all pieces are made. Throws as Input::throw_if_changed() and ByValue::throw_if_lost(). If only
    // the time of the last status change is new, scans the input again and compares the pieces with it.
    void throw_if_changed() {
        if (is_checkable()) {
            throw_unless_same(input_, [this] { return pieces_match_input(); });
        } else {
            input_.throw_if_changed();
        }
        if (by_value_) by_value_->throw_if_lost();
    }

    bool pieces_match_input() {
        const RecordIndex again(input_.blob(), dialect(), job_.execution, input_.cancellation());
        std::vector<Piece> planned;
        if (by_value_) {
            by_value_->plan_again(again, policy_);
            planned = by_value_->plan().take_pieces();
        } else {
            plan_all(again, planned);
        }
        if (again.findings() != report_.findings) return false;
        // With one pass pieces_ is empty. Reports were then made from the same bytes as the pieces.
        if (!pieces_.empty() && planned != pieces_) return false;
        return target_->match_input(planned, names_of(planned),
                                    [this](const Piece& piece, PartsRoom& room) { return parts_of(piece, room); });
    }

    Input& input_;
    const Job& job_;
    Policy policy_;
    const OutputOptions& output_;
    JobObserver& observer_;
    JobReport report_;
    PieceReports reports_;
    std::vector<Piece> pieces_;         // with two passes
    std::unique_ptr<Staging> staging_;  // with a stage
    std::optional<ByValue> by_value_;   // with Policy::by
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
