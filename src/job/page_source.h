// Where pages of records come from: gathered runs of whole records, or runs of a mapping that are guessed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "cleave/memory.h"
#include "io/read_ahead.h"
#include "job/record_page.h"
#include "scan/guessed_runs.h"
#include "scan/record_runs.h"
#include "scan/walker.h"

namespace cleave {

// In bytes, about.
struct PageShape {
    std::size_t size = 0;
    std::size_t run_size = 0;  // of its runs, if they are guessed
};

// For one thread at a time.
class PageSource {
public:
    PageSource() = default;
    PageSource(const PageSource&) = delete;
    PageSource& operator=(const PageSource&) = delete;
    virtual ~PageSource() = default;

    // The next page; nothing after the last one. Throws what reading the input throws.
    virtual std::optional<RecordPage> next() = 0;
};

// Pages of exact runs, of about `size` bytes.
class GatheredPages final : public PageSource {
public:
    // `runs` must outlive the source. `memory` is not null.
    GatheredPages(RecordRuns& runs, std::size_t size, std::shared_ptr<MemoryManager> memory)
        : runs_(runs), size_(size), memory_(std::move(memory)) {}

    // Throws what the runs throw, once the runs before that were passed on.
    std::optional<RecordPage> next() override;

private:
    bool pull(RecordRun& run, bool is_first_of_page);

    RecordRuns& runs_;
    const std::size_t size_;
    const std::shared_ptr<MemoryManager> memory_;
    std::exception_ptr failure_;  // of the runs
};

// Pages of a mapped range, which begins and ends with a record. Their runs are guessed. The bytes are those of the
// mapping, which others may write to: see PagesAhead, whose threads copy them.
class GuessedPages final : public PageSource {
public:
    // `input` must outlive the source.
    GuessedPages(Input& input, BlobRange range, const Dialect& dialect, const Kernel& kernel, PageShape shape);

    // Throws InputChangedError, DoubtfulRun.
    std::optional<RecordPage> next() override;

private:
    const std::span<const std::uint8_t> blob_;
    GuessedRuns guessed_;
    ReadAhead ahead_;
    Walker walker_;
    const std::uint64_t end_;
    const std::size_t runs_of_page_;
};

}  // namespace cleave
