#include "rows/values/key_share.h"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>

#include "base/too_long.h"
#include "cleave/memory.h"
#include "rows/records/batch_loop.h"
#include "rows/records/private_bytes.h"

namespace cleave {
namespace {

// How many keys ahead of the lookup to prefetch the slots of the table.
constexpr std::size_t kAhead = 16;

class TooManyKeys : public std::exception {};

}  // namespace

// The consumer of a single-threaded loop over batches. When work() begins, all earlier batches have been emitted and
// were sound. So work() may put what it reads straight into the share, provided that the batch itself is sound.
class KeyShare::Reader {
public:
    // `mark` belongs to the first record, whose number is `record`.
    Reader(KeyShare& share, const KeyQuestion& question, std::span<const std::uint8_t> mark, std::uint64_t record)
        : share_(share),
          question_(question),
          mark_(mark),
          record_(record),
          keys_(question.index.dialect(), question.columns, question.by.accepts_missing, question.seed,
                question.memory) {
        const RecordIndex& index = question.index;
        if (question.make_rewriter) {
            rewriter_ = question.make_rewriter();
        } else {
            fields_.emplace(index.dialect(), index.kernel(), Reading::kByDialect, 0, question.memory);
        }
    }

    void work(const Batch& batch) {
        const Cancellation* const cancellation = question_.index.cancellation();
        if (cancellation != nullptr) cancellation->throw_if_requested();
        if (batch.is_cut && !rewriter_) throw_too_long(kMaxRecordLimit, batch.place);
        records_ = 0;
        Place place = batch.place;
        for (auto rest = batch.bytes; !rest.empty();) {
            const RecordBlock block = read(rest, place, batch);
            take(block, batch.is_exact);
            rest = rest.subspan(block.bytes.size());
            place = {place.offset + block.bytes.size(), place.record + block.record_count()};
        }
    }

    std::uint64_t emit(Place) const { return records_; }

    // Handles the byte order mark of an input that contains nothing else. The mark counts as one record.
    void take_mark() {
        const RecordKey key{{}, hash_of_key({}, question_.seed)};
        share_.take(question_.by, question_.router, question_.joins, {&key, 1}, record_,
                    [&](std::size_t r) { return r == 0 ? 0 : mark_.size(); });
        share_.size = mark_.size();
    }

private:
    // Reads all records of a guessed batch. In an exact batch, reads only the records before the first bad one.
    RecordBlock read(std::span<const std::uint8_t> bytes, Place place, const Batch& batch) {
        RecordBlock block;
        if (rewriter_ && batch.is_exact) {
            block = rewriter_->read_sound(bytes, place, !batch.is_cut);
            if (block.record_count() == 0) throw_too_long(kMaxRecordLimit, place);
        } else if (rewriter_) {
            block = rewriter_->read(bytes, place, true);
            if (!batch.is_last && block.ends.back() == bytes.size()) throw DoubtfulBatch();
        } else {
            block = fields_->read(bytes, place, batch.is_exact || batch.is_last);
            if (block.bytes.size() != bytes.size()) throw DoubtfulBatch();
        }
        return block;
    }

    // If this throws for a guessed batch, nothing has been added to the share.
    void take(const RecordBlock& block, bool is_exact) {
        std::exception_ptr thrown;
        try {
            keys_.read(block);
        } catch (const InputError&) {
            if (!is_exact) throw;
            thrown = std::current_exception();  // rethrown once the records before the bad one have been added
        }
        const std::size_t count = block.record_count();
        if (rewriter_) {
            rewriter_->clear();
            rewriter_->append(mark_);
            rewriter_->write(block);
            const auto written = rewriter_->written();
            const auto begins = rewriter_->starts();
            share_.take(question_.by, question_.router, question_.joins, keys_.keys(), record_, [&](std::size_t r) {
                return share_.size + (r == 0 ? 0 : r < count ? begins[r] : written.size());
            });
            question_.written->write_at(share_.origin + share_.size, written);
            share_.size += written.size();
        } else {
            const std::uint64_t done = mark_.size() + block.bytes.size();
            share_.take(question_.by, question_.router, question_.joins, keys_.keys(), record_, [&](std::size_t r) {
                return share_.size + (r == 0 ? 0 : r < count ? mark_.size() + block.rows[r].begin : done);
            });
            share_.size += done;
        }
        mark_ = {};
        record_ += count;
        records_ += count;
        if (thrown) std::rethrow_exception(thrown);
    }

