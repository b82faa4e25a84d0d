// Finds where the value of a column changes from one record to the next. Reads only the records needed for the answer.
// Knows nothing about pieces.
//
// All records of a run have the same value. So instead of comparing neighbours, a search compares every record with
// that one value.
//
//   first change at or after a boundary:   the first record from there on whose value differs from the value of the
//                                          record before the boundary
//   last change at or before a boundary:   the end of the last record before it whose value differs from the value of
//                                          the record at the boundary
//
// Nearby records are searched by one thread. Farther away, the input is divided into slices for all threads, and the
// first slice in which a record is found has the answer. Slices grow, so a long run starts threads only a few times.
#include <algorithm>
#include <exception>
#include <memory>
#include <vector>

#include "base/parallel.h"
#include "cleave/memory.h"
#include "cleave/plan.h"
#include "core/scan/cut_rule.h"
#include "rows/values/index_columns.h"
#include "rows/values/key_field.h"
#include "rows/values/key_search.h"

namespace cleave {
namespace {

// A change is a boundary between two records with different values. Members throw
// InputError for a record without the field, unless Together::accepts_missing is set; InputChangedError if the bytes
// differ from those that were indexed; what copy_bytes() throws; and Cancelled if cancellation is requested through the
// object given to the index. Long runs are searched with as many threads as the index was created with.
class EqualNeighbours final : public CutRule {
public:
    // `index` and `locator` must outlive this object, and the locator must belong to the index. Throws RuleError if
    // there is no such column, and InputError if the record with the column names is too long.
    EqualNeighbours(const RecordIndex& index, Locator& locator, const Together& together, bool has_header);
    ~EqualNeighbours() override;

    bool is_change(Boundary at) override;
    Boundary first_change(Boundary at) override;
    Boundary change_within(Boundary from, Boundary limit) override;

private:
    struct Helper;

    Boundary first_other(Boundary run, Boundary at);
    Boundary slice_end(Boundary begin, std::uint64_t size);
    Boundary first_other_far(Boundary run, Boundary at);

    const RecordIndex& index_;
    Locator& locator_;
    KeyField key_;
    std::shared_ptr<MemoryManager> memory_;
    KeySearch search_;
    std::vector<std::unique_ptr<Helper>> helpers_;  // created when needed
};

constexpr std::uint64_t kNear = std::uint64_t{1} << 20;
constexpr std::uint64_t kFirstSlice = std::uint64_t{1} << 20;
constexpr std::uint64_t kLargestSlice = std::uint64_t{8} << 20;

}  // namespace

// The state of one of the threads that search far away.
struct EqualNeighbours::Helper {
    Helper(const RecordIndex& index, const KeyField& key, const std::shared_ptr<MemoryManager>& memory)
        : locator(index), search(index, locator, key, memory) {}

    Locator locator;
    KeySearch search;
    Boundary begin;  // where its slice begins
    Boundary end;
    std::optional<Boundary> found;
    std::exception_ptr fault;  // InputError
};

EqualNeighbours::EqualNeighbours(const RecordIndex& index, Locator& locator, const Together& together, bool has_header)
    : index_(index),
      locator_(locator),
      key_(index.dialect(), find_key_column(together, columns_of(index, locator, has_header)),
           together.accepts_missing),
      memory_(MemoryManager::or_default(index.memory())),
      search_(index, locator, key_, memory_) {}

EqualNeighbours::~EqualNeighbours() = default;

std::unique_ptr<CutRule> make_cut_rule(const RecordIndex& index, Locator& locator, const Together& together,
                                       bool has_header) {
    return std::make_unique<EqualNeighbours>(index, locator, together, has_header);
}

// Returns the first record at or after `at` whose value differs from the value of the record at `run`. Precondition:
// search_ has taken that value.
Boundary EqualNeighbours::first_other(Boundary run, Boundary at) {
    const Boundary end = index_.end();
    const bool is_near = index_.threads() == 1 || end.offset - at.offset <= kNear;
    const Boundary near = is_near ? end : locator_.at_or_after(at.offset + kNear);
    if (const auto found = search_.first_other(at, near)) return *found;
    return near == end ? end : first_other_far(run, near);
}

// Returns the end of a slice of about `size` bytes. Prefers the start of an index block, where the boundary is quick to
// find.
Boundary EqualNeighbours::slice_end(Boundary begin, std::uint64_t size) {
    const Boundary end = index_.end();
    if (end.offset - begin.offset <= size) return end;
    const std::uint64_t offset = begin.offset + size;
    const std::uint64_t of_block = offset - offset % index_.block_size();
    const Boundary found = locator_.at_or_after(of_block > begin.offset ? of_block : offset);
    if (found.offset <= begin.offset) throw InputChangedError();
    return found;
}

Boundary EqualNeighbours::first_other_far(Boundary run, Boundary at) {
    const Boundary end = index_.end();
    while (helpers_.size() < index_.threads()) {
        helpers_.push_back(std::make_unique<Helper>(index_, key_, memory_));
    }
    for (const auto& helper : helpers_) helper->search.take_value(run);
    for (std::uint64_t slice = kFirstSlice; at.offset < end.offset; slice = std::min(slice * 2, kLargestSlice)) {
        for (const auto& helper : helpers_) {
            helper->begin = at;
            helper->end = at = slice_end(at, slice);
        }
        parallel_for(helpers_.size(), index_.threads(), [this](std::size_t i) {
            Helper& helper = *helpers_[i];
            helper.fault = nullptr;
            try {
                helper.found = helper.search.first_other(helper.begin, helper.end);
            } catch (const InputError&) {  // matters only if nothing is found before it
                helper.fault = std::current_exception();
            }
        });
        for (const auto& helper : helpers_) {
            if (helper->fault) std::rethrow_exception(helper->fault);
            if (helper->found) return *helper->found;
        }
    }
    return end;
}

bool EqualNeighbours::is_change(Boundary at) {
    search_.take_value(at);
    return !search_.has_value(locator_.start_of(at.record - 1), at);
}

Boundary EqualNeighbours::first_change(Boundary at) {
    const Boundary before = locator_.start_of(at.record - 1);
    search_.take_value(before);
    return first_other(before, at);
}

Boundary EqualNeighbours::change_within(Boundary from, Boundary limit) {
    search_.take_value(limit);
    if (const auto change = search_.after_last_other(from, limit)) return *change;
    return first_other(limit, limit);
}

}  // namespace cleave
