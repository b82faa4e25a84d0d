#include "features/gpu/lane/pages_ahead.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <system_error>
#include <utility>

#include "base/parallel.h"
#include "rows/memory/value_buffer.h"

namespace cleave {
namespace {

// How many pages wait to be asked for. Meanwhile one more is being copied, and three are in flight on the device.
constexpr std::size_t kPagesAhead = 1;

// One thread copies about 10 GB/s, whereas the link to a device can take 25 to 55 GB/s.
constexpr unsigned kMostThreads = 6;

// How much a thread copies at a time. The copy is checked while it is still in the cache.
constexpr std::size_t kCopySize = std::size_t{1} << 20;

}  // namespace

PagesAhead::PagesAhead(PageSource& source, DeviceContext& context, unsigned threads,
                       std::shared_ptr<MemoryManager> memory, IsForCpu is_for_cpu)
    : source_(source),
      context_(context),
      threads_(std::min(threads, kMostThreads)),
      memory_(std::move(memory)),
      is_for_cpu_(std::move(is_for_cpu)) {
    try {
        reader_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
    } catch (const std::system_error&) {  // a limit on threads is no reason to fail
    }
}

// Copies with several threads. Returns whether the page must be left to the CPU.
bool PagesAhead::copy(std::uint8_t* to, std::span<const std::uint8_t> from) const {
    std::atomic<bool> is_for_cpu = false;
    parallel_for((from.size() + kCopySize - 1) / kCopySize, threads_, [&](std::size_t i) {
        const auto part = from.subspan(i * kCopySize, std::min(kCopySize, from.size() - i * kCopySize));
        std::uint8_t* const copied = to + i * kCopySize;
        std::memcpy(copied, part.data(), part.size());
        if (is_for_cpu_({copied, part.size()})) is_for_cpu = true;
    });
    return is_for_cpu;
}

// Without pinned memory, a page stays where it is, unless other processes may write to it.
std::optional<RecordPage> PagesAhead::read() {
    std::optional<RecordPage> page = source_.next();
    if (!page) return page;
    const auto move_to = [&](std::uint8_t* to, std::shared_ptr<const void> owner) {
        page->is_for_cpu = copy(to, page->bytes);
        page->bytes = {to, page->bytes.size()};
        page->owner = std::move(owner);
    };
    if (const std::shared_ptr<Memory> block = context_.borrow_pinned(page->bytes.size())) {
        move_to(block->data(), block);
        page->is_pinned = true;
    } else if (!page->owner) {
        const auto buffer = std::make_shared<ValueBuffer>(memory_);
        buffer->reserve(page->bytes.size());
        move_to(buffer->data(), buffer);
    } else {
        page->is_for_cpu = is_for_cpu_(page->bytes);
    }
    return page;
}

void PagesAhead::run(const std::stop_token& stop) {
    while (has_room(stop) && read_ahead()) changed_.notify_all();
    {
        const MutexLock lock(mutex_);
        is_done_ = true;
    }
    changed_.notify_all();
}

// Waits until another page may be kept waiting. Returns false if the thread is asked to stop.
bool PagesAhead::has_room(const std::stop_token& stop) {
    MutexLock lock(mutex_);
    while (read_.size() >= kPagesAhead && !stop.stop_requested()) changed_.wait(lock, stop);
    return !stop.stop_requested();
}

// Reads a page. Returns false after the last one, and after a failure.
bool PagesAhead::read_ahead() {
    try {
        std::optional<RecordPage> page = read();
        if (!page) return false;
        const MutexLock lock(mutex_);
        read_.push_back(*std::move(page));
        return true;
    } catch (...) {  // passed on to the thread that asks for the page
        const MutexLock lock(mutex_);
        failure_ = std::current_exception();
        return false;
    }
}

std::optional<RecordPage> PagesAhead::next() {
    MutexLock lock(mutex_);
    if (!reader_.joinable() && !is_done_) {
        std::optional<RecordPage> page = read();
        is_done_ = !page;
        return page;
    }
    while (read_.empty() && !is_done_) changed_.wait(lock);
    if (read_.empty()) {
        if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
        return std::nullopt;
    }
    RecordPage page = std::move(read_.front());
    read_.pop_front();
    changed_.notify_all();
    return page;
}

void PagesAhead::stop() {
    if (reader_.joinable()) {
        reader_.request_stop();
        reader_.join();
    }
    const MutexLock lock(mutex_);
    is_done_ = true;
}

}  // namespace cleave
