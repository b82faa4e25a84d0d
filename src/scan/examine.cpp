// Examining an input by the way it is read.
#include "cleave/examine.h"

#include <algorithm>
#include <utility>

#include "cleave/foreign.h"
#include "dialect/contract.h"
#include "io/mapping.h"
#include "scan/contract.h"
#include "scan/examiner.h"
#include "scan/excerpt.h"
#include "scan/parallel.h"
#include "scan/walker.h"

namespace cleave {
namespace {

using Bytes = std::span<const std::uint8_t>;

// A chunk is what is examined at a time by one thread: a block or, so that there are not more chunks than these, some.
constexpr std::size_t kMaxChunkCount = 4096;

// Bytes examined between two looks at whether there is any use in it.
constexpr std::size_t kSliceSize = std::size_t{1} << 20;

Bytes start_of(Bytes bytes) { return bytes.first(std::min(bytes.size(), Examination::kMaxHeadSize)); }

// The record, as far as it stands in the first bytes of the input.
std::vector<std::uint8_t> head_of(Bytes start, const RecordExtent& record) {
    const std::size_t begin = std::min<std::uint64_t>(start.size(), record.start.offset);
    const std::size_t end = std::min<std::uint64_t>(start.size(), record.start.offset + record.size);
    return {start.begin() + static_cast<std::ptrdiff_t>(begin), start.begin() + static_cast<std::ptrdiff_t>(end)};
}

// What is to be told of is the examination, not the scan before it.
Machine without_meter(Machine machine) {
    machine.meter = nullptr;
    return machine;
}

// Mapped bytes: the header, which says how many fields there should be, then the others by all threads.
class MappedExaminer {
public:
    MappedExaminer(Input& input, const Dialect& dialect, const Machine& machine, std::uint64_t max_listed)
        : cancellation_(input.cancellation()),
          machine_(machine),
          max_listed_(max_listed),
          table_(checked(dialect)),
          index_(index_records(input, dialect, without_meter(machine))),
          bytes_(input.bytes()),
          body_(Locator(index_).start_of(index_.findings().header_records)) {}

    Examination examine() const {
        Examination examination;
        examination.findings = index_.findings();
        if (bytes_.empty()) return examination;
        Examiner head(table_, {}, bom_size(bytes_), std::nullopt, max_listed_);
        run(head, {}, body_);
        examination.fields = head.fields();
        examination.header = head.header();
        examination.head = head_of(start_of(bytes_), examination.header);
        examination.census = std::move(head).census();
        examine_body(examination.fields, examination.census);
        examination.open_quote = excerpt(examination.findings.open_quote);
        examination.divergence = excerpt(examination.findings.divergence);
        examination.stray_quote = excerpt(examination.census.stray_quotes.first);
        examination.ragged = excerpt(examination.census.ragged.first);
        return examination;
    }

private:
    // Adds the records after the header to the census.
    void examine_body(std::uint64_t fields, Census& census) const {
        const std::size_t blocks = (bytes_.size() - 1) / machine_.block_size + 1;
        const std::size_t chunk_size = machine_.block_size * ((blocks - 1) / kMaxChunkCount + 1);
        std::vector<Census> chunks((bytes_.size() - 1) / chunk_size + 1);
        parallel_for(chunks.size(), machine_.threads, [&](std::size_t i) {
            Locator locator(index_);
            const Boundary begin = locator.at_or_after(std::max<std::uint64_t>(i * chunk_size, body_.offset));
            const Boundary end = locator.at_or_after((i + 1) * chunk_size);
            if (begin.record >= end.record) return;
            Examiner examiner(table_, begin, 0, fields, max_listed_);
            run(examiner, begin, end);
            chunks[i] = std::move(examiner).census();
        });
        for (Census& chunk : chunks) {
            append(census, chunk, max_listed_);
            chunk = {};  // frees its list
        }
    }

