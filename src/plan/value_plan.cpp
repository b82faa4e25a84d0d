// Measure, scan, place:
//
//   measure   each thread reads the keys of one share of the records. It numbers them as they come, sums up their
//             records, and writes a route: for each record the number of its key, and its size.
//   scan      the shares' keys, in order, become pieces, numbered in order of their first records. Within a piece the
//             entries of share 1 come first, then those of share 2, and so on: a prefix sum gives each share its place
//             in the list of each piece.
//   place     each thread follows the route of a share, and writes the range of each entry to the next place in the
//             list of its piece.
//
// A limit on records or bytes depends on all records before: one thread follows all routes, in order, before the last
// step, and replaces keys by pieces.
//
// Memory: for each thread and key about 70 bytes and the key, and for each key about 60 bytes. Routes, 8 bytes an
// entry, and lists, 16 bytes an entry, lie in temporary files when they are large.
#include "plan/value_plan.h"

#include <algorithm>
#include <exception>
#include <limits>
#include <random>

#include "base/parallel.h"
#include "cleave/memory.h"
#include "io/fd.h"
#include "plan/contract.h"
#include "plan/index_columns.h"
#include "plan/key_share.h"
#include "plan/limits.h"

namespace cleave {
namespace {

// A smaller share is not worth a thread.
constexpr std::uint64_t kLeastShare = std::uint64_t{256} << 10;

std::vector<Boundary> share_bounds(const RecordIndex& index, Locator& locator, Boundary body) {
    const std::uint64_t size = index.end().offset - body.offset;
    const std::uint64_t least = std::min<std::uint64_t>(kLeastShare, index.block_size());
    // A share may have a temporary file.
    const std::uint64_t most =
        std::min<std::uint64_t>(index.threads(), std::max<std::uint64_t>(descriptor_limit() / 2, 1));
    const std::uint64_t count = std::clamp<std::uint64_t>(size / least, 1, most);
    std::vector<Boundary> bounds{body};
    for (std::uint64_t i = 1; i < count; ++i) {
        bounds.push_back(locator.at_or_after(body.offset + size / count * i));
    }
    bounds.push_back(index.end());
    return bounds;
}

// Another one each time. The plan does not depend on it: keys are numbered as they come.
std::uint64_t random_seed() {
    std::random_device source;
    return std::uint64_t{source()} << 32 | source();
}

}  // namespace

std::string_view ValuePlan::value(std::size_t key, std::size_t column) const {
    return value_in_key(keys_.key(static_cast<std::uint32_t>(key)), column, columns_.size());
}

std::vector<std::string> ValuePlan::values_of(std::uint64_t number) const {
    std::vector<std::string> values;
    if (key_count() == 0) return values;
    const std::size_t key = place_of(number).key;
    for (std::size_t c = 0; c < columns_.size(); ++c) values.emplace_back(value(key, c));
    return values;
}

std::vector<KeyColumn> key_columns_of(const RecordIndex& index, const Policy& policy) {
    Locator locator(index);
    return find_key_columns(policy.by.value(), columns_of(index, locator, policy.header != HeaderMode::kNone));
}

ValuePlan::ValuePlan(const RecordIndex& index, const Policy& policy)
    : ValuePlan(index, policy, key_columns_of(index, checked(policy))) {}

ValuePlan::ValuePlan(const RecordIndex& index, const Policy& policy, std::span<const KeyColumn> columns,
                     const Rewriting* rewriting)
    : policy_(&checked(policy)) {
    const bool has_limits = policy.records || policy.size;
    Locator locator(index);
    const bool has_header = policy.header != HeaderMode::kNone;
    const Boundary body = locator.start_of(has_header ? index.findings().header_records : 0);
    header_size_ = rewriting != nullptr ? rewriting->header_size : body.offset;
    first_record_ = body.record;
    check_header_size(policy, header_size_);
    for (const KeyColumn& column : columns) columns_.push_back(column.header);

    const std::vector<Boundary> bounds = share_bounds(index, locator, body);
    std::vector<KeyShare> shares(bounds.size() - 1);
    const std::uint64_t seed = policy.by->buckets ? 0 : random_seed();
    KeyQuestion question{index, columns, policy.by.value(), seed, !has_limits, MemoryManager::or_default(nullptr)};
    if (rewriting != nullptr) {
        question.stage = &rewriting->stage;
        question.written = &rewriting->written;
    }
    parallel_for(shares.size(), index.threads(), [&](std::size_t i) {
        // A record never becomes more than twice as long by losing columns ("," becomes two quotes): shares do not
        // overlap.
        if (rewriting != nullptr) shares[i].origin = header_size_ + 2 * (bounds[i].offset - body.offset);
        shares[i].read(question, bounds[i], bounds[i + 1]);
    });

    std::vector<std::vector<std::uint32_t>> pieces_of(shares.size());
    merge(shares, seed, pieces_of);
    if (has_limits) {
        divide(shares, pieces_of);
    } else {
        list_parts(shares, pieces_of, index.threads());
    }
}

void ValuePlan::list_parts(std::span<KeyShare> shares, std::span<std::vector<std::uint32_t>> pieces_of,
                           unsigned threads) {
    std::vector<std::uint64_t> entries(pieces_.size());
    for (std::size_t s = 0; s < shares.size(); ++s) {
        for (std::size_t k = 0; k < pieces_of[s].size(); ++k) entries[pieces_of[s][k]] += shares[s].records[k].entries;
    }
    std::vector<std::uint64_t> next = reserve_parts(entries);
    std::vector<std::vector<std::uint64_t>> next_of(shares.size());
    for (std::size_t s = 0; s < shares.size(); ++s) {
        for (std::size_t k = 0; k < pieces_of[s].size(); ++k) {
            std::uint64_t& at = next[pieces_of[s][k]];
            next_of[s].push_back(at);
            at += shares[s].records[k].entries;
        }
        pieces_of[s] = {};
        shares[s].records = {};
    }
    parallel_for(shares.size(), threads, [&](std::size_t s) { place(shares[s].route, shares[s].origin, next_of[s]); });
}

// Makes a piece of each key, and sets the piece, from 0, of each key of each share. Of all faults in the input the
// first one is thrown: a share stops at its first fault.
void ValuePlan::merge(std::span<KeyShare> shares, std::uint64_t seed, std::span<std::vector<std::uint32_t>> pieces_of) {
    const By& by = *policy_->by;
    if (by.buckets) pieces_.resize(static_cast<std::size_t>(*by.buckets), Piece{0, header_size_, 0, 1, 0});
    std::uint64_t start = header_size_;
    for (std::size_t s = 0; s < shares.size(); ++s) {
        KeyShare& share = shares[s];
        const std::size_t count = share.records.size();
        pieces_of[s].resize(count);
        if (s == 0) keys_ = std::move(share.keys);  // and their numbers
        for (std::size_t k = 0; k < count; ++k) {
            std::size_t piece = k;
            if (!by.buckets && s > 0) {
                const std::string_view key = share.keys.key(static_cast<std::uint32_t>(k));
                piece = keys_.find_or_add(hash_of_key(key, seed), key);
            }
            if (piece >= by.max_keys && !by.buckets) throw KeyLimitError(by.max_keys);
            if (piece == pieces_.size()) pieces_.emplace_back();
            pieces_of[s][k] = static_cast<std::uint32_t>(piece);
            const KeyRecords& records = share.records[k];
            Piece& whole = pieces_[piece];
            if (whole.records == 0 && records.records > 0) {
                whole.start = start + records.start;
                whole.first_record = records.first_record - first_record_ + 1;
            }
            whole.length += records.length;
            whole.records += records.records;
        }
        share.keys = KeyTable();
        start += share.size;
        if (share.fault) std::rethrow_exception(share.fault);
    }
    keys_.release_slots();
    for (std::size_t i = 0; i < pieces_.size(); ++i) pieces_[i].number = i + 1;
}

// Replaces the pieces, one for each key, by pieces within the limits.
void ValuePlan::divide(std::span<KeyShare> shares, std::span<const std::vector<std::uint32_t>> pieces_of) {
    constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
    struct Open {  // the piece of a key that records go to
        std::uint32_t piece = kNone;
        std::uint64_t before = 0;  // pieces of the key
    };
    std::vector<Open> open(pieces_.size());
    std::vector<std::uint64_t> entries;        // by piece
    std::vector<Route> routes(shares.size());  // to pieces
    pieces_.clear();
    std::uint64_t start = header_size_;
    std::uint64_t record = 0;
    for (std::size_t s = 0; s < shares.size(); ++s) {
        shares[s].route.for_each([&](RouteEntry entry) {
            const std::uint32_t key = pieces_of[s][entry.to];
            Open& of_key = open[key];
            ++record;
            if (of_key.piece == kNone || !fits(pieces_[of_key.piece], entry.size)) {
                if (pieces_.size() == By::kMostKeys) throw std::invalid_argument("plan: too many pieces");
                of_key.piece = static_cast<std::uint32_t>(pieces_.size());
                places_.push_back({key, of_key.before++});
                pieces_.push_back({pieces_.size() + 1, start, 0, record, 0});
                most_of_key_ = std::max(most_of_key_, of_key.before);
                entries.push_back(0);
            }
            Piece& piece = pieces_[of_key.piece];
            piece.length += entry.size;
            ++piece.records;
            piece.oversize = piece.length > limits_of(*policy_, piece.number, header_size_).size;
            if (routes[s].append({of_key.piece, entry.size}, true)) ++entries[of_key.piece];
            start += entry.size;
        });
        shares[s].route = Route();
    }
    std::vector<std::uint64_t> next = reserve_parts(entries);
    for (std::size_t s = 0; s < shares.size(); ++s) place(routes[s], shares[s].origin, next);
}

bool ValuePlan::fits(const Piece& piece, std::uint64_t size) const {
    const Limits limits = limits_of(*policy_, piece.number, header_size_);
    return piece.records < limits.records && piece.length <= limits.size && size <= limits.size - piece.length;
}

// Makes the lists of parts, for so many entries of each piece, with the headers in them. Returns where in parts_ the
// first entry of each piece goes.
std::vector<std::uint64_t> ValuePlan::reserve_parts(std::span<const std::uint64_t> entries) {
    first_parts_.reserve(pieces_.size() + 1);
    std::vector<std::uint64_t> next;
    next.reserve(pieces_.size());
    std::uint64_t count = 0;
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
        first_parts_.push_back(count);
        if (header_size_in(policy_->header, i + 1, header_size_) > 0) ++count;
        next.push_back(count);
        count += entries[i];
    }
    first_parts_.push_back(count);
    parts_ = ScratchMemory(count * sizeof(BlobRange));
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
        if (next[i] > first_parts_[i]) parts_.as<BlobRange>()[first_parts_[i]] = {0, header_size_};
    }
    return next;
}

// Follows a route from byte `offset` on; next[to] is where in parts_ the next entry goes.
void ValuePlan::place(const Route& route, std::uint64_t offset, std::span<std::uint64_t> next) {
    const std::span<BlobRange> parts = parts_.as<BlobRange>();
    route.for_each([&](RouteEntry entry) {
        parts[next[entry.to]++] = {offset, entry.size};
        offset += entry.size;
    });
}

}  // namespace cleave