    KeyShare& share_;
    const KeyQuestion& question_;
    std::span<const std::uint8_t> mark_;  // empty once taken
    std::uint64_t record_;                // the number of the next record
    std::uint64_t records_ = 0;           // how many records the batch has
    KeyReader keys_;
    std::optional<FieldReader> fields_;
    std::unique_ptr<RecordRewriter> rewriter_;  // either this or fields_
};

void KeyShare::read(const KeyQuestion& question, Boundary from, Boundary to) {
    const RecordIndex& index = question.index;
    keys = KeyTable(question.memory);
    if (!question.make_rewriter) origin = from.offset;
    records.resize(question.router.piece_count());
    if (from.offset == to.offset) return;
    // A byte order mark is not part of a field. It belongs to the first record.
    const std::uint64_t lead = std::min(index.lead().size, to.offset);
    PrivateBytes of_mark(question.memory);
    const auto mark = of_mark.read(index.blob(), from.offset, lead - std::min(from.offset, lead));
    const BlobRange range{from.offset + mark.size(), to.offset - from.offset - mark.size()};
    const std::size_t batch_size = std::min<std::uint64_t>(kBlockSize, index.block_size());
    BatchLoop loop(index.blob(), range, from.record, index.dialect(), index.kernel(), BatchAccess::kMapping,
                   {batch_size, kMaxRecordLimit, nullptr, question.memory});
    const auto make = [&] { return Reader(*this, question, mark, from.record); };
    try {
        if (range.size == 0) return make().take_mark();
        loop.run(1, make);
    } catch (const InputError&) {
        fault = std::current_exception();
        return;
    } catch (const TooManyKeys&) {
        return;
    }
    if (loop.at().record != to.record) throw InputChangedError();
}

// Takes consecutive records. `record` is the number of the first one, and record r begins at start_of(r), counted from
// the start of the share. Throws TooManyKeys.
template <class StartOf>
void KeyShare::take(const ByValue& by, const Router& router, bool joins, std::span<const RecordKey> of_block,
                    std::uint64_t record, const StartOf& start_of) {
    const bool has_fixed_pieces = router.has_fixed_pieces();
    for (std::size_t r = 0; r < of_block.size(); ++r) {
        std::uint32_t key = 0;
        if (has_fixed_pieces) {
            key = router.piece_of(of_block[r].hash, record + r);
        } else {
            if (r + kAhead < of_block.size()) keys.prefetch(of_block[r + kAhead].hash);
            key = keys.find_or_add(of_block[r].hash, of_block[r].bytes);
            if (key == records.size()) {
                records.emplace_back();
                if (keys.size() > by.max_values) throw TooManyKeys();
            }
        }
        const std::uint64_t start = start_of(r);
        const std::uint64_t bytes = start_of(r + 1) - start;
        KeyRecords& of_key = records[key];
        if (of_key.records == 0) starts.append({key, start, record + r});
        ++of_key.records;
        of_key.length += bytes;
        if (route.append({key, static_cast<std::uint32_t>(bytes)}, joins)) ++of_key.entries;
    }
}

KeyShares::KeyShares(const ByValue& by, bool joins, std::uint64_t origin, std::shared_ptr<MemoryManager> memory)
    : by_(by), router_(by, 0), joins_(joins), memory_(std::move(memory)) {
    shares_.emplace_back().origin = origin;
    part();
}

void KeyShares::take(std::span<const RecordKey> keys, std::span<const std::uint64_t> starts, std::uint64_t size) {
    KeyShare& share = shares_.back();
    try {
        if (!is_over_) {
            share.take(by_, router_, joins_, keys, records_,
                       [&](std::size_t r) { return share.size + (r < starts.size() ? starts[r] : size); });
        }
    } catch (const TooManyKeys&) {
        is_over_ = true;
    }
    share.size += size;
    records_ += starts.size();
}

void KeyShares::part() {
    if (is_over_) return;
    const std::uint64_t origin = shares_.back().origin + shares_.back().size;
    KeyShare& share = shares_.back().size == 0 ? shares_.back() : shares_.emplace_back();
    share.origin = origin;
    share.keys = KeyTable(memory_);
    share.records.resize(router_.piece_count());
}

}  // namespace cleave
