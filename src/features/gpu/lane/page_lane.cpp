#include "features/gpu/lane/page_lane.h"

#include <utility>

#include "features/gpu/device.h"
#include "features/gpu/lane/device_stage.h"
#include "features/redact/stage/record_blocks.h"

namespace cleave {
namespace {

// With 256 KiB batches on the CPU, a page is 32 MiB. That is large enough to be copied at the full rate of the link,
// and small enough for several pages to fit into the memory of a small device. A page that does not fit is cut between
// its batches.
constexpr std::size_t kBatchesOfCpu = 8;
constexpr std::size_t kBatchesOfPage = 16;

// The first pages wait for code to be loaded and memory to be pinned; the ones after them are timed.
constexpr std::uint64_t kWarmPages = 4;
constexpr std::uint64_t kTimedPages = 12;

void add_rule_counters(std::span<const std::uint64_t> counters, RuleCounts& counts) {
    counts.seen += counters[0];
    counts.changed += counters[1];
    counts.kept += counters[2];
    counts.empty += counters[3];
    counts.condition_false += counters[4];
}

bool ends_record(const Dialect& dialect, std::uint8_t byte) {
    if (dialect.terminator == Terminator::kAny) return byte == '\n' || byte == '\r';
    return byte == static_cast<std::uint8_t>(dialect.terminator == Terminator::kCr ? '\r' : '\n');
}

// Wraps a page that the device leaves to the CPU.
RewrittenPage left_to_cpu(const RecordPage& page) {
    RewrittenPage records;
    records.page = page;
    records.is_for_cpu = true;
    return records;
}

Annotated<RewrittenPage(RecordPage)> make_function(const std::shared_ptr<DeviceProgram>& program,
                                                   double seconds_per_byte) {
    Cost cost;
    if (seconds_per_byte > 0) cost.device = Rate{0, seconds_per_byte};
    cost.by_parts = true;
    return annotate<RewrittenPage(RecordPage)>(
        "stage", left_to_cpu,
        [program](DeviceStream& stream, const RecordPage& page) { return program->run(stream, page); },
        std::move(cost));
}

}  // namespace

PageLane::PageLane(const Stage& stage, const Kernel& kernel, DeviceChoice& choice,
                   std::shared_ptr<MemoryManager> memory, const Options& options)
    : stage_(stage),
      kernel_(kernel),
      choice_(choice),
      shape_{kBatchesOfCpu * options.batch_size * kBatchesOfPage, kBatchesOfCpu * options.batch_size},
      threads_(options.threads),
      memory_(std::move(memory)),
      program_(DeviceProgram::make(stage)),
      use_(!program_              ? Use::kLeft
           : choice_.has_choice() ? Use::kUndecided
                                  : Use::kTaken),
      worker_(stage, kernel, memory_) {
    if (!program_) choice_.remark("stage: the CPU, because devices do not run these rules, or not in this dialect");
}

PageLane::Use PageLane::use() const {
    const MutexLock lock(use_mutex_);
    return use_;
}

void PageLane::decide(const Prospect& prospect) {
    const MutexLock lock(use_mutex_);
    if (use_ != Use::kUndecided) return;
    seconds_per_byte_ = prospect.seconds_per_byte;
    const double host_seconds = prospect.seconds_per_byte * static_cast<double>(prospect.size);
    if (choice_.is_better(prospect.size, host_seconds, prospect.reading_per_byte)) {
        use_ = Use::kTaken;
    } else if (prospect.is_final) {
        use_ = Use::kLeft;
    }
}

void PageLane::give_up(const std::string& reason) {
    choice_.remark("stage: the CPU goes on, because " + reason);
    const MutexLock lock(use_mutex_);
    use_ = Use::kLeft;
}

bool PageLane::run(PageSource& pages, const Emit& emit) {
    const MutexLock lock(mutex_);
    if (use() != Use::kTaken) return false;
    const std::shared_ptr<DeviceContext> context = choice_.open();
    if (!context) {
        give_up("the device cannot be opened");
        return false;
    }
    in_flight_.clear();
    failure_ = nullptr;
    PagesAhead ahead(pages, *context, threads_, memory_,
                     [this](std::span<const std::uint8_t> bytes) { return program_->is_for_cpu(bytes); });
    bool is_done = false;
    try {
        is_done = stream(ahead, *context, emit);
        if (!is_done) give_up("the device was slower");
    } catch (const DeviceError& error) {
        if (!choice_.has_choice()) throw;
        give_up(error.what());
    }
    if (!is_done) {
        ahead.stop();
        while (next_page(ahead)) {
        }
        while (!in_flight_.empty()) take_by_cpu(RecordPage(in_flight_.front()), emit);
    }
    if (failure_) std::rethrow_exception(failure_);
    return is_done;
}

// Returns the next page, which is in flight from now on, or nothing after a failure of the source.
std::optional<RecordPage> PageLane::next_page(PagesAhead& pages) {
    if (failure_) return std::nullopt;
    try {
        std::optional<RecordPage> page = pages.next();
        if (page) in_flight_.push_back(*page);
        return page;
    } catch (...) {  // rethrown by run()
        failure_ = std::current_exception();
        return std::nullopt;
    }
}

// Returns false if the device was slower than the CPU and pages remain.
bool PageLane::stream(PagesAhead& pages, DeviceContext& context, const Emit& emit) {
    if (!function_) function_ = make_function(program_, choice_.seconds_per_byte());
    bool is_slower = false;
    context.stream<RewrittenPage, RecordPage>(
        *function_,
        [&]() -> std::optional<RecordPage> {
            mutex_.assert_held();
            if (is_slower) return std::nullopt;
            std::optional<RecordPage> page = next_page(pages);
            is_slower = page && seems_slower(*page);
            return page;
        },
        [&](const RewrittenPage& records) {
            mutex_.assert_held();
            take(records, emit);
        });
    return !is_slower;
}

// Counts the page, which is about to be transferred. Once enough pages have been timed, a single call returns whether
// the device is slower than the CPU. All other calls return false.
bool PageLane::seems_slower(const RecordPage& page) {
    if (!choice_.has_choice() || trial_.pages > kWarmPages + kTimedPages) return false;
    const auto now = std::chrono::steady_clock::now();
    if (++trial_.pages == kWarmPages) trial_.begin = now;
    if (trial_.pages == kWarmPages + kTimedPages) {
        const std::chrono::duration<double> taken = now - trial_.begin;
        const MutexLock lock(use_mutex_);
        return taken.count() > seconds_per_byte_ * static_cast<double>(trial_.size);
    }
    if (trial_.pages >= kWarmPages) trial_.size += page.bytes.size();
    return false;
}

// Call this when the first page in flight, or the front part of it, has been passed on.
void PageLane::note_emitted(std::uint64_t size, std::uint64_t records) {
    RecordPage& page = in_flight_.front();
    page.bytes = page.bytes.subspan(size);
    page.place = {page.place.offset + size, page.place.record + records};
    if (page.bytes.empty()) in_flight_.pop_front();
}

void PageLane::take_by_cpu(const RecordPage& page, const Emit& emit) {
    worker_.clear();
    try {
        const Batch batch{page.bytes, page.place, !page.is_guessed, page.is_last};
        for_each_block(worker_, batch, stage_.max_record(), [&](const RecordBlock& block) {
            mutex_.assert_held();
            worker_.write(block);
        });
    } catch (const InputError&) {
        if (page.is_guessed) throw DoubtfulBatch();
        throw;
    }
    emit({worker_.written(), worker_.starts(), worker_.counts(), page.place.offset, page.bytes});
    note_emitted(page.bytes.size(), worker_.starts().size());
    worker_.release();
}

void PageLane::take(const RewrittenPage& records, const Emit& emit) {
    const RecordPage& page = records.page;
    if (records.is_for_cpu) return take_by_cpu(page, emit);
    // A page without a fault does not end inside quotes.
    if (page.is_guessed && !page.is_last && !ends_record(stage_.dialect(), page.bytes.back())) throw DoubtfulBatch();
    const auto* const starts = reinterpret_cast<const std::uint32_t*>(records.starts->data());
    starts_.assign(starts, starts + records.records);
    const std::span<const std::uint64_t> counters(records.counters);
    counts_ = {};
    counts_.records = counters[0];
    counts_.empty_records = counters[1];
    counts_.rules.resize((counters.size() - 2) / 5);
    for (std::size_t i = 0; i < counts_.rules.size(); ++i) {
        add_rule_counters(counters.subspan(2 + 5 * i, 5), counts_.rules[i]);
    }
    const std::uint8_t* const bytes = records.bytes ? records.bytes->data() : nullptr;
    emit({{bytes, records.size}, starts_, counts_, page.place.offset, page.bytes, true});
    note_emitted(page.bytes.size(), records.records);
}

bool PageLane::run(ExactBatches& batches, const Emit& emit) {
    GatheredPages pages(batches, shape_.size, memory_);
    return run(pages, emit);
}

bool PageLane::run(const Blob& blob, BlobRange range, const Emit& emit) {
    GuessedPages pages(blob, range, stage_.dialect(), kernel_, shape_, memory_);
    return run(pages, emit);
}

std::unique_ptr<DeviceLane> make_device_lane(const Stage& stage, const Kernel& kernel, DeviceChoice& choice,
                                             std::shared_ptr<MemoryManager> memory,
                                             const DeviceLane::Options& options) {
    return std::make_unique<PageLane>(stage, kernel, choice, std::move(memory), options);
}

}  // namespace cleave
