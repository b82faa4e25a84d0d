// All records of a run have one value. So a search does not compare neighbours, but all records with that value:
//
//   first change at or after a boundary:   the first record from there on whose value is not that of the record before
//   last change at or before a boundary:   behind the last record before it whose value is not that of the record there
//
// Records are read in parts, small ones first: most runs end soon. Of a record that is larger than a part, only as many
// bytes are read as it takes to reach the field.
#include "plan/key_runs.h"

#include <algorithm>

#include "base/too_long.h"
#include "cleave/memory.h"

namespace cleave {
namespace {

constexpr std::uint64_t kFirstPart = std::uint64_t{4} << 10;
constexpr std::uint64_t kLargestPart = std::uint64_t{256} << 10;
constexpr std::uint64_t kGrowth = 4;  // of a part

// The columns of the input, by its first record that is not empty.
InputColumns columns_of(const RecordIndex& index, Locator& locator, bool has_header) {
    const std::uint64_t records = index.findings().header_records;
    if (records == 0) return {};
    const Boundary at = locator.start_of(records - 1);
    const std::uint64_t begin = std::max(at.offset, index.bom());
    const std::uint64_t end = locator.start_of(records).offset;
    if (end < begin) throw InputChangedError();
    if (end - begin > kMaxRecordLimit) throw_too_long(kMaxRecordLimit, {begin, at.record});
    std::vector<std::uint8_t> buffer;
    const auto record = index.blob().lend(begin, static_cast<std::size_t>(end - begin), buffer);
    try {
        return input_columns(record, index.dialect(), has_header);
    } catch (const InputError& error) {
        const std::uint64_t offset = error.place() ? error.place()->offset : 0;
        throw InputError(error.what(), Place{begin + offset, at.record});
    }
}

}  // namespace

KeyRuns::KeyRuns(const RecordIndex& index, Locator& locator, const Together& together, bool has_header)
    : index_(index),
      locator_(locator),
      key_(index.dialect(), find_key_column(together, columns_of(index, locator, has_header)),
           together.accepts_missing),
      memory_(MemoryManager::or_default(nullptr)),
      reader_(index.dialect(), index.kernel(), Reading::kByDialect, 0, memory_),
      value_(memory_) {}

// The fields of the records in [offset, end), which begins with a record; a byte order mark is no part of it.
RecordBlock KeyRuns::read(std::uint64_t offset, std::uint64_t end, std::uint64_t record, bool at_end) {
    const std::uint64_t begin = std::max(offset, std::min(index_.bom(), end));
    const auto bytes = index_.blob().lend(begin, static_cast<std::size_t>(end - begin), lent_);
    const RecordBlock block = reader_.read(bytes, {begin, record}, at_end);
    index_.blob().throw_if_lost();
    return block;
}

// The record at `at`, which ends at `end`, or as much of it as it takes to have the whole field.
RecordBlock KeyRuns::read_record(Boundary at, std::uint64_t end) {
    if (end <= at.offset) throw InputChangedError();
    for (std::uint64_t size = kLargestPart;; size *= kGrowth) {
        const std::uint64_t part_end = end - at.offset > size ? at.offset + size : end;
        const RecordBlock block = read(at.offset, part_end, at.record, true);
        if (part_end == end) return block;
        if (block.record_count() > 0 && block.rows[1].first - block.rows[0].first > key_.column() + 1) return block;
        if (size >= kMaxRecordLimit) throw_too_long(kMaxRecordLimit, {at.offset, at.record});
    }
}

// A record of nothing but a byte order mark has no row, and an empty field.
Value KeyRuns::field(const RecordBlock& block, std::size_t record) const {
    return block.record_count() == 0 ? Value{nullptr, 0} : key_.raw(block, record);
}

// Compares with the value of the record at `at` from now on.
void KeyRuns::take_value(Boundary at) {
    value_.keep(key_, field(read_record(at, locator_.start_of(at.record + 1).offset), 0));
}

bool KeyRuns::has_value(const RecordBlock& block, std::size_t record) {
    return value_.matches(key_, field(block, record));
}

// The first record at `at` or after it that has another value.
std::optional<Boundary> KeyRuns::first_other(Boundary at) {
    const Boundary end = index_.end();
    for (std::uint64_t part = kFirstPart; at.offset < end.offset; part = std::min(part * kGrowth, kLargestPart)) {
        const bool is_last = end.offset - at.offset <= part;
        const RecordBlock block = read(at.offset, is_last ? end.offset : at.offset + part, at.record, is_last);
        if (block.record_count() == 0) {  // a record that is larger than a part
            const Boundary next = locator_.start_of(at.record + 1);
            if (!has_value(read_record(at, next.offset), 0)) return at;
            at = next;
            continue;
        }
        for (std::size_t r = 0; r < block.record_count(); ++r) {
            if (!has_value(block, r)) return Boundary{block.place.offset + block.rows[r].begin, at.record + r};
        }
        at = {block.place.offset + block.bytes.size(), at.record + block.record_count()};
    }
    return std::nullopt;
}

// Behind the last record in [from, to) that has another value.
std::optional<Boundary> KeyRuns::after_last_other(Boundary from, Boundary to) {
    for (std::uint64_t part = kFirstPart; from.record < to.record; part = std::min(part * kGrowth, kLargestPart)) {
        Boundary at = from;
        if (to.offset - from.offset > part) at = locator_.at_or_after(to.offset - part);
        if (at.record >= to.record) at = locator_.start_of(to.record - 1);
        if (at.offset >= to.offset) throw InputChangedError();
        const bool is_one = to.record - at.record == 1;
        const RecordBlock block = is_one ? read_record(at, to.offset) : read(at.offset, to.offset, at.record, true);
        if (!is_one && block.record_count() != to.record - at.record) throw InputChangedError();
        for (std::size_t r = block.record_count(); r-- > 0;) {
            if (has_value(block, r)) continue;
            if (is_one) return to;
            return Boundary{block.place.offset + block.rows[r + 1].begin, at.record + r + 1};
        }
        to = at;
    }
    return std::nullopt;
}

bool KeyRuns::is_change(Boundary at) {
    take_value(at);
    const Boundary before = locator_.start_of(at.record - 1);
    return !has_value(read_record(before, at.offset), 0);
}

Boundary KeyRuns::first_change(Boundary at) {
    take_value(locator_.start_of(at.record - 1));
    return first_other(at).value_or(index_.end());
}

Boundary KeyRuns::change_within(Boundary from, Boundary limit) {
    take_value(limit);
    if (const auto change = after_last_other(from, limit)) return *change;
    return first_other(limit).value_or(index_.end());
}

}  // namespace cleave
