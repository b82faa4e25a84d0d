// Keys and their numbers: a hash table with open addressing. Keys are numbered in the order in which they come. Knows
// no columns.
//
//   slots_   tag = the low half of the hash, and the number of the key + 1; 0: free. A search begins at slot
//            tag % size and goes on to the next slot; only where the tags are equal it looks at the key.
//   keys_    views of the bytes, which lie in chunks that never move
//
// About 16 bytes a key, 9 to 18 for its slot, and its bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "cleave/memory.h"

namespace cleave {

// For one thread at a time.
class KeyTable {
public:
    // Numbers are below this.
    static constexpr std::uint32_t kMostKeys = 0xFFFF'FFFE;

    // Of no keys, to be assigned to.
    KeyTable() = default;
    // Keys lie in memory of the manager, which is not null.
    explicit KeyTable(std::shared_ptr<MemoryManager> memory);

    // The number of the key; a new one gets the next number. Equal keys have equal hashes. At most kMostKeys keys.
    // Throws MemoryError.
    std::uint32_t find_or_add(std::uint64_t hash, std::string_view key);

    // To be called some time before find_or_add().
    void prefetch(std::uint64_t hash) const {
        __builtin_prefetch(&slots_[static_cast<std::uint32_t>(hash) & (slots_.size() - 1)]);
    }

    std::size_t size() const { return keys_.size(); }
    // Valid as long as the table.
    std::string_view key(std::uint32_t number) const {
        return {reinterpret_cast<const char*>(keys_[number].data), keys_[number].size};
    }

    // No key will be looked for any more.
    void release_slots();

private:
    struct Slot {
        std::uint32_t tag;
        std::uint32_t number;  // + 1
    };
    struct Key {
        const std::uint8_t* data;
        std::size_t size;
    };

    const std::uint8_t* keep(std::string_view key);
    void grow();

    std::vector<Slot> slots_;  // their number is a power of two
    std::vector<Key> keys_;
    std::shared_ptr<MemoryManager> memory_;
    std::vector<Memory> chunks_;
    std::uint8_t* free_ = nullptr;  // of the last chunk
    std::size_t left_ = 0;
};

}  // namespace cleave
