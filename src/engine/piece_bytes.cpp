#include "engine/piece_bytes.h"

#include "core/reader/copy.h"
#include "core/reader/page_cache.h"
#include "core/reader/stable_input.h"
#include "core/scan/check_arguments.h"
#include "core/writer/checksum.h"
#include "core/writer/threads.h"
#include "engine/records_by_value.h"
#include "engine/rules.h"

namespace cleave {
namespace {

bool is_one_pass(const JobContext& context) {
    const Input& input = context.input;
    const Job& job = context.job;
    if (input.is_stream()) return true;
    if (context.rewriting != nullptr || job.execution.index != nullptr || job.execution.known != nullptr) {
        return false;
    }
    if (job.passes != Passes::kAuto) return job.passes == Passes::kOne;
    const Destination destination = context.destination();
    if (!context.policy.pieces || needs_index(context.policy) || !destination.has_plain_bytes || job.output.resume ||
        job.output.dry_run || input.is_snapshot()) {
        return false;
    }
    // A link is slower than any thread. But what a store can copy is not read again.
    if (input.blob().backing().remote != nullptr) return !destination.is_store;
    return is_better_read_once(input.blob(), job.execution.thread_count());
}

}  // namespace

std::unique_ptr<PieceBytes> plan_bytes(const JobContext& context) {
    if (context.policy.by) return std::make_unique<RecordsByValue>(context);
    if (is_one_pass(context)) return std::make_unique<BytesOfStream>(context);
    if (context.rewriting != nullptr) return make_rewritten_records(context);
    return std::make_unique<RangesOfInput>(context);
}

NameList PieceBytes::names_of(std::span<const Piece> pieces, const PieceNamer& namer) const {
    NameList names(namer.folder());
    for (const Piece& piece : pieces) names.append(namer.name(piece));
    return names;
}

std::vector<Piece> PieceBytes::plan_again(const RecordIndex& index) {
    std::vector<Piece> planned;
    plan_pieces(index, context_.policy, [&](const Piece& piece) { planned.push_back(piece); });
    return planned;
}

std::span<const BlobRange> PieceBytes::parts_of(const Piece& piece, PartsRoom& room) const {
    room = {BlobRange{0, header_size(piece.number)}, BlobRange{piece.start, piece.length}};
    return room;
}

PartsOf PieceBytes::parts() const {
    return [this](const Piece& piece, PartsRoom& room) { return parts_of(piece, room); };
}

unsigned PieceBytes::threads() const {
    const unsigned most = context_.job.execution.thread_count();
    return context_.destination().has_plain_bytes ? threads_for(pieces_, most)
                                                  : threads_within(most, kDescriptorsOfFilter);
}

void PieceBytes::report_cuts() const {
    for (const Piece& piece : pieces_) context_.reports.cut(piece);
}

void PieceBytes::write_side_by_side(PieceTarget& target, const NameList& paths, std::span<const char> are_there,
                                    unsigned threads, const WritePiece& write) {
    write_each(target, pieces_.size(), threads, [&](std::size_t i) {
        Piece piece = pieces_[i];
        PieceResult result;
        const bool is_there = are_there[i] != 0;
        if (!is_there || context_.job.output.checksum) {
            const auto output = is_there ? make_checksum_only() : target.open(piece, paths[i]);
            piece.length = write(i, *output);
            result = output->finish(piece);
        } else if (context_.meter() != nullptr) {
            context_.meter()->written += piece.length;
        }
        context_.reports.finished(piece, paths[i], result);
    });
}

bool PieceBytes::is_checkable() const {
    return !context_.input.is_stream() && is_of_input() && context_.destination().can_be_compared;
}

void PieceBytes::check_input(PieceTarget& target, const PieceNamer& namer) {
    const Input& input = context_.input;
    if (is_checkable()) {
        throw_unless_same(input, [&] { return match_input(target, namer); });
    } else {
        input.throw_if_changed();
    }
    throw_if_lost();
}

// In one pass, no piece is known in advance. In that case the reports were created from the same bytes as the pieces.
bool PieceBytes::match_input(PieceTarget& target, const PieceNamer& namer) {
    const RecordIndex again(context_.input.blob(), context_.dialect, context_.job.execution,
                            context_.input.cancellation());
    const std::vector<Piece> planned = plan_again(again);
    if (again.findings() != context_.report.findings) return false;
    if (is_planned() && planned != pieces_) return false;
    return target.match_input(planned, names_of(planned, namer), parts());
}

RangesOfInput::RangesOfInput(const JobContext& context) : PieceBytes(context) {
    {
        const RecordIndex index = index_records(context.input, context.dialect, context.job.execution);
        context.reports.found(index.findings());
        context.report.header_size =
            plan_pieces(index, context.policy, [&](const Piece& piece) { pieces_.push_back(piece); });
    }
    report_cuts();
}

void RangesOfInput::write(PieceTarget& target, const PieceNamer&, const NameList& paths) {
    const std::vector<char> are_there = target.prepare(pieces_, paths, parts());
    write_side_by_side(target, paths, are_there, threads(),
                       [this](std::size_t i, PieceOutput& output) { return write_piece(i, output); });
}

std::uint64_t RangesOfInput::write_piece(std::size_t i, PieceOutput& output) {
    const Input& input = context_.input;
    const Piece& piece = pieces_[i];
    const std::uint64_t size = header_size(piece.number);
    for_each_part(input.blob(), {0, size}, input.cancellation(),
                  [&](std::span<const std::uint8_t> bytes) { output.write(bytes); });
    output.write_body(input, piece, size, context_.meter());
    return piece.length;
}

}  // namespace cleave
