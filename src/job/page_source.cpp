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
        return runs_.next(run);
    } catch (...) {  // rethrown by the next call
        failure_ = std::current_exception();
    }
    if (is_first_of_page) std::rethrow_exception(failure_);
    return false;
}

std::optional<RecordPage> GatheredPages::next() {
    RecordPage page;
    auto starts = std::make_shared<std::vector<PageRun>>();
    const auto copy = are_mapped_ ? nullptr : std::make_shared<ValueBuffer>(memory_);
    RecordRun run(memory_);
    std::size_t size = 0;
    const std::uint8_t* begin = nullptr;
    while (size < size_ && pull(run, starts->empty())) {
        if (run.bytes.empty()) continue;
        if (starts->empty()) {
            page.place = run.place;
            begin = run.bytes.data();
        }
        starts->push_back({size, run.place.record});
        if (copy) {
            copy->reserve(std::max(size + run.bytes.size(), size_ + size_ / 8));
            std::memcpy(copy->data() + size, run.bytes.data(), run.bytes.size());
            begin = copy->data();
        }
        size += run.bytes.size();
    }
    if (starts->empty()) return std::nullopt;
    page.last = starts->size();
    starts->push_back({size, 0});
    page.bytes = {begin, size};
    page.runs = std::move(starts);
    page.owner = copy;
    return page;
}

GuessedPages::GuessedPages(Input& input, BlobRange range, const Dialect& dialect, const Kernel& kernel, PageShape shape)
    : guessed_(input.bytes(), range, dialect, shape.run_size),
      ahead_(input.blob(), range.offset, range.offset + range.size),
      walker_(dialect, kernel, 0),
      end_(range.offset + range.size),
      run_(MemoryManager::or_default(nullptr)),
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
        guessed_.find(number, walker_, run_);
        if (run_.bytes.empty()) continue;  // no record was found to begin in it
        if (starts->empty()) {
            page.place = {run_.place.offset, 0};
            page.bytes = run_.bytes;
        }
        // Two guesses of one place differ only if the bytes have changed.
        if (run_.place.offset != page.place.offset + size) throw InputChangedError();
        starts->push_back({size, 0});
        size += run_.bytes.size();
    }
    if (starts->empty()) return std::nullopt;
    page.last = starts->size();
    starts->push_back({size, 0});
    page.bytes = {page.bytes.data(), size};
    page.runs = std::move(starts);
    page.is_last = page.place.offset + size == end_;
    return page;
}

}  // namespace cleave
