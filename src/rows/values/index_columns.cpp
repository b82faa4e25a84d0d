#include "rows/values/index_columns.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/too_long.h"
#include "cleave/fields.h"
#include "core/scan/header_finder.h"

namespace cleave {

std::optional<FirstRecord> first_record_of(const RecordIndex& index, Locator& locator) {
    const std::uint64_t records = guiding_records(index);
    if (records == index.findings().preamble_records) return std::nullopt;
    const Boundary at = locator.start_of(records - 1);
    const std::uint64_t begin = std::max(at.offset, index.lead().size);
    const std::uint64_t end = locator.start_of(records).offset;
    if (end < begin) throw InputChangedError();
    if (end - begin > kMaxRecordLimit) throw_too_long(kMaxRecordLimit, {begin, at.record});
    std::vector<std::uint8_t> buffer;
    const auto bytes = index.blob().lend(begin, static_cast<std::size_t>(end - begin), buffer);
    return FirstRecord{{bytes.begin(), bytes.end()}, {begin, at.record}};
}

InputColumns columns_of_record(std::span<const std::uint8_t> record, const Dialect& dialect, bool has_header) {
    InputColumns columns;
    columns.are_paths = is_json_lines(dialect);
    if (columns.are_paths) return columns;
    std::vector<std::string> values = field_values(record, dialect);
    columns.count = values.size();
    columns.delimiter = dialect.delimiter;
    columns.is_header_given = dialect.header == HeaderRecord::kNone;
    if (has_header) columns.names = std::move(values);
    return columns;
}

InputColumns columns_of(const RecordIndex& index, Locator& locator, bool has_header) {
    InputColumns columns;
    columns.are_paths = is_json_lines(index.dialect());
    if (columns.are_paths) return columns;
    const std::optional<FirstRecord> record = first_record_of(index, locator);
    if (!record) return columns;
    const Findings& findings = index.findings();
    const bool is_empty = std::ranges::all_of(record->bytes, [](std::uint8_t c) { return c == '\r' || c == '\n'; });
    if (has_header && is_empty && findings.records == findings.header_records) return columns;
    return columns_of_record(record->bytes, index.dialect(), has_header);
}

}  // namespace cleave
