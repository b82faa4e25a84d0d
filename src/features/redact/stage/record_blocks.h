// Reads the records of a batch, with their fields, in blocks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/too_long.h"
#include "cleave/fields.h"
#include "cleave/stage.h"
#include "rows/records/batch.h"

namespace cleave {

// Calls take(block) for the records of the batch, in blocks of at least one record each. Throws InputError for a bad or
// overlong record: in an exact batch after taking the records before it, in a guessed batch immediately. Throws
// DoubtfulBatch if a guessed batch does not end where a record ends.
template <class Take>
void for_each_block(StageWorker& worker, const Batch& batch, std::uint64_t max_record, const Take& take) {
    bool is_terminated = true;
    Place place = batch.place;
    std::size_t wanted = kBlockSize;
    for (auto rest = batch.bytes; !rest.empty();) {
        const auto bytes = rest.first(std::min(wanted, rest.size()));
        const bool at_end = bytes.size() == rest.size() && !batch.is_cut;
        const RecordBlock block =
            batch.is_exact ? worker.read_sound(bytes, place, at_end) : worker.read(bytes, place, at_end);
        if (block.record_count() == 0) {
            if (bytes.size() > max_record) throw_too_long(max_record, place);
            wanted *= 2;
            continue;
        }
        take(block);
        is_terminated = block.ends.back() < block.bytes.size();
        rest = rest.subspan(block.bytes.size());
        place = {place.offset + block.bytes.size(), place.record + block.record_count()};
        wanted = kBlockSize;
    }
    if (!batch.is_exact && !batch.is_last && !is_terminated) throw DoubtfulBatch();
}

// Where record `number` of the batch, counted from 0, begins in the input. Only errors need this, so it reads the batch
// again.
inline Place place_of_record(StageWorker& worker, const Batch& batch, std::uint64_t max_record, std::uint64_t number) {
    const std::uint64_t record = batch.place.record + number;
    Place place = batch.place;
    for_each_block(worker, batch, max_record, [&](const RecordBlock& block) {
        if (record < block.place.record || record - block.place.record >= block.record_count()) return;
        place = {block.place.offset + block.rows[record - block.place.record].begin, record};
    });
    return place;
}

}  // namespace cleave
