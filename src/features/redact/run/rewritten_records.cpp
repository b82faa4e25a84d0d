#include "features/redact/run/rewritten_records.h"

#include <algorithm>

#include "core/writer/threads.h"

namespace cleave {
namespace {

bool must_measure(const JobContext& context) {
    const OutputOptions& output = context.job.output;
    const PieceNamer namer(output.names, context.input.path_with_suffix(), output.first_index, std::nullopt);
    return context.policy.max_bytes || context.policy.together || namer.needs_place() ||
           context.destination().needs_place || (output.resume && !output.manifest.empty());
}

}  // namespace

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

}  // namespace cleave
