#include "cuda/parse.h"

#include <algorithm>

#include "cleave/error.h"
#include "cuda/parse_kernel.h"

namespace cleave::cuda {
namespace {

std::uint32_t room_for(double per_byte, std::uint32_t size) {
    const double wanted = per_byte * size * 1.125 + 1024;
    return static_cast<std::uint32_t>(std::min(wanted, static_cast<double>(size) + 1));
}

}  // namespace

std::optional<DeviceFields> parse(Device& device, const ParseMarkup& markup, const std::uint8_t* bytes,
                                  std::uint64_t size, ParseGuess& guess) {
    if (size > kMaxPageSize) throw ArgumentError("parse: a page of 1 GiB or more");
    ParseJob job{};
    job.bytes = bytes;
    job.size = static_cast<std::uint32_t>(size);
    job.tiles = (job.size + kTileSize - 1) / kTileSize;
    job.markup = markup;
    DeviceFields fields;
    ParseResult result{0, 1, 0};
    if (size == 0) {
        fields.rows = device.allocate(sizeof(FieldRow), CLEAVE_MEMORY_ZEROED);
        fields.row_count = 1;
        return fields;
    }
    job.end_room = room_for(guess.ends_per_byte, job.size);
    job.row_room = room_for(guess.rows_per_byte, job.size);
    const std::size_t states = job.tiles * sizeof(std::uint64_t);
    for (bool is_done = false; !is_done;) {
        fields.ends = device.allocate(job.end_room * sizeof(std::uint32_t));
        fields.rows = device.allocate(job.row_room * sizeof(FieldRow));
        const Memory work = device.allocate(states + sizeof(ParseResult) + sizeof(std::uint32_t), CLEAVE_MEMORY_ZEROED);
        job.ends = reinterpret_cast<std::uint32_t*>(fields.ends.data());
        job.rows = reinterpret_cast<FieldRow*>(fields.rows.data());
        job.states = reinterpret_cast<std::uint64_t*>(work.data());
        job.result = reinterpret_cast<ParseResult*>(work.data() + states);
        job.ticket = reinterpret_cast<std::uint32_t*>(work.data() + states + sizeof(ParseResult));
        device.launch(parse_kernel, job.tiles, kParseThreads, sizeof(ParseShared), job);
        check(cudaMemcpyAsync(&result, job.result, sizeof result, cudaMemcpyDeviceToHost, device.stream()),
              "cudaMemcpyAsync");
        device.wait();
        if (result.odd != 0) return std::nullopt;
        is_done = result.ends <= job.end_room && result.rows <= job.row_room;
        job.end_room = std::max(job.end_room, result.ends);
        job.row_room = std::max(job.row_room, result.rows);
    }
    fields.end_count = result.ends;
    fields.row_count = result.rows;
    guess.ends_per_byte = static_cast<double>(result.ends) / static_cast<double>(size);
    guess.rows_per_byte = static_cast<double>(result.rows) / static_cast<double>(size);
    return fields;
}

}  // namespace cleave::cuda
