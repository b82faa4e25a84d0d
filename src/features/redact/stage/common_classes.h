// The classes of records that `suppress` leaves as they are: those that are large enough, by their digests. A record of
// any other class is rare. So whatever a later pass reads, even if the input has changed in the meantime, it writes
// only combinations of values that the first pass has found to be common.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "features/redact/stage/class_digester.h"

namespace cleave {

// A hash table with open addressing: a digest is in the first free slot from its own low bits on. Immutable, so any
// thread can use it. Takes 16 to 64 bytes for each class.
class CommonClasses {
public:
    // No record is rare.
    CommonClasses() = default;
    // The same, for the first pass, which makes the digests with this key.
    explicit CommonClasses(std::shared_ptr<const RunKey> key) : key_(std::move(key)) {}
    // `key` is the one that the digests were made with.
    CommonClasses(std::shared_ptr<const RunKey> key, const std::vector<ClassDigest>& digests) : key_(std::move(key)) {
        std::size_t size = 16;
        while (size / 2 < digests.size()) size *= 2;
        slots_.resize(size, kFree);
        for (const ClassDigest& digest : digests) slots_[slot_of(digest)] = digest;
    }

    // The key of the digests; may be null if no record is rare.
    const RunKey* key() const { return key_.get(); }
    // Whether this is the first pass.
    bool are_wanted() const { return key_ != nullptr && !are_known(); }
    // Whether this is the second pass, in which records can be rare.
    bool are_known() const { return !slots_.empty(); }
    // Only if classes are known. kFree itself is never found, so it counts as rare.
    bool has(const ClassDigest& digest) const { return digest != kFree && slots_[slot_of(digest)] == digest; }

private:
    static constexpr ClassDigest kFree{};

    // Where the digest is, or a free slot.
    std::size_t slot_of(const ClassDigest& digest) const {
        const std::size_t mask = slots_.size() - 1;
        std::size_t at = digest[0] & mask;
        while (slots_[at] != kFree && slots_[at] != digest) at = (at + 1) & mask;
        return at;
    }

    std::shared_ptr<const RunKey> key_;
    std::vector<ClassDigest> slots_;
};

}  // namespace cleave
