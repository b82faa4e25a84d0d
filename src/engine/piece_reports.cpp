#include "engine/piece_reports.h"

#include <utility>

namespace cleave {

void PieceReports::found(const Findings& findings) {
    const MutexLock lock(mutex_);
    report_.findings = findings;
    observer_.found(findings);
    if (findings.open_quote && !job_.allow_open_quote) throw OpenQuoteError(*findings.open_quote);
}

void PieceReports::cut(const Piece& piece) {
    const MutexLock lock(mutex_);
    observer_.cut(piece);
}

void PieceReports::finished(const Piece& piece, std::string path, const PieceResult& result) {
    const MutexLock lock(mutex_);
    waiting_.emplace(piece.number, Finished{piece, {std::move(path), result}});
    for (; !waiting_.empty() && waiting_.begin()->first == report_.pieces + 1; ++report_.pieces) {
        tell(waiting_.extract(waiting_.begin()).mapped());
    }
}

void PieceReports::tell(Finished finished) {
    auto& [piece, file] = finished;
    if (starts_follow_) piece.start = report_.header_size + written_;
    written_ += piece.length;
    const HeaderMode header = header_mode(job_.policy.header, report_.sniffed.dialect);
    file.result.size = header_size_in(header, piece.number, report_.header_size) + piece.length;
    if (job_.execution.meter != nullptr) ++job_.execution.meter->pieces;
    if (identify_) identify_(piece.number, file.result);
    if (!job_.output.manifest.empty()) manifest_.add(piece, PieceFile{names_.of(file.name), file.result}, joined_);
    older_.take_out(file.name);
    observer_.finished(piece, file.name, file.result);
}

}  // namespace cleave
