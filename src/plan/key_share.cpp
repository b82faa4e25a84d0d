#include "plan/key_share.h"

#include <algorithm>
#include <array>

#include "base/too_long.h"
#include "cleave/memory.h"

namespace cleave {
namespace {

// Few enough bytes for the records and their fields to be in the second cache.
constexpr std::uint64_t kBlockSize = std::uint64_t{256} << 10;

// So many keys ahead, their slots in the table are fetched.
constexpr std::size_t kAhead = 16;

}  // namespace

void KeyShare::read(const KeyQuestion& question, Boundary begin, Boundary end) {
    from = begin;
    const RecordIndex& index = question.index;
    KeyReader reader(index.dialect(), question.columns, question.by.accepts_missing, question.memory);
    FieldReader fields(index.dialect(), index.kernel(), Reading::kByDialect, 0, question.memory);
    if (question.by.buckets) records.resize(static_cast<std::size_t>(*question.by.buckets));
    std::vector<std::uint8_t> lent;
    const std::uint64_t usual = std::min<std::uint64_t>(kBlockSize, index.block_size());
    std::uint64_t wanted = usual;
    for (Boundary at = begin; at.offset < end.offset;) {
        if (index.cancellation() != nullptr) index.cancellation()->throw_if_requested();
        const std::uint64_t part_end = std::min(at.offset + wanted, end.offset);
        // A byte order mark is no part of a field. It goes with the first record.
        const std::uint64_t bom = at.offset < index.bom() ? std::min(index.bom(), part_end) - at.offset : 0;
        const std::uint64_t start = at.offset + bom;
        const auto bytes = index.blob().lend(start, static_cast<std::size_t>(part_end - start), lent);
        const RecordBlock block = fields.read(bytes, {start, at.record}, part_end == end.offset);
        index.blob().throw_if_lost();
        if (block.record_count() == 0) {
            if (part_end == end.offset) {
                if (end.record != at.record + 1 || !bytes.empty()) throw InputChangedError();
                take(question, std::array{RecordKey{{}, hash_of_key({})}}, block, bom);  // nothing but the mark
                return;
            }
            if (wanted > kMaxRecordLimit) throw_too_long(kMaxRecordLimit, {at.offset, at.record});
            wanted *= 2;
            continue;
        }
        try {
            reader.read(block);
        } catch (const InputError&) {
            fault = std::current_exception();
        }
        if (!take(question, reader.keys(), block, bom) || fault) return;
        at = {start + block.bytes.size(), at.record + block.record_count()};
        wanted = usual;
        if (at.offset == end.offset && at.record != end.record) throw InputChangedError();
    }
}

// False if there are too many keys.
bool KeyShare::take(const KeyQuestion& question, std::span<const RecordKey> of_block, const RecordBlock& block,
                    std::uint64_t bom) {
    const By& by = question.by;
    const auto start_of = [&](std::size_t r) { return block.place.offset + block.rows[r].begin - (r == 0 ? bom : 0); };
    for (std::size_t r = 0; r < of_block.size(); ++r) {
        std::uint32_t key = 0;
        if (by.buckets) {
            key = static_cast<std::uint32_t>(of_block[r].hash % *by.buckets);
        } else {
            if (r + kAhead < of_block.size()) keys.prefetch(of_block[r + kAhead].hash);
            key = keys.find_or_add(of_block[r].hash, of_block[r].bytes);
            if (key == records.size()) records.emplace_back();
        }
        const std::uint64_t end =
            block.record_count() > 0 ? block.place.offset + block.rows[r + 1].begin : block.place.offset;
        add(key, start_of(r), end - start_of(r), block.place.record + r, question.joins);
        if (!by.buckets && keys.size() > by.max_keys) return false;
    }
    return true;
}

void KeyShare::add(std::uint32_t key, std::uint64_t start, std::uint64_t size, std::uint64_t record, bool joins) {
    KeyRecords& of_key = records[key];
    if (of_key.records == 0) {
        of_key.start = start;
        of_key.first_record = record;
    }
    ++of_key.records;
    of_key.length += size;
    if (route.append({key, static_cast<std::uint32_t>(size)}, joins)) ++of_key.entries;
}

}  // namespace cleave
