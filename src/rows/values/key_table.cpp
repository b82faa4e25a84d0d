#include "rows/values/key_table.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

namespace cleave {
namespace {

constexpr std::size_t kFirstSlots = 64;
constexpr std::size_t kFirstChunk = std::size_t{4} << 10;
constexpr std::size_t kDoublings = 8;  // how many times the size of a chunk may double

}  // namespace

KeyTable::KeyTable(std::shared_ptr<MemoryManager> memory) : slots_(kFirstSlots), memory_(std::move(memory)) {}

std::uint32_t KeyTable::find_or_add(std::uint64_t hash, std::string_view key) {
    const auto tag = static_cast<std::uint32_t>(hash);
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = tag & mask;
    for (; slots_[at].number != 0; at = (at + 1) & mask) {
        if (slots_[at].tag != tag) continue;
        const Key& other = keys_[slots_[at].number - 1];
        if (other.size == key.size() && (key.empty() || std::memcmp(other.data, key.data(), key.size()) == 0)) {
            return slots_[at].number - 1;
        }
    }
    assert(keys_.size() < kMostValues);
    keys_.push_back({keep(key), key.size()});
    slots_[at] = {tag, static_cast<std::uint32_t>(keys_.size())};
    if (keys_.size() > slots_.size() / 8 * 7) grow();
    return static_cast<std::uint32_t>(keys_.size() - 1);
}

void KeyTable::release_slots() { slots_ = std::vector<Slot>(); }

const std::uint8_t* KeyTable::keep(std::string_view key) {
    if (key.empty()) return nullptr;
    if (key.size() > left_) {
        const std::size_t size = std::max(kFirstChunk << std::min(chunks_.size(), kDoublings), key.size());
        chunks_.push_back(memory_->allocate({.size = size, .flags = CLEAVE_MEMORY_SECRET}));
        free_ = chunks_.back().data();
        left_ = size;
    }
    std::uint8_t* const kept = free_;
    std::memcpy(kept, key.data(), key.size());
    free_ += key.size();
    left_ -= key.size();
    return kept;
}

void KeyTable::grow() {
    std::vector<Slot> slots(slots_.size() * 2);
    const std::size_t mask = slots.size() - 1;
    for (const Slot& slot : slots_) {
        if (slot.number == 0) continue;
        std::size_t at = slot.tag & mask;
        while (slots[at].number != 0) at = (at + 1) & mask;
        slots[at] = slot;
    }
    slots_ = std::move(slots);
}

}  // namespace cleave
