// Pages are made larger until they are as large as those of a job, or take long.
#include "job/measure_stage.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cleave/kernel.h"
#include "job/device_lane.h"
#include "job/page_source.h"

namespace cleave {
namespace {

constexpr std::size_t kRunSize = std::size_t{256} << 10;  // as in a job
constexpr std::uint64_t kPages = 6;
constexpr std::size_t kFirstSize = std::size_t{64} << 10;
constexpr double kLongPage = 0.05;  // seconds

constexpr std::string_view kHeader = "id,name,phone,city,amount,note\n";
constexpr std::string_view kRecord = "1000042,Ada Lovelace,+44 20 7946 0958,London,815.50,leave at the door\n";

// kPages pages of the same size, in different memory: none is in the processor's cache when it is needed.
class MadePages final : public PageSource {
public:
    // Bytes of a page, about.
    void resize(std::size_t size) {
        size_ = size / kRecord.size() * kRecord.size();
        text_.reserve(kPages * size_);
        while (text_.size() < kPages * size_) text_.insert(text_.end(), kRecord.begin(), kRecord.end());
    }
    std::size_t all() const { return kPages * size_; }
    void begin() { next_ = 0; }

    std::optional<RecordPage> next() override {
        if (next_ == kPages) return std::nullopt;
        RecordPage page;
        page.bytes = std::span(text_).subspan(size_ * next_++, size_);
        page.runs = std::make_shared<std::vector<PageRun>>(std::vector<PageRun>{{0, 0}, {size_, 0}});
        page.last = 1;
        return page;
    }

private:
    std::vector<std::uint8_t> text_;
    std::size_t size_ = 0;
    std::uint64_t next_ = 0;
};

}  // namespace

MeasuredStage measure_stage(const std::shared_ptr<Context>& context, unsigned threads) {
    StageOptions options;
    options.rules = {{"phone: mask", "--redact"}};
    options.default_action = DefaultAction::kKeep;
    const std::span header(reinterpret_cast<const std::uint8_t*>(kHeader.data()), kHeader.size());
    const Stage stage(options, Dialect(), header, true);
    DeviceChoice choice(context);
    DeviceLane lane(stage, default_kernel(), choice, MemoryManager::or_default(nullptr), {kRunSize, threads});
    MadePages pages;
    bool is_on_device = true;
    const auto measure = [&] {
        pages.begin();
        const auto start = std::chrono::steady_clock::now();
        lane.run(pages, [&](const DeviceLane::Written& written) { is_on_device &= written.is_by_device; });
        const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
        return taken.count();
    };
    double start_seconds = 0;
    double start_size = 0;
    for (std::size_t size = kFirstSize;; size *= 2) {
        pages.resize(size);
        const double seconds = measure();
        start_seconds += seconds;
        start_size += static_cast<double>(pages.all());
        if (!is_on_device) return {};
        if (size >= lane.shape().size || seconds > kLongPage * static_cast<double>(kPages)) break;
    }
    const double seconds_per_byte = measure() / static_cast<double>(pages.all());
    return {std::max(0.0, start_seconds - start_size * seconds_per_byte), seconds_per_byte};
}

}  // namespace cleave
