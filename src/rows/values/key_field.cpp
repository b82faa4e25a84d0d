#include "rows/values/key_field.h"

#include <algorithm>
#include <cstdint>

#include "rows/fields/column_list.h"

namespace cleave {
namespace {

// If the list names a column by its name, the first record is the header, as in resolve.cpp. Otherwise its fields count
// as values.
ColumnFinder finder_for(const std::vector<ColumnSyntax>& list, const InputColumns& columns) {
    const bool is_vouched_for = columns.is_header_given || std::ranges::any_of(list, [&](const ColumnSyntax& item) {
                                    return is_name_of_column(item, columns);
                                });
    return ColumnFinder(columns, is_vouched_for ? ColumnFinder::Names::kShown : ColumnFinder::Names::kHidden);
}

std::size_t header_fields_for(const ColumnSyntax& syntax, const InputColumns& columns) {
    return is_name_of_column(syntax, columns) ? columns.count : SIZE_MAX;
}

// Takes a path from a list of them.
KeyColumn take_path(RuleScanner& scanner, const RuleText& list) {
    KeyColumn column;
    const std::size_t begin = scanner.place();
    column.path = parse_key_path(scanner);
    column.name = list.text.substr(begin, scanner.place() - begin);
    column.name.resize(column.name.find_last_not_of(" \t") + 1);
    column.header = column.path->header();
    return column;
}

// The paths in the list.
std::vector<KeyColumn> find_key_paths(const ByValue& by) {
    RuleScanner scanner(by.columns);
    std::vector<KeyColumn> found;
    do {
        const std::size_t place = scanner.place();
        KeyColumn column = take_path(scanner, by.columns);
        if (std::ranges::any_of(found, [&](const KeyColumn& each) { return each.path->is_same(*column.path); })) {
            scanner.fail("the path " + column.name + " is named twice", place);
        }
        found.push_back(std::move(column));
    } while (scanner.accept(","));
    if (!scanner.at_end()) scanner.expected("',' or the end after a path");
    if (by.drops_columns) scanner.fail("records of JSON Lines keep their keys; with --hive, add --keep-by", 0);
    return found;
}

}  // namespace

KeyColumn find_key_column(const Together& together, InputColumns columns) {
    columns.is_delimiter_given = together.is_delimiter_given;
    columns.is_header_given = columns.is_header_given || together.is_header_given;
    RuleScanner scanner(together.column);
    if (columns.are_paths) {
        KeyColumn column = take_path(scanner, together.column);
        if (!scanner.at_end()) scanner.expected("the end after a path");
        return column;
    }
    const ColumnSyntax syntax = parse_column(scanner);
    if (!scanner.at_end()) scanner.expected("the end after a column");
    if (columns.count == 0) return {};
    const ColumnFinder finder = finder_for({syntax}, columns);
    const std::size_t number = finder.one(syntax, together.column);
    return {.number = number,
            .name = finder.name_of(number),
            .header = {},
            .header_fields = header_fields_for(syntax, columns)};
}

std::vector<KeyColumn> find_key_columns(const ByValue& by, InputColumns columns) {
    if (by.is_draw()) return {};
    columns.is_delimiter_given = by.is_delimiter_given;
    columns.is_header_given = columns.is_header_given || by.is_header_given;
    if (columns.are_paths) return find_key_paths(by);
    RuleScanner scanner(by.columns);
    std::vector<ColumnSyntax> list;
    do {
        list.push_back(parse_column(scanner));
    } while (scanner.accept(","));
    if (!scanner.at_end()) scanner.expected("',' or the end after a column");
    std::vector<KeyColumn> found;
    if (columns.count == 0) return found;
    const ColumnFinder finder = finder_for(list, columns);
    for (const ColumnSyntax& syntax : list) {
        const std::size_t number = finder.one(syntax, by.columns);
        if (std::ranges::find(found, number, &KeyColumn::number) != found.end()) {
            scanner.fail("the column " + finder.name_of(number) + " is named twice", syntax.place);
        }
        found.push_back({.number = number,
                         .name = finder.name_of(number),
                         .header = columns.names.empty() ? "" : columns.names[number],
                         .header_fields = header_fields_for(syntax, columns)});
    }
    return found;
}

std::uint32_t KeyField::end_of_record(const RecordBlock& block, const FieldRow& row, std::size_t count) const {
    const std::uint32_t end = block.ends[row.first + count - 1];
    if (end == row.begin || block.bytes[end - 1] != '\r') return end;
    return content_end(block.bytes, row.begin, end, dialect_);
}

// For a record that lacks the field or has more fields than the header.
Value KeyField::raw_of_odd(const RecordBlock& block, std::size_t record) const {
    const FieldRow& row = block.rows[record];
    const std::size_t count = block.rows[record + 1].first - row.first;
    const std::size_t column = column_.number;
    const auto field = [&](std::size_t i) -> Value {
        const std::uint32_t begin = i == 0 ? row.begin : block.ends[row.first + i - 1] + 1;
        const std::uint32_t end = i + 1 == count ? end_of_record(block, row, count) : block.ends[row.first + i];
        return {block.bytes.data() + begin, end - begin};
    };
    if (column >= count) {
        const bool is_empty = count == 1 && end_of_record(block, row, count) == row.begin;
        if (!is_empty && !accepts_ragged_) refuse(block, record, " has no column " + column_.name);
        return {nullptr, 0};
    }
    for (std::size_t i = column_.header_fields; i < count; ++i) {
        Value value{};
        const Value further = field(i);
        if (decoder_.view(further.data, further.data + further.size, value) && value.size == 0) continue;
        refuse(block, record,
               " may have the column " + column_.name + " in another place, because the header has only " +
                   std::to_string(column_.header_fields));
    }
    return field(column);
}

void KeyField::refuse(const RecordBlock& block, std::size_t record, const std::string& fault) {
    const FieldRow& row = block.rows[record];
    const std::size_t count = block.rows[record + 1].first - row.first;
    throw InputError("a record of " + std::to_string(count) + (count == 1 ? " field" : " fields") + fault,
                     Place{block.place.offset + row.begin, block.place.record + record});
}

}  // namespace cleave