    void run(Examiner& examiner, Boundary begin, Boundary end) const {
        for (std::uint64_t offset = begin.offset; offset < end.offset; offset += kSliceSize) {
            if (cancellation_ != nullptr) cancellation_->throw_if_requested();
            const std::uint64_t size = std::min<std::uint64_t>(kSliceSize, end.offset - offset);
            examiner.feed(bytes_.subspan(offset, size));
            if (has_faulted(bytes_)) throw InputChangedError();
            if (machine_.meter != nullptr) machine_.meter->scanned += size;
        }
        examiner.finish();
        // The state machine and the kernels read the same records, unless they read different bytes.
        if (examiner.census().records != end.record - begin.record) throw InputChangedError();
    }

    std::optional<Excerpt> excerpt(const std::optional<Place>& place) const {
        if (!place) return std::nullopt;
        const std::uint64_t from = place->offset - std::min<std::uint64_t>(place->offset, kExcerptMargin);
        const std::uint64_t to = std::min<std::uint64_t>(place->offset + kExcerptMargin, bytes_.size());
        return excerpt_of(bytes_.subspan(from, to - from), place->offset - from);
    }

    const Cancellation* cancellation_;
    Machine machine_;
    std::uint64_t max_listed_;
    ExaminerTable table_;
    RecordIndex index_;
    Bytes bytes_;  // those of the index
    Boundary body_;
};

// A stream: in one pass. Places that may turn out to be asked for, where a quote is open or the quote rules have
// parted, are looked at while they are at hand.
Examination examine_stream(Input& input, const Dialect& dialect, const Machine& machine, std::uint64_t max_listed) {
    const Kernel& kernel = checked_kernel(machine);
    const Bytes peeked = start_of(input.peek(kSniffSize));
    const std::vector<std::uint8_t> start(peeked.begin(), peeked.end());
    refuse_foreign(start);
    const std::size_t bom = bom_size(start);
    const ExaminerTable table(checked(dialect));
    Walker walker(dialect, kernel, bom, true);
    Examiner examiner(table, {}, bom, std::nullopt, max_listed);
    PassingExcerpts passing;
    PassingExcerpts::Slot open_quote;
    PassingExcerpts::Slot divergence;
    PassingExcerpts::Slot stray_quote;
    PassingExcerpts::Slot ragged;
    Examination examination;
    Bytes bytes;
    do {
        bytes = input.read();
        walker.pass(bytes);
        examiner.feed(bytes);
        if (bytes.empty()) examiner.finish();
        if (machine.meter != nullptr) machine.meter->scanned = input.consumed();
        examination.findings = walker.findings();
        const Census& census = examiner.census();
        passing.pass(bytes);
        const auto parted = walker.position().since;
        passing.take(open_quote, examination.findings.open_quote);
        passing.take(divergence, parted ? parted : examination.findings.divergence);
        passing.take(stray_quote, census.stray_quotes.first);
        passing.take(ragged, census.ragged.first);
    } while (!bytes.empty());
    examination.findings.header_records = examiner.header_records();
    examination.fields = examiner.fields();
    examination.header = examiner.header();
    examination.census = std::move(examiner).census();
    examination.head = head_of(start, examination.header);
    examination.open_quote = open_quote.of(examination.findings.open_quote);
    examination.divergence = divergence.of(examination.findings.divergence);
    examination.stray_quote = stray_quote.of(examination.census.stray_quotes.first);
    examination.ragged = ragged.of(examination.census.ragged.first);
    return examination;
}

}  // namespace

Examination examine(Input& input, const Dialect& dialect, const Machine& machine, std::uint64_t max_listed) {
    try {
        Examination examination = input.is_mapped() ? MappedExaminer(input, dialect, machine, max_listed).examine()
                                                    : examine_stream(input, dialect, machine, max_listed);
        if (input.accept_touch() && MappedExaminer(input, dialect, machine, max_listed).examine() != examination) {
            throw InputChangedError();
        }
        input.throw_if_changed();
        return examination;
    } catch (const std::exception&) {
        input.rethrow();
    }
}

}  // namespace cleave
