#include "store/read_ahead_file.h"

#include <algorithm>
#include <new>
#include <system_error>
#include <utility>

namespace cleave {

struct ReadAheadFile::Part {
    std::uint64_t number = 0;
    std::vector<std::uint8_t> bytes;  // written by the thread that fetches it, until is_there
    std::exception_ptr error;
    bool is_there = false;      // or has failed
    bool was_read = false;      // at least some of it
    std::uint64_t used_at = 0;  // the clock
    unsigned readers = 0;       // that wait for it or copy from it
};

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

// The one that a read at this offset goes on with, or a new one.
ReadAheadFile::Stretch& ReadAheadFile::stretch_of(std::uint64_t offset) const {
    auto* const known = std::ranges::find_if(
        stretches_, [&](const Stretch& each) { return each.end <= offset && offset - each.end < part_size_; });
    if (known != stretches_.end()) return *known;
    Stretch& made = stretches_[next_stretch_++ % stretches_.size()];
    made = {offset, 0};
    return made;
}

// Whether another part can be had, for somebody who reads it now or for later. The one that was not used for longest
// has to go, but only a reader takes the place of a part that nobody has read yet.
bool ReadAheadFile::make_room(bool for_reader) const {
    if (parts_.size() < kMostParts) return true;
    auto oldest = parts_.end();
    for (auto at = parts_.begin(); at != parts_.end(); ++at) {
        const Part& part = *at->second;
        if (!part.is_there || part.readers > 0 || (!part.was_read && !for_reader)) continue;
        if (oldest == parts_.end() || part.used_at < oldest->second->used_at) oldest = at;
    }
    if (oldest == parts_.end()) return false;
    parts_.erase(oldest);
    return true;
}

// The part of this number, which is fetched if nobody wanted it yet, and anew if it failed and nobody waits for it.
ReadAheadFile::Part& ReadAheadFile::want(std::uint64_t number) const {
    if (const auto found = parts_.find(number); found != parts_.end()) {
        if (!found->second->error || found->second->readers > 0) return *found->second;
        parts_.erase(found);
    }
    auto made = std::make_unique<Part>();
    made->number = number;
    made->used_at = ++clock_;
    Part& part = *made;
    const auto at = parts_.emplace(number, std::move(made)).first;
    try {
        wanted_.push_back(&part);
    } catch (const std::bad_alloc&) {
        parts_.erase(at);
        throw;
    }
    if (idle_ < wanted_.size() && threads_.size() < most_threads_) {
        try {
            threads_.emplace_back([this] { fetch(); });
        } catch (const std::system_error&) {  // there are others, or the reader fetches it itself
        }
    }
    changed_.notify_all();
    return part;
}

void ReadAheadFile::fetch() const {
    MutexLock lock(mutex_);
    for (;;) {
        ++idle_;
        while (wanted_.empty() && !is_closing_) changed_.wait(lock);
        --idle_;
        if (is_closing_) return;
        Part* const part = wanted_.front();  // it stays until it is there
        wanted_.pop_front();
        lock.unlock();
        std::exception_ptr error;
        try {
            const std::uint64_t begin = part->number * part_size_;
            part->bytes.resize(std::min(part_size_, size() - begin));
            file_->read(begin, part->bytes);
        } catch (...) {  // passed on to whoever reads it
            error = std::current_exception();
        }
        lock.lock();
        part->error = error;
        part->is_there = true;
        changed_.notify_all();
    }
}

// Stretches grow before the bytes are there, because threads that share one ask for its parts at the same time.
void ReadAheadFile::read(std::uint64_t offset, std::span<std::uint8_t> into) const {
    std::uint64_t before = 0;
    {
        MutexLock lock(mutex_);
        Stretch& stretch = stretch_of(offset);
        before = stretch.read;
        stretch = {offset + into.size(), before + into.size()};
        const std::uint64_t number = offset / part_size_;
        if (before < part_size_ / 2 && number > 0 && !parts_.contains(number)) {
            lock.unlock();
            file_->read(offset, into);
            return;
        }
    }
    while (!into.empty()) {
        const std::uint64_t size = std::min<std::uint64_t>(into.size(), part_size_ - offset % part_size_);
        read_part(offset, into.first(size), before * kAhead / part_size_);
        before += size;
        offset += size;
        into = into.subspan(size);
    }
}

void ReadAheadFile::read_part(std::uint64_t offset, std::span<std::uint8_t> into, std::uint64_t ahead) const {
    const std::uint64_t number = offset / part_size_;
    const std::uint64_t count = (size() + part_size_ - 1) / part_size_;
    MutexLock lock(mutex_);
    if (!parts_.contains(number) && !make_room(true)) {  // all parts are in use
        lock.unlock();
        file_->read(offset, into);
        return;
    }
    Part& part = want(number);
    ++part.readers;
    try {
        const std::uint64_t most = std::min<std::uint64_t>(ahead + 1, most_threads_);
        for (std::uint64_t next = number + 1; next < std::min(count, number + most); ++next) {
            if (!parts_.contains(next) && make_room(false)) want(next);
        }
    } catch (const std::bad_alloc&) {  // whoever reads them asks again
    }
    if (threads_.empty()) {
        lock.unlock();
        file_->read(offset, into);
        lock.lock();
        --part.readers;
        return;
    }
    while (!part.is_there) changed_.wait(lock);
    if (part.error) {
        const std::exception_ptr error = part.error;
        --part.readers;
        std::rethrow_exception(error);
    }
    lock.unlock();
    std::ranges::copy(std::span(part.bytes).subspan(offset % part_size_, into.size()), into.begin());
    lock.lock();
    --part.readers;
    part.used_at = ++clock_;
    part.was_read = true;
}

}  // namespace cleave
