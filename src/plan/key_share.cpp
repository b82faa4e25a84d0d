#include "plan/key_share.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/too_long.h"
#include "cleave/memory.h"
#include "cleave/stage.h"
#include "scan/private_bytes.h"

namespace cleave {
namespace {

// Few enough bytes for the records and their fields to be in the second cache.
constexpr std::uint64_t kBlockSize = std::uint64_t{256} << 10;

// So many keys ahead, their slots in the table are fetched.
constexpr std::size_t kAhead = 16;

// The size of the part to try next, if in one of this size no record ends.
std::uint64_t larger(std::uint64_t size, Place record) {
    if (size >= kMaxRecordLimit) throw_too_long(kMaxRecordLimit, record);
    return std::min(size * 2, kMaxRecordLimit);
}

}  // namespace

// Reads fields, by a stage's worker if there is a stage.
class KeyShare::Blocks {
public:
    explicit Blocks(const KeyQuestion& question) {
        const RecordIndex& index = question.index;
        if (question.stage != nullptr) {
            worker_.emplace(*question.stage, index.kernel(), question.memory);
        } else {
            fields_.emplace(index.dialect(), index.kernel(), Reading::kByDialect, 0, question.memory);
        }
    }

    RecordBlock read(std::span<const std::uint8_t> bytes, Place place, bool at_end) {
        return worker_ ? worker_->read_sound(bytes, place, at_end) : fields_->read(bytes, place, at_end);
    }

    StageWorker* worker() { return worker_ ? &*worker_ : nullptr; }

private:
    std::optional<FieldReader> fields_;
    std::optional<StageWorker> worker_;
};

void KeyShare::read(const KeyQuestion& question, Boundary from, Boundary to) {
    const RecordIndex& index = question.index;
    keys = KeyTable(question.memory);
    KeyReader reader(index.dialect(), question.columns, question.by.accepts_missing, question.seed, question.memory);
    Blocks blocks(question);
    if (question.stage == nullptr) origin = from.offset;
    if (question.by.buckets) records.resize(static_cast<std::size_t>(*question.by.buckets));
    const std::uint64_t usual = std::min<std::uint64_t>(kBlockSize, index.block_size());
    std::uint64_t wanted = usual;
    PrivateBytes bytes(question.memory);
    for (Boundary at = from; at.offset < to.offset;) {
        if (index.cancellation() != nullptr) index.cancellation()->throw_if_requested();
        const std::uint64_t part_end = std::min(at.offset + wanted, to.offset);
        const bool is_last = part_end == to.offset;
        const auto part = bytes.read(index.blob(), at.offset, static_cast<std::size_t>(part_end - at.offset));
        // A byte order mark is no part of a field. It goes with the first record.
        const std::uint64_t bom =
            at.offset < index.lead().size ? std::min<std::uint64_t>(index.lead().size, part.size()) : 0;
        RecordBlock block;
        try {
            block = blocks.read(part.subspan(bom), {at.offset + bom, at.record}, is_last);
            if (block.record_count() > 0) reader.read(block);
        } catch (const InputError&) {
            fault = std::current_exception();
            if (block.rows.empty()) return;
        }
        if (block.record_count() == 0 && !is_last) {
            wanted = larger(wanted, {at.offset, at.record});
            continue;
        }
        const std::size_t count = std::max<std::size_t>(block.record_count(), 1);  // 1: nothing but the mark
        if (!take_block(question, blocks, reader.keys(), block, part.first(bom), at.record) || fault) return;
        at = {at.offset + bom + block.bytes.size(), at.record + count};
        wanted = usual;
        if (at.offset == to.offset && at.record != to.record) throw InputChangedError();
    }
}

// Of a block that begins with the record of that number, behind the byte order mark, if there is one. Returns false if
// there are too many keys, or at a fault.
bool KeyShare::take_block(const KeyQuestion& question, Blocks& blocks, std::span<const RecordKey> of_block,
                          const RecordBlock& block, std::span<const std::uint8_t> mark, std::uint64_t record) {
    const std::array<RecordKey, 1> of_mark{RecordKey{{}, hash_of_key({}, question.seed)}};
    if (block.record_count() == 0) of_block = of_mark;  // an input of nothing but the mark
    StageWorker* const worker = blocks.worker();
    if (worker == nullptr) {
        const std::uint64_t done = mark.size() + block.bytes.size();
        const bool goes_on = take(question, of_block, record, [&](std::size_t r) {
            return size + (r == 0 ? 0 : r < block.record_count() ? mark.size() + block.rows[r].begin : done);
        });
        size += done;
        return goes_on;
    }
    worker->clear();
    worker->append(mark);
    try {
        worker->write(block);
    } catch (const InputError&) {
        fault = std::current_exception();
        return false;
    }
    const auto written = worker->written();
    const auto begins = worker->starts();
    const bool goes_on = take(question, of_block, record, [&](std::size_t r) {
        return size + (r == 0 ? 0 : r < begins.size() ? begins[r] : written.size());
    });
    question.written->write_at(origin + size, written);
    size += written.size();
    return goes_on;
}

// Of the records of a block: `record` is the first one, and start_of(r) is where record r begins, from the start of the
// share. Returns false if there are too many keys.
template <class StartOf>
bool KeyShare::take(const KeyQuestion& question, std::span<const RecordKey> of_block, std::uint64_t record,
                    const StartOf& start_of) {
    const By& by = question.by;
    for (std::size_t r = 0; r < of_block.size(); ++r) {
        std::uint32_t key = 0;
        if (by.buckets) {
            key = static_cast<std::uint32_t>(of_block[r].hash % *by.buckets);
        } else {
            if (r + kAhead < of_block.size()) keys.prefetch(of_block[r + kAhead].hash);
            key = keys.find_or_add(of_block[r].hash, of_block[r].bytes);
            if (key == records.size()) records.emplace_back();
        }
        const std::uint64_t start = start_of(r);
        const std::uint64_t bytes = start_of(r + 1) - start;
        KeyRecords& of_key = records[key];
        if (of_key.records == 0) starts.append({key, start, record + r});
        ++of_key.records;
        of_key.length += bytes;
        if (route.append({key, static_cast<std::uint32_t>(bytes)}, question.joins)) ++of_key.entries;
        if (!by.buckets && keys.size() > by.max_keys) return false;
    }
    return true;
}

}  // namespace cleave
