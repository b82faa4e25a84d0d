// Records are read in parts, small ones first, because most runs end soon. A record larger than a part is read only as
// far as the end of the field.
#include "rows/values/key_search.h"

#include <algorithm>

#include "base/too_long.h"
#include "cleave/memory.h"

namespace cleave {
namespace {

constexpr std::uint64_t kFirstPart = std::uint64_t{4} << 10;
constexpr std::uint64_t kLargestPart = std::uint64_t{256} << 10;
constexpr std::uint64_t kPartGrowth = 4;  // each part is this many times as large as the previous one

}  // namespace

KeySearch::KeySearch(const RecordIndex& index, Locator& locator, const KeyField& key,
                     const std::shared_ptr<MemoryManager>& memory)
    : index_(index),
      locator_(locator),
      key_(key),
      reader_(index.dialect(), index.kernel(), Reading::kByDialect, 0, memory),
      bytes_(memory),
      value_(memory) {}

// The fields of the records in [offset, end), which must begin with a record. A byte order mark is not part of that
// record.
RecordBlock KeySearch::read(std::uint64_t offset, std::uint64_t end, std::uint64_t record, bool at_end) {
    const std::uint64_t begin = std::max(offset, std::min(index_.lead().size, end));
    const auto bytes = bytes_.read(index_.blob(), begin, static_cast<std::size_t>(end - begin));
    return reader_.read(bytes, {begin, record}, at_end);
}

// The record at `at`, which ends at `end`, or as much of it as is needed to contain the entire field.
RecordBlock KeySearch::read_record(Boundary at, std::uint64_t end) {
    if (end <= at.offset) throw InputChangedError();
    for (std::uint64_t size = kLargestPart;; size *= kPartGrowth) {
        const std::uint64_t part_end = end - at.offset > size ? at.offset + size : end;
        const RecordBlock block = read(at.offset, part_end, at.record, true);
        if (part_end == end) return block;
        if (block.record_count() > 0 && block.rows[1].first - block.rows[0].first > key_.column() + 1) return block;
        if (size >= kMaxRecordLimit) throw_too_long(kMaxRecordLimit, {at.offset, at.record});
    }
}

// A record that consists only of a byte order mark has no row, and its field is empty.
Value KeySearch::field(const RecordBlock& block, std::size_t record) const {
    return block.record_count() == 0 ? Value{nullptr, 0} : key_.raw(block, record);
}

void KeySearch::take_value(Boundary at) {
    value_.keep(key_, field(read_record(at, locator_.start_of(at.record + 1).offset), 0));
}

bool KeySearch::has_value(const RecordBlock& block, std::size_t record) {
    return value_.matches(key_, field(block, record));
}

std::optional<Boundary> KeySearch::first_other(Boundary at, Boundary end) {
    for (std::uint64_t part = kFirstPart; at.offset < end.offset; part = std::min(part * kPartGrowth, kLargestPart)) {
        const bool is_last = end.offset - at.offset <= part;
        const RecordBlock block = read(at.offset, is_last ? end.offset : at.offset + part, at.record, is_last);
        if (block.record_count() == 0) {  // the record is larger than a part
            const Boundary next = locator_.start_of(at.record + 1);
            if (!has_value(read_record(at, next.offset), 0)) return at;
            at = next;
            throw_if_cancelled();
            continue;
        }
        for (std::size_t r = 0; r < block.record_count(); ++r) {
            if (!has_value(block, r)) return Boundary{block.place.offset + block.rows[r].begin, at.record + r};
        }
        at = {block.place.offset + block.bytes.size(), at.record + block.record_count()};
        throw_if_cancelled();
    }
    return std::nullopt;
}

std::optional<Boundary> KeySearch::after_last_other(Boundary from, Boundary to) {
    for (std::uint64_t part = kFirstPart; from.record < to.record; part = std::min(part * kPartGrowth, kLargestPart)) {
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
        throw_if_cancelled();
    }
    return std::nullopt;
}

bool KeySearch::has_value(Boundary at, Boundary next) { return has_value(read_record(at, next.offset), 0); }

void KeySearch::throw_if_cancelled() const {
    if (index_.cancellation() != nullptr) index_.cancellation()->throw_if_requested();
}

}  // namespace cleave
