// The records that `suppress` applies to.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace cleave {

// Records of one input, by the byte offsets at which they begin. Immutable, so any thread can use it.
class RareRecords {
public:
    RareRecords() = default;
    explicit RareRecords(std::vector<std::uint64_t> offsets) : offsets_(std::move(offsets)) {
        std::ranges::sort(offsets_);
    }

    // Answers questions about records in the order of the input.
    class Cursor {
    public:
        // Of no records.
        Cursor() = default;

        bool has(std::uint64_t offset) {
            while (next_ != end_ && *next_ < offset) ++next_;
            return next_ != end_ && *next_ == offset;
        }

    private:
        friend class RareRecords;
        Cursor(const std::uint64_t* next, const std::uint64_t* end) : next_(next), end_(end) {}

        const std::uint64_t* next_ = nullptr;
        const std::uint64_t* end_ = nullptr;
    };

    // For questions about records at or after `offset`.
    Cursor from(std::uint64_t offset) const {
        const std::uint64_t* const end = offsets_.data() + offsets_.size();
        return {std::lower_bound(offsets_.data(), end, offset), end};
    }

    std::size_t size() const { return offsets_.size(); }

private:
    std::vector<std::uint64_t> offsets_;
};

}  // namespace cleave
