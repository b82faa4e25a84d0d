#include "features/compressed/inflate/chunk_queue.h"

#include <libdeflate.h>

#include <algorithm>
#include <new>
#include <system_error>
#include <utility>

namespace cleave {
namespace {

// Fills the checksums. Returns false if a symbol lies before the window.
bool resolve(ChunkSlot& slot) {
    const Chunk& chunk = *slot.chunk;
    const auto bytes = slot.room.bytes(chunk);
    const bool has_symbols = chunk.start.kind != BlockStart::Kind::kMember;
    if (has_symbols && !SymbolTable(slot.before.window).resolve(slot.room.symbols(chunk), bytes.data())) return false;
    slot.checksums.clear();
    std::size_t at = 0;
    const auto take = [&](std::size_t end) {
        slot.checksums.push_back(::libdeflate_crc32(0, bytes.data() + at, end - at));
        at = end;
    };
    for (const MemberEnd& member : chunk.members) take(member.at);
    take(bytes.size());
    return true;
}

// Without memory, a chunk is left to the owner of the queue.
void decode(ChunkSlot& slot) noexcept {
    slot.chunk.reset();
    try {
        slot.chunk = decode_chunk(slot.bytes, slot.size, slot.room);
    } catch (const std::bad_alloc&) {  // the owner decodes it in order
    }
}

void resolve_or_leave(ChunkSlot& slot) noexcept {
    slot.is_resolved = false;
    try {
        slot.is_resolved = resolve(slot);
    } catch (const std::bad_alloc&) {  // likewise
    }
}

}  // namespace

ChunkQueue::ChunkQueue(unsigned threads) : threads_(threads) {
    try {
        for (unsigned i = 1; i < threads; ++i) {
            workers_.emplace_back([this](const std::stop_token& stop) { run(stop); });
        }
    } catch (const std::system_error&) {  // the threads that there are, or the owner, do all the work
    } catch (const std::bad_alloc&) {     // likewise
    }
}

// Twice as many as threads: some are decoded and wait for their turn while others are at work.
bool ChunkQueue::wants_more() const { return slots_.size() < std::size_t{2} * threads_; }

std::unique_ptr<ChunkSlot> ChunkQueue::spare() {
    if (spares_.empty()) return std::make_unique<ChunkSlot>();
    auto slot = std::move(spares_.back());
    spares_.pop_back();
    return slot;
}

void ChunkQueue::push(std::unique_ptr<ChunkSlot> slot) {
    const MutexLock lock(mutex_);
    slots_.push_back({std::move(slot), State::kRead});
    changed_.notify_all();
}

void ChunkQueue::run(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
        if (do_task()) continue;
        MutexLock lock(mutex_);
        if (next_task() == nullptr) changed_.wait(lock, stop);
    }
}

ChunkQueue::Entry* ChunkQueue::next_task() {
    Entry* first = nullptr;
    for (Entry& entry : slots_) {
        if (entry.state == State::kLinked) return &entry;
        if (entry.state == State::kRead && first == nullptr) first = &entry;
    }
    return first;
}

// Returns false if there is nothing to do. An entry stays where it is when others are added or removed at the ends of a
// deque, and is not removed while a thread is at work on it.
bool ChunkQueue::do_task() {
    Entry* entry = nullptr;
    bool is_linked = false;
    {
        const MutexLock lock(mutex_);
        entry = next_task();
        if (entry == nullptr) return false;
        is_linked = entry->state == State::kLinked;
        entry->state = is_linked ? State::kResolving : State::kDecoding;
    }
    if (is_linked) {
        resolve_or_leave(*entry->slot);
    } else {
        decode(*entry->slot);
    }
    const MutexLock lock(mutex_);
    entry->state = is_linked ? State::kResolved : State::kDecoded;
    link_decoded();
    changed_.notify_all();
    return true;
}

bool ChunkQueue::has_reached(Goal goal) const {
    const State state = slots_.front().state;
    switch (goal) {
        case Goal::kDecoded: return state >= State::kDecoded;
        case Goal::kResolvedOrUnlinked: return state == State::kResolved || (state == State::kDecoded && !link_);
        case Goal::kNotAtWork: return state != State::kDecoding && state != State::kResolving;
    }
    return true;
}

// Helps meanwhile.
void ChunkQueue::wait_for(Goal goal) {
    for (;;) {
        {
            MutexLock lock(mutex_);
            while (!has_reached(goal) && next_task() == nullptr) changed_.wait(lock);
            if (has_reached(goal)) return;
        }
        do_task();
    }
}

void ChunkQueue::link_decoded() noexcept {
    while (link_ && linked_ < slots_.size() && slots_[linked_].state == State::kDecoded) {
        if (link_or_leave(*slots_[linked_].slot)) {
            slots_[linked_++].state = State::kLinked;
        } else {
            link_.reset();
        }
    }
}

bool ChunkQueue::link_or_leave(ChunkSlot& slot) noexcept {
    try {
        return link(slot);
    } catch (const std::bad_alloc&) {  // likewise
        return false;
    }
}

// Returns false if the chunk does not begin at the link.
bool ChunkQueue::link(ChunkSlot& slot) {
    if (!slot.chunk) return false;
    const Chunk& chunk = *slot.chunk;
    const bool is_member = chunk.start.kind == BlockStart::Kind::kMember;
    if (link_->bit != slot.first * 8 + chunk.start.bit || link_->is_in_member == is_member) return false;
    std::vector<std::uint8_t> window;
    const std::size_t begin = chunk.members.empty() ? 0 : chunk.members.back().at;  // of the member at the end
    const std::size_t size = std::min(chunk.size - begin, kWindow);
    if (chunk.members.empty() && !is_member) {
        const std::size_t kept = std::min(link_->window.size(), kWindow - size);
        window.assign(link_->window.end() - static_cast<std::ptrdiff_t>(kept), link_->window.end());
    }
    const std::size_t kept = window.size();
    window.resize(kept + size);
    if (is_member) {
        const auto bytes = slot.room.bytes(chunk).last(size);
        std::ranges::copy(bytes, window.begin() + static_cast<std::ptrdiff_t>(kept));
    } else if (!SymbolTable(link_->window).resolve(slot.room.symbols(chunk).last(size), window.data() + kept)) {
        return false;
    }
    ChunkLink after{slot.first * 8 + chunk.end, chunk.is_in_member, std::move(window)};
    slot.after = after;
    slot.before = std::exchange(*link_, std::move(after));
    return true;
}

ChunkSlot* ChunkQueue::wait_for_front() {
    wait_for(Goal::kResolvedOrUnlinked);
    const MutexLock lock(mutex_);
    const Entry& front = slots_.front();
    return front.state == State::kResolved ? front.slot.get() : nullptr;
}

const ChunkSlot& ChunkQueue::wait_for_decoded_front() {
    wait_for(Goal::kDecoded);
    return *slots_.front().slot;
}

bool ChunkQueue::link_front(const ChunkLink& link) {
    const MutexLock lock(mutex_);
    if (linked_ > 0) return slots_.front().slot->before.bit == link.bit;
    link_ = link;
    link_decoded();
    changed_.notify_all();
    return linked_ > 0;
}

void ChunkQueue::pop() {
    for (;;) {
        wait_for(Goal::kNotAtWork);
        const MutexLock lock(mutex_);
        if (!has_reached(Goal::kNotAtWork)) continue;  // a thread has taken it meanwhile
        spares_.push_back(std::move(slots_.front().slot));
        slots_.pop_front();
        if (linked_ > 0) --linked_;
        return;
    }
}

}  // namespace cleave
