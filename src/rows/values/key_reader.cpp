#define XXH_INLINE_ALL  // compiles the hash in; no library is linked
#include "rows/values/key_reader.h"

#include <xxhash.h>

#include <cstring>
#include <utility>

#include "cleave/memory.h"

namespace cleave {
std::uint64_t hash_of_key(std::string_view key, std::uint64_t seed) {
    return XXH3_64bits_withSeed(key.data(), key.size(), seed);
}

std::string_view value_in_key(std::string_view key, std::size_t column, std::size_t columns) {
    if (columns == 1) return key;
    for (;; --column) {
        std::uint64_t size = 0;
        std::memcpy(&size, key.data(), kSizeOfSize);
        key.remove_prefix(kSizeOfSize);
        if (column == 0) return key.substr(0, static_cast<std::size_t>(size));
        key.remove_prefix(static_cast<std::size_t>(size));
    }
}

KeyReader::KeyReader(const Dialect& dialect, std::span<const KeyColumn> columns, bool accepts_missing,
                     std::uint64_t seed, std::shared_ptr<MemoryManager> memory)
    : seed_(seed), copies_(std::move(memory)) {
    for (const KeyColumn& column : columns) fields_.emplace_back(dialect, column, accepts_missing);
}

void KeyReader::read(const RecordBlock& block) {
    read(block.record_count(), block.bytes.size(),
         [&](std::size_t r, std::size_t i) { return fields_[i].raw(block, r); });
}

std::uint64_t KeyReader::copy(const KeyField& field, Value raw, std::uint8_t* to) {
    Value value{};
    if (!field.view(raw, value)) return field.write(raw, to);
    if (value.size > 0) std::memcpy(to, value.data, value.size);
    return value.size;
}

}  // namespace cleave
