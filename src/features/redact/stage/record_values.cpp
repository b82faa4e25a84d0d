#include "features/redact/stage/record_values.h"

#include <cstdint>

#include "cleave/memory_manager.h"

namespace cleave {

std::vector<std::string> values_of(const RecordBlock& block, std::size_t r, const Dialect& dialect,
                                   const DialectCodec& codec) {
    std::vector<std::string> values;
    ValueBuffer scratch(MemoryManager::or_default(nullptr));
    std::uint32_t begin = block.rows[r].begin;
    for (std::size_t i = block.rows[r].first; i < block.rows[r + 1].first; ++i) {
        const bool is_last = i + 1 == block.rows[r + 1].first;
        const std::uint32_t end =
            is_last ? content_end(block.bytes, block.rows[r].begin, block.ends[i], dialect) : block.ends[i];
        const Value value = codec.decode(block.bytes.data() + begin, block.bytes.data() + end, scratch);
        values.emplace_back(reinterpret_cast<const char*>(value.data), value.size);
        begin = block.ends[i] + 1;
    }
    return values;
}

}  // namespace cleave
