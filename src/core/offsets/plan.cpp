// If pieces are limited only by a number of records, or are even shares of the bytes or records, the end of a piece
// does not depend on the pieces before it. Such ends are found in parallel: each thread takes a run of neighbouring
// pieces and has its own locator. If pieces are limited by size, or records with the same value stay together, the end
// of a piece depends on the end of the piece before it, so one thread finds these ends in order.
#include "cleave/plan.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "base/parallel.h"
#include "cleave/error.h"
#include "core/offsets/check_arguments.h"
#include "core/offsets/limits.h"
#include "core/scan/cut_rule.h"

namespace cleave {
namespace {

// The search for an aligned cut covers 1 / kWindowsInPiece of a piece.
constexpr std::uint64_t kWindowsInPiece = 100;

// How many ends are found in parallel at once. They take up 512 KiB.
constexpr std::uint64_t kEndsAtOnce = std::uint64_t{1} << 15;
// Runs of pieces per thread: enough that no thread waits long for the others.
constexpr std::uint64_t kRunsOfThread = 4;
// The minimum number of blocks of the input that the pieces of a run must span.
constexpr std::uint64_t kBlocksOfRun = 4;

// Finds the cuts of a policy.
class Cuts {
public:
    Cuts(const RecordIndex& index, const Policy& policy)
        : locator_(index),
          policy_(of_dialect(policy, index.dialect())),
          end_(index.end()),
          body_(locator_.start_of(index.findings().records_before_data(has_header()))) {
        if (policy.together) runs_ = make_cut_rule(index, locator_, *policy.together, has_header());
    }

    const Policy& policy() const { return policy_; }  // adapted to the dialect
    Boundary body() const { return body_; }

    // The end of piece `number`, under a policy whose pieces have independent ends. `from` is the end of an earlier
    // piece.
    Boundary independent_end(std::uint64_t number, Boundary from) {
        if (policy_.pieces) return after_share(number, *policy_.pieces, from);
        const std::uint64_t records = end_.record - body_.record;
        return locator_.start_of(body_.record +
                                 (number <= records / *policy_.records ? number * *policy_.records : records));
    }

    // The end of piece `number`, which starts at `from`, under limits on records and size. If the size limit ends the
    // piece, an aligned cut a little earlier is preferred.
    Boundary after_limits(Boundary from, std::uint64_t number) {
        const Limits limits = limits_of(policy_, number, body_.offset);
        const bool all_fits = limits.size >= end_.offset - from.offset;
        Boundary cut = all_fits ? end_ : locator_.at_or_before(from.offset + limits.size);
        if (cut.record <= from.record) cut = locator_.start_of(from.record + 1);
        const bool is_by_size = limits.records >= cut.record - from.record;
        if (!is_by_size) cut = locator_.start_of(from.record + limits.records);
        if (cut == end_) return cut;
        if (is_by_size && policy_.alignment != 0) {
            const std::uint64_t cap = from.offset + limits.size;
            const std::uint64_t window = std::min(*policy_.max_bytes / kWindowsInPiece, limits.size);
            const std::uint64_t first = std::max(cap - window, from.offset + 1);
            if (const auto aligned = last_aligned(aligned_starts(number + 1), first, cap + 1)) return *aligned;
        }
        return runs_ ? runs_->change_within(from, cut) : cut;
    }

    // The start of piece `number` + 1 of `pieces`: the first boundary at or after the end of the first `number` even
    // shares of the bytes, or an aligned boundary a little later. A search window is shorter than a share, so cuts are
    // in the same order as shares. `from` is where an earlier piece starts; if that is at or past the end of the
    // shares, it is the cut. This finds the many empty pieces next to a large record without looking at any bytes.
    Boundary after_share(std::uint64_t number, std::uint64_t pieces, Boundary from) {
        if (number == 0) return body_;
        if (number == pieces) return end_;
        if (policy_.balance == Balance::kRecords) return after_records(number, pieces, from);
        const std::uint64_t target = share_end(policy_, number, body_.offset, end_.offset);
        if (policy_.alignment != 0) {
            const std::uint64_t window = (end_.offset - shared_from(policy_, body_.offset)) / pieces / kWindowsInPiece;
            const auto cut = first_aligned(aligned_starts(number + 1), target, target + window + 1);
            if (cut) return *cut;
        }
        return target <= from.offset ? from : first_cut(locator_.at_or_after(target));
    }

