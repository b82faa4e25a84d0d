#include "features/stores/read_ahead_file.h"

#include <algorithm>
#include <new>
#include <system_error>
#include <utility>

namespace cleave {

struct ReadAheadFile::Part {
    std::uint64_t begin = 0;
    std::uint64_t size = 0;
    std::vector<std::uint8_t> bytes;  // written by the thread that fetches it, until is_there
    std::exception_ptr error;
    bool is_begun = false;      // a thread fetches it, or has
    bool is_there = false;      // or has failed
    bool was_read = false;      // at least some of it
    std::uint64_t used_at = 0;  // the clock
    unsigned readers = 0;       // that wait for it or copy from it
};

namespace {

// For how many uses of parts a range counts that nobody reads.
constexpr std::uint64_t kRecent = 64;

// What a part takes of the room: a small one counts for more, so that there are not too many of them.
std::uint64_t weight(std::uint64_t size, std::uint64_t part_size) { return std::max(size, part_size / 256); }

}  // namespace

ReadAheadFile::ReadAheadFile(Opener open, const Cancellation* cancellation, std::uint64_t part_size, unsigned threads)
    : cancellation_(cancellation), file_(open(cancellation_)), part_size_(part_size), most_threads_(threads) {
    stretches_.fill({file_->size(), 0});
}

ReadAheadFile::~ReadAheadFile() {
    cancellation_.request();
    {
        const MutexLock lock(mutex_);
        is_closing_ = true;
        wanted_.clear();
    }
    changed_.notify_all();
    threads_.clear();
}

// Drops older ranges within the new one: their readers have stopped, or are about to read this one.
void ReadAheadFile::will_read(std::uint64_t offset, std::uint64_t size) const noexcept {
    const std::uint64_t begin = std::min(offset, this->size());
    const std::uint64_t end = begin + std::min(size, this->size() - begin);
    if (begin == end) return;
    const MutexLock lock(mutex_);
    for (Announced& range : announced_) {
        if (begin <= range.begin && range.end <= end) range.left = 0;
    }
    announced_[next_announced_++ % announced_.size()] = {begin, end, end - begin, clock_};
}

// Notes that these bytes are read. Returns how many were read before of the stretch that they go on with. It grows
// before the bytes are there, because threads that share one ask for its parts at the same time.
std::uint64_t ReadAheadFile::go_on(std::uint64_t offset, std::uint64_t size) const {
    const std::uint64_t end = offset + size;
    for (Announced& range : announced_) {
        const std::uint64_t begin = std::max(range.begin, offset);
        const std::uint64_t covered = std::min(range.end, end);
        if (begin >= covered) continue;
        range.left -= std::min(range.left, covered - begin);
        range.used_at = clock_;
    }
    auto* const known = std::ranges::find_if(
        stretches_, [&](const Stretch& each) { return each.end <= offset && offset - each.end < part_size_; });
    Stretch& stretch = known != stretches_.end() ? *known : stretches_[next_stretch_++ % stretches_.size()];
    const std::uint64_t before = known != stretches_.end() ? stretch.read : 0;
    stretch = {end, before + size};
    return before;
}

// Of the ranges that were announced, the newest counts; the last read of one is still a part of it.
ReadAheadFile::Course ReadAheadFile::course_of(std::uint64_t offset, std::uint64_t size, std::uint64_t before) const {
    const Announced* range = nullptr;
    std::uint64_t ranges = 1;  // that share the room
    for (std::size_t i = 1; i <= announced_.size(); ++i) {
        const Announced& each = announced_[(next_announced_ - i) % announced_.size()];
        const bool is_it = range == nullptr && each.begin <= offset && offset < each.end &&
                           (each.left > 0 || offset + size >= each.end);
        if (is_it) {
            range = &each;
        } else if (each.left > part_size_ && clock_ - each.used_at < kRecent) {
            ++ranges;
        }
    }
    if (range != nullptr) {
        const std::uint64_t read = range->end - range->begin - range->left;
        const std::uint64_t most = std::clamp<std::uint64_t>(kMostParts / ranges, 1, std::max(1U, most_threads_));
        const std::uint64_t parts = std::min(1 + kAhead * read / part_size_, most);
        return {range->begin, part_size_, offset + (1 + parts) * part_size_, range->end};
    }
    if (before < part_size_ / 2) {
        const std::uint64_t step = std::min(std::max(before, size), part_size_);
        return {std::nullopt, step, offset + size, std::min(offset + std::max(size, step), this->size())};
    }
    const std::uint64_t ahead = std::min(before * kAhead / part_size_, std::uint64_t{most_threads_}) * part_size_;
    return {0, part_size_, offset + std::max(size, ahead), this->size()};
}

// The part that this byte is in, or null. One that failed is forgotten if nobody waits for it.
ReadAheadFile::Part* ReadAheadFile::part_at(std::uint64_t offset) const {
    auto at = parts_.upper_bound(offset);
    if (at == parts_.begin()) return nullptr;
    Part& part = *(--at)->second;
    if (offset - part.begin >= part.size) return nullptr;
    if (!part.error || part.readers > 0) return &part;
    drop(part);
    return nullptr;
}

void ReadAheadFile::drop(const Part& part) const {
    std::erase(wanted_, &part);
    held_ -= weight(part.size, part_size_);
    parts_.erase(std::uint64_t{part.begin});
}

// Makes room for so many bytes more. Returns false if that is impossible. The least recently used parts go first, but
// only a waiting reader displaces parts that have not been read.
bool ReadAheadFile::make_room(std::uint64_t size, bool for_reader) const {
    const std::uint64_t needed = held_ + weight(size, part_size_);
    const std::uint64_t limit = kMostParts * part_size_;
    if (needed <= limit) return true;
    std::vector<const Part*> idle;
    std::uint64_t room = 0;
    for (const auto& [begin, part] : parts_) {
        const bool is_in_use = part->readers > 0 || (part->is_begun && !part->is_there);
        if (is_in_use || (!part->was_read && !for_reader)) continue;
        idle.push_back(part.get());
        room += weight(part->size, part_size_);
    }
    if (needed - room > limit) return false;
    std::ranges::sort(idle, {}, &Part::used_at);
    for (const Part* part : idle) {
        if (held_ + weight(size, part_size_) <= limit) break;
        drop(*part);
    }
    return true;
}

// A new part that contains this byte and overlaps no other. Null if there is no room.
ReadAheadFile::Part* ReadAheadFile::add_part(std::uint64_t offset, const Course& course, bool for_reader) const {
    std::uint64_t begin = course.origin ? offset - (offset - *course.origin) % course.step : offset;
    std::uint64_t end = std::min(begin + course.step, course.end);
    const auto next = parts_.upper_bound(offset);
    if (next != parts_.end()) end = std::min(end, next->first);
    if (next != parts_.begin()) {
        const Part& last = *std::prev(next)->second;
        begin = std::max(begin, last.begin + last.size);
    }
    if (!make_room(end - begin, for_reader)) return nullptr;
    auto made = std::make_unique<Part>();
    made->begin = begin;
    made->size = end - begin;
    made->used_at = ++clock_;
    Part* const part = made.get();
    parts_.emplace(begin, std::move(made));
    held_ += weight(part->size, part_size_);
    return part;
}

// Starts another thread if all are busy. Whether there is any.
bool ReadAheadFile::has_threads() const {
    if (idle_ <= wanted_.size() && threads_.size() < most_threads_) {
        try {
            threads_.emplace_back([this] { run(); });
        } catch (const std::system_error&) {  // there are others, or readers fetch what they need
        }
    }
    return !threads_.empty();
}

// Has threads fetch what is not there of the course from the offset on.
void ReadAheadFile::fetch_ahead(std::uint64_t offset, const Course& course) const {
    const std::uint64_t end = std::min(course.ahead, course.end);
    while (offset < end) {
        Part* part = part_at(offset);
        if (part == nullptr) {
            part = has_threads() ? add_part(offset, course, false) : nullptr;
            if (part == nullptr) return;
            try {
                wanted_.push_back(part);
            } catch (const std::bad_alloc&) {
                drop(*part);
                throw;
            }
            changed_.notify_all();
        }
        offset = part->begin + part->size;
    }
}

// For the thread that has begun the part, which alone uses its bytes.
std::exception_ptr ReadAheadFile::fetch(Part& part) const noexcept {
    try {
        part.bytes.resize(part.size);
        file_->read(part.begin, part.bytes);
        return nullptr;
    } catch (...) {  // passed on to whoever reads it
        return std::current_exception();
    }
}

void ReadAheadFile::settle(Part& part, const std::exception_ptr& error) const {
    part.error = error;
    part.is_there = true;
    changed_.notify_all();
}

void ReadAheadFile::run() const {
    MutexLock lock(mutex_);
    for (;;) {
        ++idle_;
        while (wanted_.empty() && !is_closing_) changed_.wait(lock);
        --idle_;
        if (is_closing_) return;
        Part& part = *wanted_.front();  // it stays until it is there
        wanted_.pop_front();
        part.is_begun = true;
        lock.unlock();
        const std::exception_ptr error = fetch(part);
        lock.lock();
        settle(part, error);
    }
}

void ReadAheadFile::read(std::uint64_t offset, std::span<std::uint8_t> into) const {
    MutexLock lock(mutex_);
    const std::uint64_t before = go_on(offset, into.size());
    while (!into.empty()) {
        const Course course = course_of(offset, into.size(), before);
        Part* part = part_at(offset);
        if (part == nullptr) part = add_part(offset, course, true);
        if (part == nullptr) {  // all parts are in use
            lock.unlock();
            file_->read(offset, into);
            return;
        }
        ++part->readers;
        try {
            fetch_ahead(part->begin + part->size, course);
        } catch (const std::bad_alloc&) {  // whoever reads them asks again
        }
        if (!part->is_begun) {
            std::erase(wanted_, part);
            part->is_begun = true;
            lock.unlock();
            const std::exception_ptr error = fetch(*part);
            lock.lock();
            settle(*part, error);
        }
        while (!part->is_there) changed_.wait(lock);
        if (part->error) {
            const std::exception_ptr error = part->error;
            --part->readers;
            std::rethrow_exception(error);
        }
        lock.unlock();
        const std::uint64_t from = offset - part->begin;
        const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(into.size(), part->size - from));
        std::copy_n(part->bytes.begin() + static_cast<std::ptrdiff_t>(from), size, into.begin());
        offset += size;
        into = into.subspan(size);
        lock.lock();
        --part->readers;
        part->used_at = ++clock_;
        part->was_read = true;
    }
}

}  // namespace cleave
