// Numbers keys in the order in which they first occur, using a hash table with open addressing. Knows nothing about
// columns.
//
//   slots_   tag = the low half of the hash, and the number of the key + 1; 0: free. A search begins at slot
//            tag % size and moves on to the next slot; it looks at a key only if the tags are equal.
//   keys_    views of the bytes, which are in chunks that never move
//
// Each key takes about 16 bytes, plus 9 to 18 bytes for its slot, plus its own bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "cleave/memory.h"

namespace cleave {

// Use from one thread at a time.
class KeyTable {
public:
    // All key numbers are below this one.
    static constexpr std::uint32_t kMostValues = 0xFFFF'FFFE;

    // An empty table, which can only be assigned to.
    KeyTable() = default;
    // Keeps keys in memory from the manager, which must not be null.
    explicit KeyTable(std::shared_ptr<MemoryManager> memory);

    // Returns the number of the key. A new key gets the next number. Equal keys must be passed with equal hashes. There
    // can be at most kMostValues keys. Throws MemoryError.
    std::uint32_t find_or_add(std::uint64_t hash, std::string_view key);

    // Call this some time before find_or_add().
    void prefetch(std::uint64_t hash) const {
        __builtin_prefetch(&slots_[static_cast<std::uint32_t>(hash) & (slots_.size() - 1)]);
    }

    std::size_t size() const { return keys_.size(); }
    // The result is valid for as long as the table exists.
    std::string_view key(std::uint32_t number) const {
        return {reinterpret_cast<const char*>(keys_[number].data), keys_[number].size};
    }

    // Call this when no more keys will be looked up.
    void release_slots();

private:
    struct Slot {
        std::uint32_t tag;
        std::uint32_t number;  // the number of the key + 1
    };
    struct Key {
        const std::uint8_t* data;
        std::size_t size;
    };

    const std::uint8_t* keep(std::string_view key);
    void grow();

    std::vector<Slot> slots_;  // the number of slots is a power of two
    std::vector<Key> keys_;
    std::shared_ptr<MemoryManager> memory_;
    std::vector<Memory> chunks_;
    std::uint8_t* free_ = nullptr;  // free bytes of the last chunk
    std::size_t left_ = 0;
};

}  // namespace cleave
