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
        // `records` may be null if nothing is asked. Its first question is about a record at or after `from`.
        Cursor(const RareRecords* records, std::uint64_t from) {
            if (records == nullptr) return;
            end_ = records->offsets_.data() + records->offsets_.size();
            next_ = std::lower_bound(records->offsets_.data(), end_, from);
        }

        bool has(std::uint64_t offset) {
            while (next_ != end_ && *next_ < offset) ++next_;
            return next_ != end_ && *next_ == offset;
        }

    private:
        const std::uint64_t* next_ = nullptr;
        const std::uint64_t* end_ = nullptr;
    };

    std::size_t size() const { return offsets_.size(); }

private:
    std::vector<std::uint64_t> offsets_;
};

}  // namespace cleave
