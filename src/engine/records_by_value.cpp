#include "engine/records_by_value.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>

#include "cleave/error.h"
#include "cleave/memory.h"
#include "core/reader/fd.h"
#include "core/reader/page_cache.h"
#include "core/scan/check_arguments.h"
#include "core/writer/gather.h"
#include "rows/values/index_columns.h"
#include "rows/values/value_names.h"

namespace cleave {
namespace {

// More descriptors than are needed at any one time to complete open pieces and a manifest.
constexpr std::size_t kDescriptorsOfPieces = 8;

}  // namespace

RecordsByValue::RecordsByValue(const JobContext& context) : PieceBytes(context) {
    if (context.rewriting != nullptr) {
        plan_staged();
    } else {
        plan_input();
    }
    JobReport& report = context.report;
    report.header_size = plan_->header_size();
    context.reports.set_identify([this](std::uint64_t number, PieceResult& result) { identify(number, result); });
    pieces_ = plan_->take_pieces();
    if (!is_of_input()) {  // the size that the manifest will give
        report.findings.size = report.header_size;
        for (const Piece& piece : pieces_) report.findings.size += piece.length;
    }
    report_cuts();
}

void RecordsByValue::plan_input() {
    const RecordIndex index = index_records(context_.input, context_.dialect, context_.job.execution);
    context_.reports.found(index.findings());
    const std::vector<KeyColumn> columns = key_columns_of(index, context_.policy);
    if (context_.policy.by->drops_columns && !columns.empty()) {
        plan_shortened(index, columns);
    } else {
        plan_.emplace(index, context_.policy, columns);
    }
}

NameList RecordsByValue::names_of(std::span<const Piece> pieces, const PieceNamer& namer) const {
    std::vector<std::string> values;
    if (namer.has_value() && !named_parts().empty()) {
        const auto name = [&](std::size_t part, std::size_t) -> std::string_view { return named_parts()[part].name; };
        values = value_names(named_parts().size(), name, {false, {"part"}});
    } else if (namer.has_value() && !plan_->columns().empty()) {
        const auto value = [&](std::size_t key, std::size_t column) { return plan_->value(key, column); };
        values = value_names(plan_->key_count(), value, {context_.job.output.hive_names, plan_->columns()});
    }
    NameList names(namer.folder());
    for (const Piece& piece : pieces) {
        PieceValue value;
        if (!values.empty()) {
            const PlanByValue::PieceOfKey place = plan_->piece_of_key(piece.number);
            value = {values[place.key], place.before + 1};
        }
        names.append(namer.name(piece, value));
    }
    return names;
}

std::optional<std::uint64_t> RecordsByValue::most_of_value() const {
    if (context_.policy.by->buckets) return std::nullopt;
    return plan_->most_of_key();
}

void RecordsByValue::identify(std::uint64_t number, PieceResult& result) const {
    result.values = plan_->values_of(number);
    if (!named_parts().empty()) result.part = named_parts()[number - 1].name;
}

std::vector<Piece> RecordsByValue::plan_again(const RecordIndex& index) {
    plan_.emplace(index, context_.policy);
    plan_->list_parts();
    return plan_->take_pieces();
}

std::span<const BlobRange> RecordsByValue::parts_of(const Piece& piece, PartsRoom&) const {
    return plan_->parts(piece.number);
}

void RecordsByValue::write(PieceTarget& target, const PieceNamer&, const NameList& paths) {
    const OutputOptions& output = context_.job.output;
    const bool scatters = can_scatter(target);
    if (!scatters) plan_->list_parts();
    std::vector<char> are_there(pieces_.size());
    if (is_of_input()) {
        // A piece that a killed run has left is compared, for which the parts are listed; then nothing is scattered.
        std::once_flag listed;
        are_there = target.prepare(pieces_, paths, [&](const Piece& piece, PartsRoom& room) {
            std::call_once(listed, [&] { plan_->list_parts(); });
            return parts_of(piece, room);
        });
    } else {
        target.prepare({}, paths, {});
    }
    if (scatters && plan_->can_scatter() && write_scattered(target, paths)) return;
    plan_->list_parts();
    const bool reads_parts = output.checksum || std::ranges::find(are_there, 0) != are_there.end();
    if (!output.dry_run && reads_parts) regroup(available_memory());
    write_side_by_side(target, paths, are_there, threads(),
                       [this](std::size_t i, PieceOutput& of_piece) { return write_piece(i, of_piece); });
}

std::uint64_t RecordsByValue::write_piece(std::size_t i, PieceOutput& output) {
    const Piece& piece = pieces_[i];
    const OutputOptions& options = context_.job.output;
    if (options.dry_run && !options.resume) {  // no bytes are compared
        if (context_.meter() != nullptr) context_.meter()->written += piece.length;
        return piece.length;
    }
    Gatherer gatherer(blob(), context_.input.cancellation(), context_.meter());
    gatherer.write(plan_->parts(piece.number), header_size(piece.number), output);
    throw_if_lost();
    return piece.length;
}

// Whether pieces may be written in the order of the records. All of them are then open at once and complete only at the
// end. A later run would therefore find all of them or none, which would defeat --resume.
bool RecordsByValue::can_scatter(const PieceTarget& target) const {
    return !pieces_.empty() && !context_.job.output.resume && target.takes_any_order() && plan_->can_scatter() &&
           pieces_.size() <= descriptor_limit() / 4;
}

// Returns false if there are too few descriptors; in that case nothing has been written.
bool RecordsByValue::write_scattered(PieceTarget& target, const NameList& paths) {
    std::vector<std::unique_ptr<PieceOutput>> outputs;
    outputs.reserve(pieces_.size());
    try {
        for (std::size_t i = 0; i < pieces_.size(); ++i) outputs.push_back(target.open(pieces_[i], paths[i]));
        const SpareDescriptors spare(kDescriptorsOfPieces);
    } catch (const std::system_error& error) {
        if (error.code() != std::errc::too_many_files_open) throw;
        return false;
    }
    write_to(target, [&] { scatter(outputs); });
    write_each(target, pieces_.size(), context_.job.execution.thread_count(), [&](std::size_t i) {
        const PieceResult result = outputs[i]->finish(pieces_[i]);
        context_.reports.finished(pieces_[i], paths[i], result);
    });
    return true;
}

// Writes all pieces to these outputs in the order of the records.
void RecordsByValue::scatter(std::span<const std::unique_ptr<PieceOutput>> outputs) const {
    std::vector<std::uint8_t> buffer;
    const auto header = blob().lend(0, static_cast<std::size_t>(plan_->header_size()), buffer);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        if (header_size(i + 1) > 0) outputs[i]->write_at(0, header);
    }
    Meter* const meter = context_.meter();
    const auto write = [&](std::size_t i, std::uint64_t offset, std::span<const std::uint8_t> bytes) {
        outputs[i]->write_at(offset, bytes);
        if (meter != nullptr) meter->written += bytes.size();
    };
    plan_->scatter(blob(), write, context_.input.cancellation());
    throw_if_lost();
}

