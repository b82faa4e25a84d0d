// Examines an input: a blob on several threads, a stream in one pass.
#include "cleave/examine.h"

#include <algorithm>
#include <utility>

#include "base/parallel.h"
#include "core/dialect/check_arguments.h"
#include "core/reader/sequential_reader.h"
#include "core/reader/stable_input.h"
#include "core/scan/comparing_walker.h"
#include "core/scan/header_finder.h"
#include "features/check/census.h"
#include "features/check/excerpt.h"
#include "features/check/json_census.h"

namespace cleave {
namespace {

using Bytes = std::span<const std::uint8_t>;

// A thread examines one chunk at a time. A chunk is one block, or several if there would otherwise be more chunks than
// this.
constexpr std::size_t kMaxChunkCount = 4096;

// How many bytes to examine between two checks for cancellation and lost bytes.
constexpr std::size_t kSliceSize = std::size_t{1} << 20;

Bytes start_of(Bytes bytes) { return bytes.first(std::min(bytes.size(), Examination::kMaxHeadSize)); }

// The part of the record that lies within the first bytes of the input.
std::vector<std::uint8_t> head_of(Bytes start, const RecordExtent& record) {
    const std::size_t begin = std::min<std::uint64_t>(start.size(), record.start.offset);
    const std::size_t end = std::min<std::uint64_t>(start.size(), record.start.offset + record.size);
    return {start.begin() + static_cast<std::ptrdiff_t>(begin), start.begin() + static_cast<std::ptrdiff_t>(end)};
}

// The meter shows the progress of the examination, not of the scan before it.
Execution without_meter(Execution execution) {
    execution.meter = nullptr;
    return execution;
}

// Examines a blob: first the header, or the first non-empty record, which says how many fields records should have;
// then the other records, on all threads.
class BlobExamination {
public:
    BlobExamination(Input& input, const Dialect& dialect, const Execution& execution, std::uint64_t max_listed)
        : cancellation_(input.cancellation()),
          execution_(execution),
          max_listed_(max_listed),
          table_(checked(dialect)),
          index_(index_records(input, dialect, without_meter(execution))),
          blob_(input.blob()),
          size_(index_.end().offset),
          body_(Locator(index_).start_of(guiding_records(index_))) {}

    Examination examine() const {
        Examination examination;
        examination.findings = index_.findings();
        if (is_json_lines(table_.dialect())) examination.json.emplace();
        if (size_ == 0) return examination;
        std::vector<std::uint8_t> buffer;
        const Bytes start = blob_.lend(0, std::min<std::uint64_t>(size_, Examination::kMaxHeadSize), buffer);
        CensusTaker head(table_, index_.lead(), max_listed_);
        const Boundary begin{0, examination.findings.preamble_records};
        auto json = json_taker(begin);
        run(head, json, begin, body_);
        examination.fields = head.fields();
        examination.header = head.header();
        examination.head = head_of(start, examination.header);
        examination.census = std::move(head).census();
        if (json) examination.json = std::move(*json).census();
        examine_body(examination);
        examination.open_quote = excerpt(examination.findings.open_quote);
        examination.divergence = excerpt(examination.findings.divergence);
        examination.stray_quote = excerpt(examination.census.stray_quotes.first);
        examination.ragged = excerpt(examination.census.ragged.first);
        return examination;
    }

private:
    struct Chunk {
        Census census;
        std::optional<JsonCensus> json;
    };

    std::optional<JsonCensusTaker> json_taker(Boundary begin) const {
        if (!is_json_lines(table_.dialect())) return std::nullopt;
        return JsonCensusTaker(table_.dialect(), begin, index_.lead(), max_listed_);
    }

    // Adds the records from body_ on to the census.
    void examine_body(Examination& examination) const {
        const std::size_t blocks = (size_ - 1) / execution_.block_size + 1;
        const std::size_t chunk_size = execution_.block_size * ((blocks - 1) / kMaxChunkCount + 1);
        std::vector<Chunk> chunks((size_ - 1) / chunk_size + 1);
        parallel_for(chunks.size(), execution_.thread_count(), [&](std::size_t i) {
            Locator locator(index_);
            const Boundary begin = locator.at_or_after(std::max<std::uint64_t>(i * chunk_size, body_.offset));
            const Boundary end = locator.at_or_after((i + 1) * chunk_size);
            if (begin.record >= end.record) return;
            CensusTaker taker(table_, begin, examination.fields, max_listed_);
            auto json = json_taker(begin);
            run(taker, json, begin, end);
            chunks[i].census = std::move(taker).census();
            if (json) chunks[i].json = std::move(*json).census();
        });
        JsonKeyCounter keys;
        if (examination.json) keys.add_all(*examination.json);
        for (Chunk& chunk : chunks) {
            append(examination.census, chunk.census, max_listed_);
            if (chunk.json) append(*examination.json, *chunk.json, max_listed_);
            if (chunk.json) keys.add_all(*chunk.json);
            chunk = {};  // frees its lists
        }
        if (examination.json) keys.finish(*examination.json);
    }

