// The records of a run, in blocks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/too_long.h"
#include "cleave/fields.h"
#include "cleave/stage.h"
#include "scan/record_runs.h"

namespace cleave {

// Few enough bytes for records, their fields and the changed records to be in the second cache.
inline constexpr std::size_t kBlockSize = std::size_t{256} << 10;

// Calls take(block) for the records of the run, in blocks of at least one record each. read(bytes, place, at_end) finds
// the fields of the next bytes of the run.
template <class Read, class Take>
void read_blocks(std::span<const std::uint8_t> bytes_of_run, Place place, std::uint64_t max_record, const Read& read,
                 const Take& take) {
    std::size_t wanted = kBlockSize;
    for (auto rest = bytes_of_run; !rest.empty();) {
        const auto bytes = rest.first(std::min(wanted, rest.size()));
        const RecordBlock block = read(bytes, place, bytes.size() == rest.size());
        if (block.record_count() == 0) {
            if (bytes.size() > max_record) throw_too_long(max_record, place);
            wanted *= 2;
            continue;
        }
        take(block);
        rest = rest.subspan(block.bytes.size());
        place = {place.offset + block.bytes.size(), place.record + block.record_count()};
        wanted = kBlockSize;
    }
}

// The records of a run; `is_cut` as RecordRun::is_cut. Throws InputError, after the records before, for one that is bad
// or too long.
template <class Take>
void for_each_block(StageWorker& worker, std::span<const std::uint8_t> bytes_of_run, Place place, bool is_cut,
                    std::uint64_t max_record, const Take& take) {
    const auto read = [&](auto bytes, Place at, bool at_end) {
        return worker.read_sound(bytes, at, at_end && !is_cut);
    };
    read_blocks(bytes_of_run, place, max_record, read, take);
}

// The same of a whole run whose bytes are to be copied from `source`. Throws InputError at once for a fault anywhere in
// a block.
template <class Take>
void for_each_block(StageWorker& worker, const std::uint8_t* source, std::span<std::uint8_t> copy, Place place,
                    std::uint64_t max_record, const Take& take) {
    const auto read = [&](std::span<const std::uint8_t> bytes, Place at, bool at_end) {
        const auto offset = static_cast<std::size_t>(bytes.data() - copy.data());
        return worker.read_copy(source + offset, copy.subspan(offset, bytes.size()), at, at_end);
    };
    read_blocks(copy, place, max_record, read, take);
}

}  // namespace cleave
