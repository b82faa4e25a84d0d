// Memory that is released, and that is given back later: giving it back costs a system call, or makes a device wait.
//
//   add     a block is released; it is pending
//   flush   gives back all that is pending. Due when more than kMostPending blocks are pending, or more than kMostShare
//           of the memory they belong to. It is put off between begin() and end(), but not when memory runs out
//
// The limits are those of Numba's memory manager (https://numba.readthedocs.io/en/stable/cuda/memory.html). Not safe
// for several threads: the manager that owns it holds a lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace cleave {

// `Block` has `Block* next_pending` and `std::size_t held`, its bytes. It stays the owner's.
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

    // Whether a flush is due. `size` is the memory that the blocks belong to, in bytes.
    bool is_due(std::uint64_t size) const noexcept {
        return depth_ == 0 && (count_ > kMostPending || size_ > size / 100 * kMostShare);
    }
    bool is_empty() const noexcept { return first_ == nullptr; }
    // Bytes that are pending.
    std::uint64_t size() const noexcept { return size_; }

    // Calls give_back(block) for each block that is pending.
    template <class GiveBack>
    void flush(const GiveBack& give_back) noexcept {
        count_ = 0;
        size_ = 0;
        while (first_ != nullptr) give_back(*std::exchange(first_, first_->next_pending));
    }

    void begin() noexcept { ++depth_; }
    // False without a begin().
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