// Brings the parts of neighbouring pieces together if all pieces together are larger than `memory` / 2 bytes; see
// rows/values/regroup.cpp. Call this when the positions of parts in the input are no longer needed.
void RecordsByValue::regroup(std::uint64_t memory) {
    constexpr std::uint64_t kLargestWindow = std::uint64_t{256} << 20;
    // Each piece is examined once per window. Where hardly any memory is free, smaller windows would take forever.
    constexpr std::uint64_t kSmallestWindow = std::uint64_t{64} << 20;
    std::uint64_t size = 0;
    for (const Piece& piece : pieces_) size += piece.length;
    if (size <= memory / 2) return;
    const std::uint64_t quarter = std::max(memory / 4, kSmallestWindow);
    const Blob& from = blob();
    TemporaryBlob& grouped = grouped_.emplace();
    plan_->regroup(pieces_, from, grouped, {quarter, std::min(quarter, kLargestWindow)}, context_.input.cancellation());
    grouped.finish();
}

const Blob& RecordsByValue::blob() const {
    if (grouped_) return grouped_->blob();
    return rewritten_ ? rewritten_->blob() : context_.input.blob();
}

void RecordsByValue::throw_if_lost() const {
    if (rewritten_) rewritten_->throw_if_lost();
    if (grouped_) grouped_->throw_if_lost();
}

}  // namespace cleave
