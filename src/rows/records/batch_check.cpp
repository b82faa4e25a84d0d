#include "rows/records/batch_check.h"

#define XXH_INLINE_ALL  // compiles the hash in, instead of linking a library
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/parallel.h"
#include "cleave/error.h"
#include "rows/records/private_bytes.h"

namespace cleave {
namespace {

// How many bytes before a batch are compared.
constexpr std::size_t kReach = std::size_t{4} << 10;

// How much a thread compares at a time, and how much it reads at a time if the file is not mapped.
constexpr std::size_t kPart = std::size_t{1} << 20;
constexpr std::size_t kReadPart = std::size_t{16} << 10;

// More bytes are not compared with the mapping, because its pages would count as memory of this process.
constexpr std::size_t kMostMapped = std::size_t{64} << 20;

}  // namespace

bool BatchCheck::is_same(std::uint64_t offset, std::span<const std::uint8_t> bytes, bool is_mapped) const {
    const auto mapped = is_mapped ? input_.blob().mapped(offset, bytes.size()) : std::span<const std::uint8_t>();
    if (!mapped.empty()) return std::memcmp(mapped.data(), bytes.data(), bytes.size()) == 0;
    std::array<std::uint8_t, kReadPart> read;
    while (!bytes.empty()) {
        const auto part = std::span(read).first(std::min(read.size(), bytes.size()));
        const auto here = is_mapped ? input_.blob().mapped(offset, part.size()) : std::span<const std::uint8_t>();
        if (here.empty()) input_.blob().read(offset, part);
        const std::uint8_t* const wanted = here.empty() ? part.data() : here.data();
        if (std::memcmp(wanted, bytes.data(), part.size()) != 0) return false;
        offset += part.size();
        bytes = bytes.subspan(part.size());
    }
    return true;
}

void BatchCheck::compare(std::uint64_t offset, std::span<const std::uint8_t> bytes, unsigned threads) const {
    if (!is_needed_ || bytes.empty()) return;
    const bool is_mapped = may_map_ && bytes.size() <= kMostMapped;
    parallel_for((bytes.size() + kPart - 1) / kPart, threads, [&](std::size_t i) {
        const auto part = bytes.subspan(i * kPart, std::min(kPart, bytes.size() - i * kPart));
        if (!is_same(offset + i * kPart, part, is_mapped)) throw InputChangedError();
    });
}

// Notes the bytes before `offset` as seen by one of the two ranges that meet there.
void BatchCheck::meet(std::uint64_t offset, std::span<const std::uint8_t> before) {
    const std::uint64_t hash = XXH3_64bits(before.data(), before.size());
    const MutexLock lock(mutex_);
    const auto [found, is_first] = met_.try_emplace(offset, hash);
    if (is_first) return;
    if (found->second != hash) throw InputChangedError();
    met_.erase(found);
}

BatchTrail::BatchTrail(BatchCheck& check, std::uint64_t offset, std::span<const std::uint8_t> before)
    : check_(check), offset_(offset) {
    if (!check.is_needed_) return;
    const auto reach = static_cast<std::size_t>(std::min<std::uint64_t>(kReach, offset));
    before_.resize(reach - std::min(reach, before.size()));
    if (!before_.empty()) check.input_.blob().read(offset - reach, before_);
    keep(before);
    check.meet(offset, before_);
}

void BatchTrail::take(std::uint64_t size, std::span<const std::uint8_t> last) {
    if (!check_.is_needed_) return;
    check_.input_.throw_if_changed();
    check_.compare(offset_ - before_.size(), before_);
    keep(last);
    offset_ += size;
}

std::span<const std::uint8_t> BatchTrail::last_of(std::span<const std::uint8_t> batch) {
    return batch.last(std::min(batch.size(), kReach));
}

void BatchTrail::end() {
    if (check_.is_needed_) check_.meet(offset_, before_);
}

void BatchTrail::keep(std::span<const std::uint8_t> bytes) {
    const auto last = last_of(bytes);
    const std::size_t kept = std::min(before_.size(), kReach - last.size());
    before_.erase(before_.begin(), before_.end() - static_cast<std::ptrdiff_t>(kept));
    before_.insert(before_.end(), last.begin(), last.end());
}

}  // namespace cleave
