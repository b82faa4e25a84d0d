// Works in three steps: measure, scan, and either scatter or place.
//
//   measure   each thread reads the keys of one share of the records. It numbers them in order of appearance, adds up
//             their records, and writes a route: for each record, the number of its key and its size.
//   scan      the keys of the shares, in order, become pieces, numbered in the order of their first records. Within a
//             piece the records of share 1 come first, then those of share 2, and so on: a prefix sum gives each share
//             its position in each piece.
//   scatter   if there are few pieces: each thread follows the route of a share and writes each record to its piece.
//   place     if there are many pieces: each thread follows the route of a share and writes the range of each entry to
//             the next entry in the list of its piece.
//
// With a limit on records or bytes, a record's piece depends on all records before it. One thread then follows all
// routes in order before the last step, and replaces keys with pieces.
//
// Memory: in each thread, about 60 bytes per key plus the key itself; in addition, about 70 bytes per key. Routes (8
// bytes per entry), lists (16 bytes per entry) and the starts of keys are kept in temporary files when they are large.
// Buffers take up to 16 MiB.
#include "rows/values/plan_by_value.h"

#include <algorithm>
#include <exception>
#include <limits>

#include "base/parallel.h"
#include "base/random_seed.h"
#include "cleave/error.h"
#include "cleave/memory.h"
#include "core/offsets/check_arguments.h"
#include "core/offsets/limits.h"
#include "core/reader/fd.h"
#include "rows/values/index_columns.h"