    // Like after_share(), but with even shares of the records. If the records cannot be divided evenly, the first
    // pieces get one more each.
    Boundary after_records(std::uint64_t number, std::uint64_t pieces, Boundary from) {
        const std::uint64_t records = end_.record - body_.record;
        const std::uint64_t target = body_.record + records / pieces * number + std::min(number, records % pieces);
        return target <= from.record ? from : first_cut(locator_.start_of(target));
    }

    // Throws InputChangedError if the boundaries are not in order, which happens only if the bytes have changed. This
    // guarantees that planning ends.
    Piece piece(std::uint64_t number, Boundary from, Boundary to) const {
        if (from != to && (to.offset <= from.offset || to.record <= from.record)) throw InputChangedError();
        const std::uint64_t first = from.record - body_.record + 1;
        Piece piece{number, from.offset, to.offset - from.offset, first, to.record - from.record};
        piece.oversize = !is_within(limits_of(policy_, number, body_.offset), piece.length, piece.records);
        return piece;
    }

private:
    bool has_header() const { return policy_.header != HeaderMode::kNone; }

    // Whether a piece may start at this boundary: at any record, unless records with the same value stay together.
    bool may_cut(Boundary at) { return !runs_ || at == body_ || at == end_ || runs_->is_change(at); }

    // The first cut at or after `at`.
    Boundary first_cut(Boundary at) { return !runs_ || at == body_ || at == end_ ? at : runs_->first_change(at); }

    // The first and the last aligned cut in [from, to).
    std::optional<Boundary> first_aligned(const Grid& grid, std::uint64_t from, std::uint64_t to) {
        auto cut = locator_.first_on(grid, from, to);
        while (cut && !may_cut(*cut)) cut = locator_.first_on(grid, cut->offset + 1, to);
        return cut;
    }
    std::optional<Boundary> last_aligned(const Grid& grid, std::uint64_t from, std::uint64_t to) {
        auto cut = locator_.last_on(grid, from, to);
        while (cut && !may_cut(*cut)) cut = locator_.last_on(grid, from, cut->offset);
        return cut;
    }

    // The starts for which the body of piece `number` has the same position relative to aligned blocks in the piece as
    // in the input.
    Grid aligned_starts(std::uint64_t number) const {
        return {policy_.alignment, header_size_in(policy_.header, number, body_.offset) % policy_.alignment};
    }

