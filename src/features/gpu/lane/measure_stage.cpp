// Pages are enlarged until they are as large as in a job, or take long to process. Then a run of a few pages and a run
// of many are timed; the rate is the difference in time divided by the difference in pages. Taking the difference
// cancels out the first and the last page of a run, which are transferred while nothing else happens; in a job of
// several GB, these two pages do not matter.
#include "features/gpu/lane/measure_stage.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <string_view>
#include <vector>

#include "base/text_bytes.h"
#include "cleave/kernel.h"
#include "features/gpu/lane/page_lane.h"
#include "features/gpu/lane/page_source.h"

namespace cleave {
namespace {

constexpr std::size_t kBatchSize = std::size_t{256} << 10;  // as in a job
constexpr std::uint64_t kPages = 6;
constexpr std::uint64_t kManyPages = 18;
constexpr int kMeasurements = 3;
constexpr std::size_t kFirstSize = std::size_t{64} << 10;
constexpr double kLongPage = 0.05;  // seconds

constexpr std::string_view kHeader = "id,name,phone,city,amount,note\n";
constexpr std::string_view kRecord = "1000042,Ada Lovelace,+44 20 7946 0958,London,815.50,leave at the door\n";

// Pages of the same size. kPages of them are in separate memory, so that none is in the processor's cache when it is
// needed.
class MadePages final : public PageSource {
public:
    // `size` is about the size of a page in bytes.
    void resize(std::size_t size) {
        size_ = size / kRecord.size() * kRecord.size();
        text_.reserve(kPages * size_);
        while (text_.size() < kPages * size_) text_.insert(text_.end(), kRecord.begin(), kRecord.end());
    }
    std::size_t size() const { return size_; }
    void begin(std::uint64_t pages) {
        next_ = 0;
        pages_ = pages;
    }

    std::optional<RecordPage> next() override {
        if (next_ == pages_) return std::nullopt;
        RecordPage page;
        page.bytes = std::span(text_).subspan(size_ * (next_++ % kPages), size_);
        page.batches = std::make_shared<std::vector<PageBatch>>(std::vector<PageBatch>{{0, 0}, {size_, 0}});
        page.last = 1;
        return page;
    }

private:
    std::vector<std::uint8_t> text_;
    std::size_t size_ = 0;
    std::uint64_t next_ = 0;
    std::uint64_t pages_ = 0;
};

Stage masking_stage() {
    StageOptions options;
    options.rules = {{"phone: mask", "--redact"}};
    options.default_action = DefaultAction::kKeep;
    return {options, Dialect(), bytes_of(kHeader), true};
}

// A stage on a device, and pages for it.
class StageRuns {
public:
    StageRuns(const std::shared_ptr<DeviceContext>& context, unsigned threads)
        : choice_(context),
          lane_(stage_, default_kernel(), choice_, MemoryManager::or_default(nullptr), {kBatchSize, threads}) {}

    void resize(std::size_t size) { pages_.resize(size); }
    std::size_t page_size() const { return pages_.size(); }
    std::size_t most_page_size() const { return lane_.shape().size; }
    bool was_on_device() const { return is_on_device_; }

    // Returns how many seconds it takes to process that many pages.
    double run(std::uint64_t pages) {
        pages_.begin(pages);
        const auto start = std::chrono::steady_clock::now();
        lane_.run(pages_, [&](const PageLane::Written& written) { is_on_device_ &= written.is_by_device; });
        const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
        return taken.count();
    }

private:
    const Stage stage_ = masking_stage();
    DeviceChoice choice_;
    PageLane lane_;
    MadePages pages_;
    bool is_on_device_ = true;
};

}  // namespace

MeasuredStage measure_stage(const std::shared_ptr<DeviceContext>& context, unsigned threads) {
    StageRuns runs(context, threads);
    double start_seconds = 0;
    double start_pages = 0;  // counted in pages of the final size
    bool is_slow = false;
    for (std::size_t size = kFirstSize;; size *= 2) {
        runs.resize(size);
        const double seconds = runs.run(kPages);
        if (!runs.was_on_device()) return {};
        start_seconds += seconds;
        start_pages = start_pages / 2 + static_cast<double>(kPages);
        is_slow = seconds > kLongPage * static_cast<double>(kPages);
        if (size >= runs.most_page_size() || is_slow) break;
    }
    double few = std::numeric_limits<double>::infinity();
    double many = few;
    for (int i = 0; i < (is_slow ? 1 : kMeasurements); ++i) {
        few = std::min(few, runs.run(kPages));
        many = std::min(many, runs.run(kManyPages));
    }
    const double page_seconds =
        many > few ? (many - few) / static_cast<double>(kManyPages - kPages) : many / static_cast<double>(kManyPages);
    return {std::max(0.0, start_seconds - start_pages * page_seconds),
            page_seconds / static_cast<double>(runs.page_size())};
}

void run_stage(const std::shared_ptr<DeviceContext>& context, unsigned threads) {
    StageRuns runs(context, threads);
    runs.resize(kFirstSize);
    runs.run(kPages);
}

}  // namespace cleave
