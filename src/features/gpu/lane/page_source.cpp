#include "features/gpu/lane/page_source.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "rows/memory/value_buffer.h"

namespace cleave {

// Returns false at the end of the page. A fault ends the page, and is thrown when no batch of the page comes before it.
bool GatheredPages::pull(OwnedBatch& batch, bool is_first_of_page) {
    if (failure_) std::rethrow_exception(failure_);
    try {
        const bool is_one = batches_.next(batch);
        batches_.require_whole(batch);
        return is_one;
    } catch (...) {  // rethrown by the next call
        failure_ = std::current_exception();
    }
    if (is_first_of_page) std::rethrow_exception(failure_);
    return false;
}

std::optional<RecordPage> GatheredPages::next() {
    RecordPage page;
    auto starts = std::make_shared<std::vector<PageBatch>>();
    const auto copy = std::make_shared<ValueBuffer>(memory_);
    OwnedBatch batch(memory_);
    std::size_t size = 0;
    while (size < size_ && pull(batch, starts->empty())) {
        if (batch.bytes.empty()) continue;
        if (starts->empty()) page.place = batch.place;
        starts->push_back({size, batch.place.record});
        copy->reserve(std::max(size + batch.bytes.size(), size_ + size_ / 8));
        std::memcpy(copy->data() + size, batch.bytes.data(), batch.bytes.size());
        size += batch.bytes.size();
    }
    if (starts->empty()) return std::nullopt;
    page.last = starts->size();
    starts->push_back({size, 0});
    page.bytes = {copy->data(), size};
    page.batches = std::move(starts);
    page.owner = copy;
    return page;
}

std::optional<RecordPage> GuessedPages::next() {
    auto starts = std::make_shared<std::vector<PageBatch>>();
    starts->reserve(most_ + 1);
    const std::uint64_t first = end_;
    const std::uint8_t* bytes = nullptr;
    while (starts->size() < most_ && batches_.next(batch_)) {
        batches_.find(batch_, walker_);
        // Two guesses about the same boundary differ only if the bytes have changed.
        if (batch_.place.offset != end_) throw InputChangedError();
        if (batch_.bytes.empty()) continue;  // by the guess, no record begins in it
        if (starts->empty()) bytes = batch_.bytes.data();
        starts->push_back({static_cast<std::size_t>(end_ - first), 0});
        end_ += batch_.bytes.size();
    }
    if (starts->empty()) return std::nullopt;
    RecordPage page;
    page.place = {first, 0};
    page.bytes = {bytes, static_cast<std::size_t>(end_ - first)};
    page.is_guessed = true;
    page.is_last = batch_.is_last;
    page.last = starts->size();
    starts->push_back({page.bytes.size(), 0});
    page.batches = std::move(starts);
    return page;
}

}  // namespace cleave