    void run(CensusTaker& taker, std::optional<JsonCensusTaker>& json, Boundary begin, Boundary end) const {
        std::vector<std::uint8_t> buffer;
        for (std::uint64_t offset = begin.offset; offset < end.offset; offset += kSliceSize) {
            if (cancellation_ != nullptr) cancellation_->throw_if_requested();
            const std::uint64_t size = std::min<std::uint64_t>(kSliceSize, end.offset - offset);
            const Bytes bytes = blob_.lend(offset, size, buffer);
            taker.feed(bytes);
            if (json) json->feed(bytes);
            blob_.throw_if_lost();
            if (execution_.meter != nullptr) execution_.meter->scanned += size;
        }
        taker.finish();
        if (json) json->finish();
        // The state machine and the kernels find the same records, unless they have read different bytes.
        if (taker.census().records != end.record - begin.record) throw InputChangedError();
    }

    std::optional<Excerpt> excerpt(const std::optional<Place>& place) const {
        if (!place) return std::nullopt;
        const std::uint64_t from = place->offset - std::min<std::uint64_t>(place->offset, kExcerptMargin);
        const std::uint64_t to = std::min<std::uint64_t>(place->offset + kExcerptMargin, size_);
        std::vector<std::uint8_t> buffer;
        return excerpt_of(blob_.lend(from, to - from, buffer), place->offset - from);
    }

    const Cancellation* cancellation_;
    Execution execution_;
    std::uint64_t max_listed_;
    CensusTable table_;
    RecordIndex index_;
    const Blob& blob_;
    std::uint64_t size_;
    Boundary body_;
};

// Examines a stream in one pass. Takes excerpts while their bytes are in memory, at every possible finding, such as an
// open quote that may still be closed, or a byte from which the quote modes differ for now.
Examination examine_stream(Input& input, const Dialect& dialect, const Execution& execution, std::uint64_t max_listed) {
    input.set_threads(execution.thread_count());
    ComparingWalker walker = walker_of(input, dialect, execution);
    const Bytes peeked = start_of(input.peek(kSniffSize));
    const std::vector<std::uint8_t> start(peeked.begin(), peeked.end());
    const CensusTable table(dialect);
    CensusTaker taker(table, walker.lead(), max_listed);
    std::optional<JsonCensusTaker> json;
    if (is_json_lines(dialect)) json.emplace(dialect, Boundary{}, walker.lead(), max_listed);
    PassingExcerpts passing;
    PassingExcerpts::Slot open_quote;
    PassingExcerpts::Slot divergence;
    PassingExcerpts::Slot stray_quote;
    PassingExcerpts::Slot ragged;
    Examination examination;
    SequentialReader reader(input, execution.meter);
    Bytes bytes;
    do {
        bytes = reader.read();
        walker.pass(bytes);
        taker.feed(bytes);
        if (json) json->feed(bytes);
        if (bytes.empty()) taker.finish();
        examination.findings = walker.findings();
        const Census& census = taker.census();
        passing.pass(bytes);
        const auto& parted = walker.parted();
        passing.take(open_quote, examination.findings.open_quote);
        passing.take(divergence, parted ? parted : examination.findings.divergence);
        passing.take(stray_quote, census.stray_quotes.first);
        passing.take(ragged, census.ragged.first);
    } while (!bytes.empty());
    examination.findings.header_records = taker.header_records();
    examination.fields = taker.fields();
    examination.header = taker.header();
    examination.census = std::move(taker).census();
    examination.head = head_of(start, examination.header);
    if (json) {
        json->finish();
        examination.json = std::move(*json).census();
    }
    examination.open_quote = open_quote.of(examination.findings.open_quote);
    examination.divergence = divergence.of(examination.findings.divergence);
    examination.stray_quote = stray_quote.of(examination.census.stray_quotes.first);
    examination.ragged = ragged.of(examination.census.ragged.first);
    return examination;
}

}  // namespace

Examination examine(Input& input, const Dialect& dialect, const Execution& execution, std::uint64_t max_listed) {
    try {
        return read_stable(input, [&] {
            return input.is_stream() ? examine_stream(input, dialect, execution, max_listed)
                                     : BlobExamination(input, dialect, execution, max_listed).examine();
        });
    } catch (const std::exception&) {
        input.rethrow();
    }
}

}  // namespace cleave