namespace cleave {
namespace {

// A share smaller than this is not worth a thread.
constexpr std::uint64_t kLeastShare = std::uint64_t{256} << 10;

// The total size of the buffers of all threads that scatter.
constexpr std::size_t kBuffers = std::size_t{16} << 20;
// If buffers had to be smaller than this, gathering each piece would be faster.
constexpr std::size_t kLeastBuffer = std::size_t{16} << 10;

std::vector<Boundary> share_bounds(const RecordIndex& index, Locator& locator, Boundary body) {
    const std::uint64_t size = index.end().offset - body.offset;
    const std::uint64_t least = std::min<std::uint64_t>(kLeastShare, index.block_size());
    // A share may need two temporary files.
    const std::uint64_t most =
        std::min<std::uint64_t>(index.threads(), std::max<std::uint64_t>(descriptor_limit() / 4, 1));
    const std::uint64_t count = std::clamp<std::uint64_t>(size / least, 1, most);
    std::vector<Boundary> bounds{body};
    for (std::uint64_t i = 1; i < count; ++i) {
        bounds.push_back(locator.at_or_after(body.offset + size / count * i));
    }
    bounds.push_back(index.end());
    return bounds;
}

}  // namespace

std::string_view PlanByValue::value(std::size_t key, std::size_t column) const {
    return value_in_key(keys_.key(static_cast<std::uint32_t>(key)), column, columns_.size());
}

std::vector<std::string> PlanByValue::values_of(std::uint64_t number) const {
    std::vector<std::string> values;
    if (key_count() == 0) return values;
    const std::size_t key = piece_of_key(number).key;
    for (std::size_t c = 0; c < columns_.size(); ++c) values.emplace_back(value(key, c));
    return values;
}

std::vector<KeyColumn> key_columns_of(const RecordIndex& index, const Policy& policy) {
    Locator locator(index);
    const bool has_header = header_mode(policy.header, index.dialect()) != HeaderMode::kNone;
    return find_key_columns(policy.by.value(), columns_of(index, locator, has_header));
}

PlanByValue::PlanByValue(const RecordIndex& index, const Policy& policy)
    : PlanByValue(index, policy, key_columns_of(index, checked(policy))) {}

PlanByValue::PlanByValue(const RecordIndex& index, const Policy& policy, std::span<const KeyColumn> columns,
                         const Rewriting* rewriting)
    : policy_(&checked(policy)), threads_(index.threads()) {
    Locator locator(index);
    const bool has_header = header_mode(policy.header, index.dialect()) != HeaderMode::kNone;
    const Boundary body = locator.start_of(index.findings().records_before_data(has_header));
    header_size_ = rewriting != nullptr ? rewriting->header_size : body.offset;
    first_record_ = body.record;
    check_header_size(policy, header_size_);
    if (policy.by->buckets) check_piece_count("buckets", *policy.by->buckets, index.end().record - body.record);
    for (const KeyColumn& column : columns) columns_.push_back(column.header);

    const std::vector<Boundary> bounds = share_bounds(index, locator, body);
    std::vector<KeyShare> shares(bounds.size() - 1);
    const std::uint64_t seed = seed_for(*policy.by);
    const Router router(*policy.by, body.record);
    KeyQuestion question{
        index, columns, *policy.by, router, seed, joins(policy), MemoryManager::or_default(index.memory())};
    if (rewriting != nullptr) {
        question.make_rewriter = rewriting->make;
        question.written = &rewriting->written;
    }
    parallel_for(shares.size(), index.threads(), [&](std::size_t i) {
        // A record that loses columns never becomes more than twice as long ("," becomes two quotes), so shares do not
        // overlap.
        if (rewriting != nullptr) shares[i].origin = header_size_ + 2 * (bounds[i].offset - body.offset);
        shares[i].read(question, bounds[i], bounds[i + 1]);
    });
    make_pieces(shares, seed);
}

PlanByValue::PlanByValue(const Policy& policy, std::span<const KeyColumn> columns, Written written)
    : policy_(&checked(policy)), threads_(written.threads), header_size_(written.header_size) {
    check_header_size(policy, header_size_);
    if (policy.by->buckets) check_piece_count("buckets", *policy.by->buckets, written.shares.records());
    for (const KeyColumn& column : columns) columns_.push_back(column.header);
    std::vector<KeyShare> shares = written.shares.take_shares();
    make_pieces(shares, written.seed);
}

std::uint64_t PlanByValue::seed_for(const ByValue& by) { return by.has_fixed_pieces() ? by.seed : random_seed(); }

void PlanByValue::make_pieces(std::span<KeyShare> shares, std::uint64_t seed) {
    merge(shares, seed);
    if (!joins(*policy_)) divide();
    piece_count_ = pieces_.size();
    if (piece_count_ > kBuffers / kLeastBuffer / shares_.size()) list_parts();
}

// Turns each key into a piece. Each share stops at its first fault, so the fault thrown is the first one in the input.
void PlanByValue::merge(std::span<KeyShare> shares, std::uint64_t seed) {
    const ByValue& by = *policy_->by;
    std::size_t most = 0;
    for (KeyShare& share : shares) {
        most = std::max(most, share.records.size());
        if (&share != &shares.front()) share.keys.release_slots();
    }
    // The other shares mostly have the same keys.
    const std::size_t fixed = Router(by, 0).piece_count();
    if (fixed == 0) pieces_.reserve(std::min<std::uint64_t>(most, by.max_values));
    pieces_.resize(fixed, Piece{0, header_size_, 0, 1, 0});
    std::uint64_t start = header_size_;
    for (std::size_t s = 0; s < shares.size(); ++s) {
        KeyShare& share = shares[s];
        const std::size_t count = share.records.size();
        if (s == 0) keys_ = std::move(share.keys);  // keeps the keys' numbers
        Share& merged = shares_.emplace_back();
        merged.pieces.reserve(count);
        for (std::size_t k = 0; k < count; ++k) {
            std::size_t piece = k;
            if (fixed == 0 && s > 0) {
                const std::string_view key = share.keys.key(static_cast<std::uint32_t>(k));
                piece = keys_.find_or_add(hash_of_key(key, seed), key);
            }
            if (piece >= by.max_values && fixed == 0) throw ValueLimitError(by.max_values);
            if (piece == pieces_.size()) pieces_.emplace_back();
            merged.pieces.push_back(static_cast<std::uint32_t>(piece));
        }
        add_records(share, merged.pieces, start);
        merged.origin = share.origin;
        merged.size = share.size;
        merged.records = std::move(share.records);
        merged.route = std::move(share.route);
        start += share.size;
        share.keys = KeyTable();
        share.starts = {};
        if (share.fault) std::rethrow_exception(share.fault);
    }
    keys_.release_slots();
    for (std::size_t i = 0; i < pieces_.size(); ++i) pieces_[i].number = i + 1;
}

// Adds the records of a share, which begins at byte `start`, to the pieces of its keys.
void PlanByValue::add_records(const KeyShare& share, std::span<const std::uint32_t> pieces, std::uint64_t start) {
    share.starts.for_each([&](const KeyStart& first) {
        Piece& whole = pieces_[pieces[first.key]];
        if (whole.records > 0) return;
        whole.start = start + first.start;
        whole.first_record = first.record - first_record_ + 1;
    });
    for (std::size_t k = 0; k < pieces.size(); ++k) {
        pieces_[pieces[k]].length += share.records[k].length;
        pieces_[pieces[k]].records += share.records[k].records;
    }
}

// Replaces the pieces, one for each key, with pieces within the limits.
void PlanByValue::divide() {
    constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
    struct Open {  // the piece that records of a key go to
        std::uint32_t piece = kNone;
        std::uint32_t place = 0;   // the piece's position in Share::pieces of this share:
        std::size_t share = 0;     // the number of the share, plus 1
        std::uint64_t before = 0;  // how many pieces the key has so far
    };
    std::vector<Open> open(pieces_.size());
    pieces_.clear();
    std::uint64_t start = header_size_;
    std::uint64_t record = 0;
    for (std::size_t s = 0; s < shares_.size(); ++s) {
        Share divided{shares_[s].origin, shares_[s].size, {}, {}, {}};
        shares_[s].route.for_each([&](RouteEntry entry) {
            const std::uint32_t key = shares_[s].pieces[entry.to];
            Open& of_key = open[key];
            ++record;
            if (of_key.piece == kNone || !fits(pieces_[of_key.piece], entry.size, 1)) {
                if (pieces_.size() == ByValue::kMostValues) throw ArgumentError("plan: too many pieces");
                of_key.piece = static_cast<std::uint32_t>(pieces_.size());
                of_key.share = 0;
                pieces_of_keys_.push_back({key, of_key.before++});
                pieces_.push_back({pieces_.size() + 1, start, 0, record, 0});
                most_of_key_ = std::max(most_of_key_, of_key.before);
            }
            if (of_key.share != s + 1) {
                of_key.share = s + 1;
                of_key.place = static_cast<std::uint32_t>(divided.pieces.size());
                divided.pieces.push_back(of_key.piece);
                divided.records.emplace_back();
            }
            Piece& piece = pieces_[of_key.piece];
            piece.length += entry.size;
            ++piece.records;
            piece.oversize = !fits(piece, 0, 0);
            KeyRecords& records = divided.records[of_key.place];
            records.length += entry.size;
            if (divided.route.append({of_key.place, entry.size}, true)) ++records.entries;
            start += entry.size;
        });
        shares_[s] = std::move(divided);
    }
}

// Whether the piece stays within its limits with `size` more bytes and `records` more records.
bool PlanByValue::fits(const Piece& piece, std::uint64_t size, std::uint64_t records) const {
    return is_within(limits_of(*policy_, piece.number, header_size_), piece.length + size, piece.records + records);
}

void PlanByValue::scatter(const Blob& from, const Scatterer::Write& write, const Cancellation* cancellation) const {
    std::vector<std::uint64_t> ends;  // for each piece, the end of its bytes so far
    ends.reserve(piece_count_);
    for (std::size_t i = 0; i < piece_count_; ++i) {
        ends.push_back(header_size_in(policy_->header, i + 1, header_size_));
    }
    std::vector<std::vector<std::uint64_t>> offsets(shares_.size());  // by share, then by position in Share::pieces
    for (std::size_t s = 0; s < shares_.size(); ++s) {
        for (std::size_t i = 0; i < shares_[s].pieces.size(); ++i) {
            std::uint64_t& end = ends[shares_[s].pieces[i]];
            offsets[s].push_back(end);
            end += shares_[s].records[i].length;
        }
    }
    parallel_for(shares_.size(), threads_, [&](std::size_t s) {
        const Share& share = shares_[s];
        if (share.size == 0) return;  // its origin may be past the end of what was written
        const auto write_to = [&](std::size_t i, std::uint64_t offset, std::span<const std::uint8_t> bytes) {
            write(share.pieces[i], offset, bytes);
        };
        Scatterer scatterer(from, {share.origin, share.size}, offsets[s], kBuffers / shares_.size(), write_to,
                            cancellation);
        share.route.for_each([&](RouteEntry entry) { scatterer.take(entry.to, entry.size); });
        scatterer.finish();
    });
}

void PlanByValue::list_parts() {
    if (!can_scatter()) return;
    std::vector<std::uint64_t> next = reserve_parts();
    std::vector<std::vector<std::uint64_t>> next_of(shares_.size());
    for (std::size_t s = 0; s < shares_.size(); ++s) {
        next_of[s].reserve(shares_[s].pieces.size());
        for (std::size_t i = 0; i < shares_[s].pieces.size(); ++i) {
            std::uint64_t& at = next[shares_[s].pieces[i]];
            next_of[s].push_back(at);
            at += shares_[s].records[i].entries;
        }
        shares_[s].pieces = {};
        shares_[s].records = {};
    }
    parallel_for(shares_.size(), threads_, [&](std::size_t s) { place(shares_[s], next_of[s]); });
    shares_.clear();
}

// Makes room for the lists of parts and enters the headers. Returns, for each piece, where in parts_ its first entry
// after the header goes.
std::vector<std::uint64_t> PlanByValue::reserve_parts() {
    std::vector<std::uint64_t> next(piece_count_);  // at first, the number of entries of each piece
    for (const Share& share : shares_) {
        for (std::size_t i = 0; i < share.pieces.size(); ++i) next[share.pieces[i]] += share.records[i].entries;
    }
    first_parts_.reserve(piece_count_ + 1);
    std::uint64_t count = 0;
    for (std::size_t i = 0; i < piece_count_; ++i) {
        first_parts_.push_back(count);
        if (header_size_in(policy_->header, i + 1, header_size_) > 0) ++count;
        count += std::exchange(next[i], count);
    }
    first_parts_.push_back(count);
    parts_ = ScratchMemory(count * sizeof(BlobRange));
    for (std::size_t i = 0; i < piece_count_; ++i) {
        if (next[i] > first_parts_[i]) parts_.as<BlobRange>()[first_parts_[i]] = {0, header_size_};
    }
    return next;
}

// Follows the route of a share. next[i] is where in parts_ the next entry for position i in Share::pieces goes.
void PlanByValue::place(const Share& share, std::span<std::uint64_t> next) {
    const std::span<BlobRange> parts = parts_.as<BlobRange>();
    std::uint64_t offset = share.origin;
    share.route.for_each([&](RouteEntry entry) {
        parts[next[entry.to]++] = {offset, entry.size};
        offset += entry.size;
    });
}

}  // namespace cleave
