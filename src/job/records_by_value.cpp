#include "job/records_by_value.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <system_error>

#include "cleave/stage.h"
#include "cleave/value_names.h"
#include "io/fd.h"
#include "io/page_cache.h"
#include "plan/index_columns.h"
#include "write/gather.h"

namespace cleave {
namespace {

// More than completing pieces that are open, and a manifest, take at once.
constexpr std::size_t kDescriptorsOfPieces = 8;

// A stage that leaves the columns out.
Stage stage_without(const std::vector<KeyColumn>& columns, const By& by, const RecordIndex& index,
                    const FirstRecord& first, bool has_header) {
    StageOptions options;
    RuleText& select = options.select.emplace();
    select.origin = by.columns.origin;
    for (const KeyColumn& column : columns) {
        select.text += (select.text.empty() ? "!#" : ",!#") + std::to_string(column.number + 1);
    }
    options.max_record = kMaxRecordLimit;
    // The columns are those that were found, and left out where the dialect says that they are.
    options.is_delimiter_given = options.is_header_given = options.is_escape_given = true;
    try {
        return {options, index.dialect(), first.bytes, has_header};
    } catch (const RuleError&) {
        throw RuleError("a record has no other column; use --hive with --keep-by, or leave out --drop-by",
                        by.columns.origin, by.columns.text, 0);
    }
}

}  // namespace

RecordsByValue::RecordsByValue(const JobContext& context) : PieceBytes(context) {
    const Policy& policy = context.policy;
    std::optional<RecordIndex> index;
    std::vector<KeyColumn> columns;
    if (context.staging != nullptr) {
        columns = context.staging->key_columns();
        index.emplace(index_of_changed());
    } else {
        index.emplace(index_records(context.input, context.dialect, context.job.execution));
        context.reports.found(index->findings());
        columns = key_columns_of(*index, policy);
    }
    if (policy.by->drops_columns && !columns.empty()) {
        plan_shortened(*index, columns);
    } else {
        plan_.emplace(*index, policy, columns);
    }
    JobReport& report = context.report;
    report.header_size = plan_->header_size();
    const bool is_staged_header = context.staging != nullptr && !shortened_ && policy.header != HeaderMode::kNone;
    if (is_staged_header && report.header_size != context.staging->header_size()) {
        throw std::logic_error("stage: the header was read otherwise");
    }
    context.reports.set_values([this](std::uint64_t number) { return values_of(number); });
    pieces_ = plan_->take_pieces();
    if (!is_of_input()) {  // as the manifest says it in the end
        report.findings.size = report.header_size;
        for (const Piece& piece : pieces_) report.findings.size += piece.length;
    }
    report_cuts();
}

// What the stage makes of the input goes to a file.
RecordIndex RecordsByValue::index_of_changed() {
    Staging& staging = *context_.staging;
    const Cancellation* const cancellation = context_.input.cancellation();
    TemporaryBlob& changed = changed_.emplace();
    context_.reports.found(
        staging.write_records([&](std::span<const std::uint8_t> bytes) { changed.append(bytes, cancellation); }));
    changed.finish();
    Execution quiet = context_.job.execution;
    quiet.meter = nullptr;
    // A value that the rules put first may look like a byte order mark. A preamble is not written.
    const auto first = staging.has_mark() ? FirstBytes::kMarked : FirstBytes::kData;
    Dialect written = context_.dialect;
    written.preamble = 0;
    return {changed.blob(), written, quiet, cancellation, LastRecord::kKept, first};
}

void RecordsByValue::plan_shortened(const RecordIndex& index, const std::vector<KeyColumn>& columns) {
    const Policy& policy = context_.policy;
    const bool has_header = policy.header != HeaderMode::kNone;
    Locator locator(index);
    const FirstRecord first = first_record_of(index, locator).value_or(FirstRecord{});
    const Stage stage = stage_without(columns, *policy.by, index, first, has_header);
    TemporaryBlob& written = shortened_.emplace();
    std::uint64_t header_size = 0;
    if (has_header) {
        StageWorker worker(stage, index.kernel());
        std::vector<std::uint8_t> buffer;
        worker.append(index.blob().lend(0, static_cast<std::size_t>(first.place.offset), buffer));
        if (!first.bytes.empty()) worker.write_unchanged(worker.read(first.bytes, first.place, true));
        header_size = worker.written().size();
        written.write_at(0, worker.written());
    } else if (const Lead lead = index.lead(); lead.is_preamble) {
        header_size = lead.size;
        std::vector<std::uint8_t> buffer;
        written.write_at(0, index.blob().lend(0, static_cast<std::size_t>(lead.size), buffer));
    }
    const ValuePlan::Rewriting rewriting{stage, written, header_size};
    plan_.emplace(index, policy, columns, &rewriting);
    written.finish();
}

NameList RecordsByValue::names_of(std::span<const Piece> pieces, const PieceNamer& namer) const {
    std::vector<std::string> values;
    if (namer.has_value() && !plan_->columns().empty()) {
        const auto value = [&](std::size_t key, std::size_t column) { return plan_->value(key, column); };
        values = value_names(plan_->key_count(), value, {context_.job.output.hive_names, plan_->columns()});
    }
    NameList names(namer.folder());
    for (const Piece& piece : pieces) {
        PieceValue value;
        if (!values.empty()) {
            const ValuePlan::Place place = plan_->place_of(piece.number);
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
        are_there = target.prepare(pieces_, paths, parts());
    } else {
        target.prepare({}, paths, {});
    }
    if (scatters && write_scattered(target, paths)) return;
    plan_->list_parts();
    const bool reads_parts = output.checksum || std::ranges::find(are_there, 0) != are_there.end();
    if (!output.dry_run && reads_parts) regroup(available_memory());
    write_side_by_side(target, paths, are_there, threads());
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

// Whether pieces may be written as their records come. They are all open at once and complete at the end, so a later
// run finds all of them or none: not what --resume is for.
bool RecordsByValue::can_scatter(const PieceTarget& target) const {
    return !pieces_.empty() && !context_.job.output.resume && target.takes_any_order() && plan_->can_scatter() &&
           pieces_.size() <= descriptor_limit() / 4;
}

// False if there are too few descriptors. Nothing is written then.
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
    write_each(target, pieces_.size(), context_.job.execution.threads, [&](std::size_t i) {
        const PieceResult result = outputs[i]->finish(pieces_[i]);
        context_.reports.finished(pieces_[i], paths[i], result);
    });
    return true;
}

// Writes all pieces as their records come. The pieces have these outputs.
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

// Brings the parts of neighbouring pieces together, if the pieces are larger than half of `memory` bytes: see
// plan/regroup.cpp. After the last look at what parts are in the input.
void RecordsByValue::regroup(std::uint64_t memory) {
    constexpr std::uint64_t kLargestWindow = std::uint64_t{256} << 20;
    // Each window costs a look at each piece. With smaller ones, where hardly any memory is free, there is no end.
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
    if (shortened_) return shortened_->blob();
    return changed_ ? changed_->blob() : context_.input.blob();
}

void RecordsByValue::throw_if_lost() const {
    for (const auto* file : {&changed_, &shortened_, &grouped_}) {
        if (*file) (*file)->throw_if_lost();
    }
}

}  // namespace cleave
