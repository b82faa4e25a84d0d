#include "job/by_value.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "cleave/stage.h"
#include "cleave/value_names.h"
#include "plan/index_columns.h"

namespace cleave {
namespace {

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

ByValue::ByValue(Input& input, const Dialect& dialect, const Policy& policy, const Execution& execution,
                 Staging* staging, const std::function<void(const Findings&)>& found)
    : input_(input) {
    std::optional<RecordIndex> index;
    std::vector<KeyColumn> columns;
    if (staging != nullptr) {
        columns = staging->key_columns();
        TemporaryBlob& changed = changed_.emplace();
        found(staging->write_records(
            [&](std::span<const std::uint8_t> bytes) { changed.append(bytes, input.cancellation()); }));
        changed.finish();
        Execution quiet = execution;
        quiet.meter = nullptr;
        // A value that the rules put first may look like a byte order mark. A preamble is not written.
        const auto first = staging->has_mark() ? FirstBytes::kMarked : FirstBytes::kData;
        Dialect written = dialect;
        written.preamble = 0;
        index.emplace(changed.blob(), written, quiet, input.cancellation(), LastRecord::kKept, first);
    } else {
        index.emplace(index_records(input, dialect, execution));
        found(index->findings());
        columns = key_columns_of(*index, policy);
    }
    if (policy.by->drops_columns && !columns.empty()) {
        plan_shortened(*index, policy, columns);
    } else {
        plan_.emplace(*index, policy, columns);
    }
    if (staging == nullptr || shortened_ || policy.header == HeaderMode::kNone) return;
    if (plan_->header_size() != staging->header_size()) throw std::logic_error("stage: the header was read otherwise");
}

void ByValue::plan_shortened(const RecordIndex& index, const Policy& policy, const std::vector<KeyColumn>& columns) {
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

NameList ByValue::names_of(std::span<const Piece> pieces, const PieceNamer& namer, bool hive) const {
    std::vector<std::string> values;
    if (namer.has_value() && !plan_->columns().empty()) {
        const auto value = [&](std::size_t key, std::size_t column) { return plan_->value(key, column); };
        values = value_names(plan_->key_count(), value, {hive, plan_->columns()});
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

void ByValue::plan_again(const RecordIndex& index, const Policy& policy) {
    plan_.emplace(index, policy);
    plan_->list_parts();
}

void ByValue::scatter(std::span<const std::unique_ptr<PieceOutput>> outputs, HeaderMode header_mode,
                      Meter* meter) const {
    std::vector<std::uint8_t> buffer;
    const auto header = blob().lend(0, static_cast<std::size_t>(plan_->header_size()), buffer);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        if (header_size_in(header_mode, i + 1, header.size()) > 0) outputs[i]->write_at(0, header);
    }
    const auto write = [&](std::size_t i, std::uint64_t offset, std::span<const std::uint8_t> bytes) {
        outputs[i]->write_at(offset, bytes);
        if (meter != nullptr) meter->written += bytes.size();
    };
    plan_->scatter(blob(), write, input_.cancellation());
    throw_if_lost();
}

void ByValue::regroup(std::span<const Piece> pieces, std::uint64_t memory) {
    constexpr std::uint64_t kLargestWindow = std::uint64_t{256} << 20;
    // Each window costs a look at each piece. With smaller ones, where hardly any memory is free, there is no end.
    constexpr std::uint64_t kSmallestWindow = std::uint64_t{64} << 20;
    std::uint64_t size = 0;
    for (const Piece& piece : pieces) size += piece.length;
    if (size <= memory / 2) return;
    const std::uint64_t quarter = std::max(memory / 4, kSmallestWindow);
    const Blob& from = blob();
    TemporaryBlob& grouped = grouped_.emplace();
    plan_->regroup(pieces, from, grouped, {quarter, std::min(quarter, kLargestWindow)}, input_.cancellation());
    grouped.finish();
}

const Blob& ByValue::blob() const {
    if (grouped_) return grouped_->blob();
    if (shortened_) return shortened_->blob();
    return changed_ ? changed_->blob() : input_.blob();
}

void ByValue::throw_if_lost() const {
    for (const auto* file : {&changed_, &shortened_, &grouped_}) {
        if (*file) (*file)->throw_if_lost();
    }
}

}  // namespace cleave
