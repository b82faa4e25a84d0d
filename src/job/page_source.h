// Where pages of records come from: gathered runs of whole records, or runs of a mapping that are guessed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
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

// Pages of exact runs, of about `size` bytes. Those of a mapping follow one another in memory; others are copied.
class GatheredPages final : public PageSource {
public:
    // `runs` must outlive the source. `memory`, for copies, is not null.
    GatheredPages(RecordRuns& runs, bool are_mapped, std::size_t size, std::shared_ptr<MemoryManager> memory)
        : runs_(runs), are_mapped_(are_mapped), size_(size), memory_(std::move(memory)) {}

    // Throws what the runs throw, once the runs before that were passed on.
    std::optional<RecordPage> next() override;

private:
    bool pull(RecordRun& run, bool is_first_of_page);

    RecordRuns& runs_;
    const bool are_mapped_;
    const std::size_t size_;
    const std::shared_ptr<MemoryManager> memory_;
    std::exception_ptr failure_;  // of the runs
};

// Pages of a mapped range, which begins and ends with a record. Their runs are guessed. Nobody reads the bytes before
// the pages are used, so several threads can copy a page.
class GuessedPages final : public PageSource {
public:
    // `input` must outlive the source.
    GuessedPages(Input& input, BlobRange range, const Dialect& dialect, const Kernel& kernel, PageShape shape);

    // Throws InputChangedError.
    std::optional<RecordPage> next() override;

private:
    GuessedRuns guessed_;
    ReadAhead ahead_;
    Walker walker_;
    const std::uint64_t end_;
    RecordRun run_;
    const std::size_t runs_of_page_;
};

}  // namespace cleave
