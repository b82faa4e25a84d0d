#include "engine/ranges_of_input.h"

#include "core/reader/copy.h"

namespace cleave {

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
