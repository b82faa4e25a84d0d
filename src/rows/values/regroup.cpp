// Gathering small parts from all over an input that is larger than memory would take one disk read per part. To avoid
// this, the parts of neighbouring pieces are first brought together:
//
//   groups     consecutive pieces of at most Regrouping::group bytes in all, or a single larger piece; each group has a
//              region of the file
//   for each window of the blob, in order:
//       read it
//       for each group, for each of its pieces: append the piece's parts that start in the window to the region
//
// Random access then stays within a window here, and within a group when the pieces are written. Afterwards, the parts
// of a piece that start in the same window are next to each other. The cost: every byte is written one more time, and
// each piece is examined once per window.
#include <algorithm>

#include "core/reader/copy.h"
#include "core/reader/read_ahead.h"
#include "rows/values/plan_by_value.h"

namespace cleave {
namespace {

constexpr std::size_t kBufferSize = std::size_t{1} << 20;

// Appends to the region of a group.
class Region {
public:
    Region(const Blob& from, TemporaryBlob& to, const Cancellation* cancellation)
        : from_(from), to_(to), cancellation_(cancellation) {}

    void begin(std::uint64_t at) { at_ = at; }

    // Returns where the part is now.
    std::uint64_t append(BlobRange part) {
        if (part.size > kBufferSize - buffer_.size()) flush();
        const std::uint64_t place = at_ + buffer_.size();
        if (part.size > kBufferSize) {
            for_each_part(from_, part, cancellation_, [this](std::span<const std::uint8_t> bytes) {
                to_.write_at(at_, bytes);
                at_ += bytes.size();
            });
        } else {
            const auto bytes = from_.lend(part.offset, static_cast<std::size_t>(part.size), lent_);
            buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
        }
        return place;
    }

    // Returns the end of the region.
    std::uint64_t flush() {
        if (cancellation_ != nullptr) cancellation_->throw_if_requested();
        to_.write_at(at_, buffer_);
        at_ += buffer_.size();
        buffer_.clear();
        return at_;
    }

private:
    const Blob& from_;
    TemporaryBlob& to_;
    const Cancellation* cancellation_;
    std::uint64_t at_ = 0;
    std::vector<std::uint8_t> buffer_;
    std::vector<std::uint8_t> lent_;
};

}  // namespace

void PlanByValue::regroup(std::span<const Piece> pieces, const Blob& from, TemporaryBlob& to, const Regrouping& sizes,
                          const Cancellation* cancellation) {
    struct Group {
        std::size_t first;
        std::size_t end;
        std::uint64_t at;  // where the next part of the group goes
    };
    std::vector<Group> groups;
    std::vector<std::uint64_t> next;  // for each piece, the part to copy next
    next.reserve(pieces.size());
    std::uint64_t at = header_size_;
    std::uint64_t size = 0;  // of the latest group
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        const bool has_header = header_size_in(policy_->header, i + 1, header_size_) > 0;
        next.push_back(first_parts_[i] + (has_header ? 1 : 0));
        if (groups.empty() || pieces[i].length > sizes.group - std::min(sizes.group, size)) {
            groups.push_back({i, i, at});
            size = 0;
        }
        groups.back().end = i + 1;
        size += pieces[i].length;
        at += pieces[i].length;
    }
    Region region(from, to, cancellation);
    region.append({0, header_size_});
    region.flush();
    const std::span<BlobRange> parts = parts_.as<BlobRange>();
    for (std::uint64_t begin = 0; begin < from.size(); begin += sizes.window) {
        const std::uint64_t end = std::min(from.size(), begin + sizes.window);
        ReadAhead(from, begin, end).wait_for(end - begin);
        for (Group& group : groups) {
            region.begin(group.at);
            for (std::size_t i = group.first; i < group.end; ++i) {
                for (; next[i] < first_parts_[i + 1] && parts[next[i]].offset < end; ++next[i]) {
                    parts[next[i]].offset = region.append(parts[next[i]]);
                }
            }
            group.at = region.flush();
        }
        from.throw_if_lost();
    }
}

}  // namespace cleave
