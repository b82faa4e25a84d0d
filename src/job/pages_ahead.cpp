#include "job/pages_ahead.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <system_error>
#include <utility>

#include "base/parallel.h"

namespace cleave {
namespace {

// Pages that wait. One is copied at the same time, and three are on their way through the device.
constexpr std::size_t kAhead = 1;

// A thread copies about 10 GB/s, and the link to a device takes 25 to 55.
constexpr unsigned kMostThreads = 6;

// What a thread copies at a time.
constexpr std::size_t kCopySize = std::size_t{1} << 20;

void copy_by_threads(void* to, std::span<const std::uint8_t> from, unsigned threads) {
    parallel_for((from.size() + kCopySize - 1) / kCopySize, threads, [&](std::size_t i) {
        const auto part = from.subspan(i * kCopySize, std::min(kCopySize, from.size() - i * kCopySize));
        std::memcpy(static_cast<std::uint8_t*>(to) + i * kCopySize, part.data(), part.size());
    });
}

}  // namespace

PagesAhead::PagesAhead(PageSource& source, Context& context, unsigned threads)
    : source_(source), context_(context), threads_(std::min(threads, kMostThreads)) {
    try {
        reader_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
    } catch (const std::system_error&) {  // a limit on threads is no reason to fail
    }
}

// Without pinned memory the page stays where it is.
std::optional<RecordPage> PagesAhead::read() {
    std::optional<RecordPage> page = source_.next();
    if (!page) return page;
    const std::shared_ptr<Memory> block = context_.borrow_pinned(page->bytes.size());
    if (!block) return page;
    copy_by_threads(block->data(), page->bytes, threads_);
    page->bytes = {block->data(), page->bytes.size()};
    page->owner = block;
    page->is_pinned = true;
    return page;
}

void PagesAhead::run(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (changed_.wait(lock, stop, [this] { return read_.size() < kAhead; }) && !stop.stop_requested()) {
        lock.unlock();
        bool is_last = true;
        try {
            std::optional<RecordPage> page = read();
            lock.lock();
            if (page) {
                read_.push_back(*std::move(page));
                is_last = false;
            }
        } catch (...) {  // carried to the thread that asks for the page
            if (!lock.owns_lock()) lock.lock();
            failure_ = std::current_exception();
        }
        changed_.notify_all();
        if (is_last) break;
    }
    is_done_ = true;
    changed_.notify_all();
}

std::optional<RecordPage> PagesAhead::next() {
    std::unique_lock lock(mutex_);
    if (!reader_.joinable() && !is_done_) {
        std::optional<RecordPage> page = read();
        is_done_ = !page;
        return page;
    }
    changed_.wait(lock, [this] { return !read_.empty() || is_done_; });
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
    const std::scoped_lock lock(mutex_);
    is_done_ = true;
}

}  // namespace cleave
