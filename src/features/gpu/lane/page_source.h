// Where pages of records come from: gathered batches of whole records, or guessed batches of a mapping.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <utility>

#include "cleave/memory.h"
#include "core/scan/walker.h"
#include "features/gpu/lane/record_page.h"
#include "rows/records/exact_batches.h"
#include "rows/records/guessed_batches.h"

namespace cleave {

// Sizes in bytes, approximate.
struct PageShape {
    std::size_t size = 0;
    std::size_t batch_size = 0;  // of each batch in the page, if the batches are guessed
};

// For one thread at a time.
class PageSource {
public:
    PageSource() = default;
    PageSource(const PageSource&) = delete;
    PageSource& operator=(const PageSource&) = delete;
    virtual ~PageSource() = default;

    // Returns the next page, or nothing after the last one. Throws what reading the input throws.
    virtual std::optional<RecordPage> next() = 0;
};

// Pages of exact batches, about `size` bytes each.
class GatheredPages final : public PageSource {
public:
    // `batches` must outlive the source. `memory` is not null.
    GatheredPages(ExactBatches& batches, std::size_t size, std::shared_ptr<MemoryManager> memory)
        : batches_(batches), size_(size), memory_(std::move(memory)) {}

    // Throws what the batches throw, once the batches before the failure have been passed on.
    std::optional<RecordPage> next() override;

private:
    bool pull(OwnedBatch& batch, bool is_first_of_page);

    ExactBatches& batches_;
    const std::size_t size_;
    const std::shared_ptr<MemoryManager> memory_;
    std::exception_ptr failure_;  // of the batches
};

// Pages of guessed batches. Their bytes are still in the mapping, where other processes may change them, so the threads
// of PagesAhead copy them.
class GuessedPages final : public PageSource {
public:
    // `range` is a range of the mapped blob that begins and ends with a record; the blob must outlive the source.
    // `memory` is not null.
    GuessedPages(const Blob& blob, BlobRange range, const Dialect& dialect, const Kernel& kernel, PageShape shape,
                 std::shared_ptr<MemoryManager> memory)
        : batches_(blob, range, dialect, BatchAccess::kMapping, {.size = shape.batch_size}),
          most_(shape.size / shape.batch_size),
          walker_(dialect, kernel),
          batch_(std::move(memory)),
          end_(range.offset) {}

    // Throws what GuessedBatches::find() throws, and InputChangedError.
    std::optional<RecordPage> next() override;

private:
    GuessedBatches batches_;
    const std::size_t most_;  // the most batches in a page
    Walker walker_;
    OwnedBatch batch_;
    std::uint64_t end_;  // of the latest page
};

}  // namespace cleave
