#include "engine/rules.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/content_hash.h"
#include "base/mutex.h"
#include "base/text_bytes.h"
#include "core/writer/file_watcher.h"
#include "core/writer/threads.h"
#include "engine/piece_bytes.h"
#include "features/redact/lane/rewriting.h"
#include "features/redact/run/input_hash.h"
#include "features/redact/run/signed_report.h"
#include "features/redact/stage/program.h"

namespace cleave {
namespace {

// Pieces that are ranges of records that a stage changes on the way. The size of a piece after the change is measured
// in advance only if the plan, a name or a command needs it.
class RewrittenRecords final : public PieceBytes {
public:
    // The context must have a stage.
    explicit RewrittenRecords(const JobContext& context);

    void write(PieceTarget& target, const PieceNamer& namer, const NameList& paths) override;
    bool is_of_input() const noexcept override { return false; }

private:
    std::uint64_t write_piece(std::size_t i, PieceOutput& output);

    bool is_measured_;
    std::vector<RewrittenPiece> rewritten_;
    unsigned share_ = 1;  // threads per piece
};

bool must_measure(const JobContext& context) {
    const OutputOptions& output = context.job.output;
    const PieceNamer namer(output.names, context.input.path_with_suffix(), output.first_index, context.policy.pieces);
    return context.policy.max_bytes || context.policy.together || namer.needs_place() ||
           context.destination().needs_place || (output.resume && !output.manifest.empty());
}

RewrittenRecords::RewrittenRecords(const JobContext& context)
    : PieceBytes(context), is_measured_(must_measure(context)) {
    JobReport& report = context.report;
    report.header_size = context.rewriting->header_size();
    context.reports.found(context.rewriting->plan(is_measured_, rewritten_));
    for (const RewrittenPiece& piece : rewritten_) pieces_.push_back(piece.written);
    if (!is_measured_) return;
    report_cuts();
    // The size that the manifest will give.
    if (!pieces_.empty()) report.findings.size = pieces_.back().start + pieces_.back().length;
}

void RewrittenRecords::write(PieceTarget& target, const PieceNamer&, const NameList& paths) {
    target.prepare({}, paths, {});
    const unsigned threads = threads_within(context_.job.execution.thread_count(), kDescriptorsOfFilter);
    share_ = static_cast<unsigned>(threads / std::clamp<std::size_t>(rewritten_.size(), 1, threads));
    const std::vector<char> are_there(pieces_.size());
    try {
        write_side_by_side(target, paths, are_there, threads,
                           [this](std::size_t i, PieceOutput& output) { return write_piece(i, output); });
    } catch (const InputError&) {
        context_.rewriting->throw_first_fault();
        throw;
    }
}

std::uint64_t RewrittenRecords::write_piece(std::size_t i, PieceOutput& output) {
    const std::uint64_t length =
        context_.rewriting->write_piece(rewritten_[i], share_, [&](std::span<const std::uint8_t> bytes) {
            output.write(bytes);
            if (context_.meter() != nullptr) context_.meter()->written += bytes.size();
        });
    if (is_measured_ && length != pieces_[i].length) throw InputChangedError();
    return length;
}

// Collects what is known about the files of pieces once they are written, for a report that lists them.
struct WrittenFile {
    std::string path;
    ContentDigest content;  // of the file: of compressed bytes, if it is compressed
    std::uint64_t records = 0;
};

// Members may be called from any thread.
class WrittenFiles final : public FileWatchers {
public:
    std::unique_ptr<FileWatcher> watch() override { return std::make_unique<Watcher>(*this); }

    // Call this when all pieces are written. By the number of the piece.
    std::map<std::uint64_t, WrittenFile> take() {
        const MutexLock lock(mutex_);
        return std::move(files_);
    }

private:
    class Watcher final : public FileWatcher {
    public:
        explicit Watcher(WrittenFiles& files) : files_(files) {}
        void add(std::span<const std::uint8_t> bytes) override { hash_.add(bytes); }
        void finish(const Piece& piece, const std::string& path) override {
            files_.add(piece.number, {path, hash_.digest(), piece.records});
        }

    private:
        WrittenFiles& files_;
        ContentHash hash_;
    };

    void add(std::uint64_t piece, WrittenFile file) {
        const MutexLock lock(mutex_);
        files_.emplace(piece, std::move(file));
    }

    Mutex mutex_;
    std::map<std::uint64_t, WrittenFile> files_ CLEAVE_GUARDED_BY(mutex_);
};

ContentDigest content_of(const std::string& text) {
    ContentHash hash;
    hash.add(bytes_of(text));
    return hash.digest();
}

class StageReport final : public RulesReport {
public:
    explicit StageReport(const JobContext& context) : context_(context) {
        const OutputOptions& output = context.job.output;
        if (context.signing == nullptr) return;
        name_in_report(output.report, output.names);  // now rather than after the pieces are written
        if (!output.manifest.empty()) name_in_report(output.report, output.manifest);
    }

    FileWatchers* watchers() override { return context_.signing != nullptr ? &files_ : nullptr; }

    std::string text(const InputFacts& facts, const std::string& manifest) override {
        const JobReport& report = context_.report;
        const OutputOptions& output = context_.job.output;
        Json json = stage_report(context_.rewriting->stage(), report.counts, facts, report.pieces);
        if (context_.signing == nullptr) return json.text() + "\n";
        ReportedFiles files;
        const auto& [keys, key, input] = *context_.signing;
        files.input = reported_input(input.finish(), keys, key);
        for (auto& [number, file] : files_.take()) {
            files.pieces.push_back({name_in_report(output.report, file.path), std::move(file.content), file.records});
        }
        if (!output.manifest.empty()) {
            files.manifest = {name_in_report(output.report, output.manifest), content_of(manifest), {}};
        }
        return signed_report(std::move(json), files, keys, key);
    }

private:
    const JobContext context_;
    WrittenFiles files_;
};

}  // namespace

bool needs_two_passes(const JobRules& rules) { return has_suppress(rules.options.rules); }

std::shared_ptr<Rewriting> compile_rules(Input& input, const Dialect& dialect, const Policy& policy, const Job& job,
                                         JobObserver& observer) {
    return std::make_shared<Rewriting>(
        input, dialect, policy, job.stage, job.execution,
        [&](const Stage& stage, std::uint64_t header_records) { observer.compiled(stage, header_records); });
}

std::shared_ptr<InputHash> make_input_hash(Input& input) { return std::make_shared<InputHash>(input); }

StageCounts counts_of(const Rewriting& rewriting) { return rewriting.counts(); }

std::unique_ptr<PieceBytes> make_rewritten_records(const JobContext& context) {
    return std::make_unique<RewrittenRecords>(context);
}

Findings cut_in_order(Rewriting& rewriting, PieceSink& sink) { return rewriting.cut_in_order(sink); }

std::unique_ptr<RulesReport> make_rules_report(const JobContext& context) {
    return std::make_unique<StageReport>(context);
}

}  // namespace cleave
