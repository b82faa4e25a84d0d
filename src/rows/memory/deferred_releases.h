// Postpones giving back released memory, because that costs a system call or makes a device wait.
//
//   add     marks a block as released; it is then pending
//   flush   gives back all pending blocks. It is due when more than kMostPending blocks are pending, or more than
//           kMostShare of the memory that they belong to. Between begin() and end() it is postponed, except when memory
//           runs out
//
// The limits are the ones Numba's memory manager uses (https://numba.readthedocs.io/en/stable/cuda/memory.html). Not
// thread-safe: the owning manager holds a lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace cleave {

// `Block` has `Block* next_pending` and `std::size_t held`, its size in bytes. The owning manager keeps ownership of
// the blocks.
template <class Block>
class DeferredReleases {
public:
    static constexpr std::size_t kMostPending = 10;
    static constexpr std::uint64_t kMostShare = 20;  // percent

    void add(Block& block) noexcept {
        block.next_pending = std::exchange(first_, &block);
        ++count_;
        size_ += block.held;
    }

    // `size` is the size in bytes of the memory that the blocks belong to.
    bool is_due(std::uint64_t size) const noexcept {
        return depth_ == 0 && (count_ > kMostPending || size_ > size / 100 * kMostShare);
    }
    bool is_empty() const noexcept { return first_ == nullptr; }
    // How many bytes are pending.
    std::uint64_t size() const noexcept { return size_; }

    // Calls give_back(block) for each pending block.
    template <class GiveBack>
    void flush(const GiveBack& give_back) noexcept {
        count_ = 0;
        size_ = 0;
        while (first_ != nullptr) give_back(*std::exchange(first_, first_->next_pending));
    }

    void begin() noexcept { ++depth_; }
    // Returns false if there was no matching begin().
    bool end() noexcept {
        if (depth_ == 0) return false;
        --depth_;
        return true;
    }

private:
    Block* first_ = nullptr;
    std::size_t count_ = 0;
    std::uint64_t size_ = 0;
    std::size_t depth_ = 0;
};

}  // namespace cleave