    Locator locator_;
    Policy policy_;
    Boundary end_;
    Boundary body_;
    std::unique_ptr<CutRule> runs_;  // with Policy::together
};

bool has_independent_ends(Policy policy) {
    policy.alignment = 0;
    return is_by_records_alone(policy) || is_by_pieces_alone(policy);
}

// Sets `ends` to the ends of pieces `first`, `first` + 1, ... under a policy that yields `pieces` pieces with
// independent ends.
void find_ends(const RecordIndex& index, const Policy& policy, std::uint64_t pieces, Cuts& cuts, std::uint64_t first,
               std::span<Boundary> ends) {
    const auto find = [&](Cuts& own, std::size_t begin, std::size_t end) {
        Boundary last = own.body();
        for (std::size_t i = begin; i < end; ++i) ends[i] = last = own.independent_end(first + i, last);
    };
    // Each run walks its first block again, from the start of that block, so a run is worthwhile only if it spans many
    // blocks.
    const double bytes =
        static_cast<double>(index.end().offset) * static_cast<double>(ends.size()) / static_cast<double>(pieces);
    const auto worthwhile = static_cast<std::uint64_t>(bytes / static_cast<double>(kBlocksOfRun * index.block_size()));
    const auto runs =
        std::min<std::uint64_t>({ends.size(), std::uint64_t{index.threads()} * kRunsOfThread, worthwhile});
    if (index.threads() == 1 || runs < 2) return find(cuts, 0, ends.size());
    parallel_for(runs, index.threads(), [&](std::size_t run) {
        Cuts own(index, policy);
        find(own, ends.size() * run / runs, ends.size() * (run + 1) / runs);
    });
}

}  // namespace

HeaderMode header_mode(HeaderMode mode, const Dialect& dialect) {
    return dialect.header == HeaderRecord::kNone ? HeaderMode::kNone : mode;
}

std::uint64_t header_size_in(HeaderMode mode, std::uint64_t piece_number, std::uint64_t header_size) {
    switch (mode) {
        case HeaderMode::kRepeat:
        case HeaderMode::kNone: return header_size;  // the preamble alone
        case HeaderMode::kFirst: return piece_number == 1 ? header_size : 0;
        case HeaderMode::kDrop: break;
    }
    return 0;
}

std::uint64_t header_size(const RecordIndex& index, const Policy& policy) {
    const Cuts cuts(index, checked_for_ranges(policy));
    const std::uint64_t size = cuts.body().offset;
    check_header_size(cuts.policy(), size);
    return size;
}

Piece plan_piece(const RecordIndex& index, const Policy& policy, std::uint64_t number) {
    if (!checked_for_ranges(policy).pieces || number < 1 || number > *policy.pieces) {
        throw ArgumentError("plan: there is no piece of that number");
    }
    Cuts cuts(index, policy);
    const Boundary from = cuts.after_share(number - 1, *policy.pieces, cuts.body());
    return cuts.piece(number, from, cuts.after_share(number, *policy.pieces, from));
}

std::uint64_t plan_pieces(const RecordIndex& index, const Policy& wanted, FunctionRef<void(const Piece&)> take) {
    if (!take) throw ArgumentError("plan: take is an empty function");
    Cuts cuts(index, checked_for_ranges(wanted));
    const Policy& policy = cuts.policy();
    const std::uint64_t header_size = cuts.body().offset;
    check_header_size(policy, header_size);
    Boundary from = cuts.body();
    const Boundary end = index.end();
    if (policy.pieces) check_piece_count("pieces", *policy.pieces, end.record - from.record);
    if (has_independent_ends(policy) && (policy.pieces || from != end)) {
        const std::uint64_t pieces =
            policy.pieces ? *policy.pieces : (end.record - from.record - 1) / *policy.records + 1;
        std::vector<Boundary> ends;
        for (std::uint64_t found = 0; found < pieces; found += ends.size()) {
            ends.resize(std::min(pieces - found, kEndsAtOnce));
            find_ends(index, policy, pieces, cuts, found + 1, ends);
            for (std::size_t i = 0; i < ends.size(); ++i) {
                take(cuts.piece(found + i + 1, from, ends[i]));
                from = ends[i];
            }
        }
        return header_size;
    }
    if (policy.pieces) {
        for (std::uint64_t number = 1; number <= *policy.pieces; ++number) {
            const Boundary to = cuts.after_share(number, *policy.pieces, from);
            take(cuts.piece(number, from, to));
            from = to;
        }
        return header_size;
    }
    std::uint64_t number = 1;
    // A header without records becomes one piece, if it is written at all.
    if (from == end && header_size_in(policy.header, number, header_size) > 0) take(cuts.piece(number, from, end));
    for (; from.offset < end.offset; ++number) {
        const Boundary to = cuts.after_limits(from, number);
        take(cuts.piece(number, from, to));
        from = to;
    }
    return header_size;
}

}  // namespace cleave
