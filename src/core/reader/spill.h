// Keeps bytes for later: in memory up to a limit, and beyond that in an unlinked temporary file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cleave/function_ref.h"
#include "core/reader/fd.h"

namespace cleave {

class SpillBuffer {
public:
    static constexpr std::size_t kMaxInMemory = std::size_t{1} << 20;

    bool empty() const { return size() == 0; }
    std::uint64_t size() const { return spilled_ + memory_.size(); }

    // Throws SystemError.
    void append(std::span<const std::uint8_t> bytes);

    // Reads the bytes from `offset` on, which must be there. Throws SystemError.
    void read(std::uint64_t offset, std::span<std::uint8_t> into) const;

    // Calls `take` with all the bytes, in order, in one or more parts. Throws SystemError and whatever `take`
    // throws.
    void for_each_part(FunctionRef<void(std::span<const std::uint8_t>)> take) const;

    void clear();

private:
    Fd file_;  // holds the first `spilled_` bytes
    std::uint64_t spilled_ = 0;
    std::vector<std::uint8_t> memory_;  // the rest
};

// Like SpillBuffer, but for entries that can be copied as plain bytes.
template <class Entry>
class SpillList {
public:
    bool empty() const { return last_.empty(); }
    // The last entry, valid until the next change.
    Entry& back() { return last_.back(); }

    // Throws SystemError.
    void append(const Entry& entry) {
        if (last_.size() == kKept) {
            spilled_.append({reinterpret_cast<const std::uint8_t*>(last_.data()), last_.size() * sizeof(Entry)});
            last_.clear();
        }
        last_.push_back(entry);
    }

    // Calls take(entry) for each entry, in order. Throws SystemError and whatever `take` throws.
    template <class Take>
    void for_each(const Take& take) const {
        const auto take_all = [&](std::span<const Entry> entries) {
            for (const Entry& entry : entries) take(entry);
        };
        spilled_.for_each_part([&](std::span<const std::uint8_t> part) {
            take_all({reinterpret_cast<const Entry*>(part.data()), part.size() / sizeof(Entry)});
        });
        take_all(last_);
    }

private:
    // SpillBuffer passes on parts of kMaxInMemory bytes, which must not split an entry.
    static_assert(SpillBuffer::kMaxInMemory % sizeof(Entry) == 0);
    static_assert(alignof(Entry) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);  // the parts are aligned by `new`
    static constexpr std::size_t kKept = 4096;

    SpillBuffer spilled_;
    std::vector<Entry> last_;
};

}  // namespace cleave
