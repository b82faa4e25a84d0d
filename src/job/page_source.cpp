#include "job/page_source.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "memory/value_buffer.h"

namespace cleave {

// False at the end of the page. A fault ends the page; it is thrown when nothing comes before it.
bool GatheredPages::pull(RecordRun& run, bool is_first_of_page) {
    if (failure_) std::rethrow_exception(failure_);
    try {
        const bool is_one = runs_.next(run);
        runs_.require_whole(run);
        return is_one;
    } catch (...) {  // rethrown by the next call
        failure_ = std::current_exception();
    }
    if (is_first_of_page) std::rethrow_exception(failure_);
    return false;
}

std::optional<RecordPage> GatheredPages::next() {
    RecordPage page;
    auto starts = std::make_shared<std::vector<PageRun>>();
    const auto copy = std::make_shared<ValueBuffer>(memory_);
    RecordRun run(memory_);
    std::size_t size = 0;
    while (size < size_ && pull(run, starts->empty())) {
        if (run.bytes.empty()) continue;
        if (starts->empty()) page.place = run.place;
        starts->push_back({size, run.place.record});
        copy->reserve(std::max(size + run.bytes.size(), size_ + size_ / 8));
        std::memcpy(copy->data() + size, run.bytes.data(), run.bytes.size());
        size += run.bytes.size();
    }
    if (starts->empty()) return std::nullopt;
    page.last = starts->size();
    starts->push_back({size, 0});
    page.bytes = {copy->data(), size};
    page.runs = std::move(starts);
    page.owner = copy;
    return page;
}

GuessedPages::GuessedPages(Input& input, BlobRange range, const Dialect& dialect, const Kernel& kernel, PageShape shape)
    : blob_(input.bytes()),
      guessed_(blob_, range, dialect, shape.run_size),
      ahead_(input.blob(), range.offset, range.offset + range.size),
      walker_(dialect, kernel),
      end_(range.offset + range.size),
      runs_of_page_(shape.size / shape.run_size) {}

std::optional<RecordPage> GuessedPages::next() {
    RecordPage page;
    page.is_guessed = true;
    auto starts = std::make_shared<std::vector<PageRun>>();
    starts->reserve(runs_of_page_ + 1);
    std::size_t size = 0;
    std::uint64_t number = 0;
    while (starts->size() < runs_of_page_ && guessed_.next(number)) {
        ahead_.wait_for(guessed_.reach(number));
        const BlobRange run = guessed_.find(number, walker_);
        if (run.size == 0) continue;  // no record was found to begin in it
        if (starts->empty()) page.place = {run.offset, 0};
        // Two guesses of one place differ only if the bytes have changed.
        if (run.offset != page.place.offset + size) throw InputChangedError();
        starts->push_back({size, 0});
        size += run.size;
    }
    if (starts->empty()) return std::nullopt;
    page.last = starts->size();
    starts->push_back({size, 0});
    page.bytes = blob_.subspan(page.place.offset, size);
    page.runs = std::move(starts);
    page.is_last = page.place.offset + size == end_;
    return page;
}

}  // namespace cleave
