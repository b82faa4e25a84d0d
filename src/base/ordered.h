// Lets several threads work on numbered parts, and passes their results on in order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <optional>
#include <span>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.h"

namespace cleave {

// The state shared by the threads of run_in_order(). Each of them repeats:
//
//   take a free slot; pull the next part into it; do its work; put it down
//   if no other thread is emitting: emit the parts that are next in order, and free their slots
//
// A thread does not wait until it is its part's turn, because waking a thread takes as long as processing a part. There
// are more slots than threads, so a thread waits only when the other threads are far behind.
template <class Slot>
class PartOrder {
public:
    PartOrder(std::span<Slot> slots, unsigned threads) : threads_(threads), done_(slots.size()) {
        free_.reserve(slots.size());
        for (Slot& slot : slots) free_.push_back(&slot);
    }

    // Does the work of one thread until there are no more parts. Uses no memory beyond what the slots need.
    void run() {
        while (Slot* slot = take_slot()) {
            std::exception_ptr thrown;
            const auto part = pull_next(*slot, thrown);
            if (!part) {
                free_slot(*slot);
                return;
            }
            attempt(thrown, [&] { slot->work(); });
            put_down(*part, {slot, thrown});
        }
    }

    // Call this after all threads have ended.
    void rethrow_failure() {
        const MutexLock lock(mutex_);
        if (failure_) std::rethrow_exception(failure_);
    }

private:
    struct Done {
        Slot* slot = nullptr;
        std::exception_ptr thrown;
    };

    // Makes the call and stores any exception in `thrown`. Does nothing if `thrown` already holds one.
    template <class Call>
    static void attempt(std::exception_ptr& thrown, const Call& call) {
        if (thrown) return;
        try {
            call();
        } catch (...) {  // rethrown by rethrow_failure(), if no earlier part throws
            thrown = std::current_exception();
        }
    }

    // Returns nullptr once a part has failed.
    Slot* take_slot() {
        MutexLock lock(mutex_);
        while (!failure_ && is_full()) has_room_.wait(lock);
        if (failure_) return nullptr;
        Slot* slot = free_.back();
        free_.pop_back();
        return slot;
    }

    bool is_full() const CLEAVE_REQUIRES(mutex_) {
        const std::size_t taken = done_.size() - free_.size();
        return taken >= (large_ > 0 ? threads_ : done_.size());
    }

    void free_slot(Slot& slot) {
        {
            const MutexLock lock(mutex_);
            free_.push_back(&slot);
        }
        has_room_.notify_one();
    }

    // Returns nothing if there are no more parts. A pull that throws counts as the last part.
    std::optional<std::uint64_t> pull_next(Slot& slot, std::exception_ptr& thrown) {
        const MutexLock lock(pulling_);
        if (is_done_) return std::nullopt;
        bool is_one = false;
        attempt(thrown, [&] { is_one = slot.pull(); });
        is_done_ = !is_one;
        if (is_done_ && !thrown) return std::nullopt;
        if (!thrown && slot.is_large()) {
            const MutexLock counting(mutex_);
            ++large_;
        }
        return pulled_++;
    }

    void put_down(std::uint64_t part, const Done& done) {
        MutexLock lock(mutex_);
        place_of(part) = done;
        if (is_emitting_) return;
        is_emitting_ = true;
        while (place_of(turn_).slot != nullptr && !failure_) {
            Done current = std::exchange(place_of(turn_), Done{});
            lock.unlock();
            const bool is_large = !current.thrown && current.slot->is_large();
            attempt(current.thrown, [&] { current.slot->emit(); });
            lock.lock();
            ++turn_;
            if (is_large) --large_;
            failure_ = current.thrown;
            free_.push_back(current.slot);
            has_room_.notify_all();
        }
        is_emitting_ = false;
    }

    // The parts in slots are numbered without gaps, so each has its own element.
    Done& place_of(std::uint64_t part) CLEAVE_REQUIRES(mutex_) { return done_[part % done_.size()]; }

    const std::size_t threads_;

    Mutex pulling_;
    std::uint64_t pulled_ CLEAVE_GUARDED_BY(pulling_) = 0;
    bool is_done_ CLEAVE_GUARDED_BY(pulling_) = false;

    Mutex mutex_;
    ConditionVariable has_room_;
    std::vector<Slot*> free_ CLEAVE_GUARDED_BY(mutex_);
    std::size_t large_ CLEAVE_GUARDED_BY(mutex_) = 0;   // large parts in slots
    std::vector<Done> done_ CLEAVE_GUARDED_BY(mutex_);  // parts put down but not yet emitted; one element per slot
    std::uint64_t turn_ CLEAVE_GUARDED_BY(mutex_) = 0;  // the number of the part to emit next
    bool is_emitting_ CLEAVE_GUARDED_BY(mutex_) = false;
    std::exception_ptr failure_ CLEAVE_GUARDED_BY(mutex_);  // of the most recently emitted part
};

// Runs `threads` threads, including the calling one, on the slots. There must be at least as many slots as threads.
// Each thread:
//
//   while slot.pull():   one at a time; takes the next part; returns false after the last one
//       slot.work()      in parallel
//       slot.emit()      one at a time, in the order in which the parts were pulled
//
// While a slot holds a part for which slot.is_large() returns true, no more slots than threads are used. If a thread
// cannot be started, the other threads do its work. If a call throws, the parts before that part are still emitted but
// none after it, and the exception is rethrown. Which exception that is does not depend on the number of threads.
template <class Slot>
void run_in_order(std::span<Slot> slots, unsigned threads) {
    PartOrder<Slot> order(slots, threads);
    {
        std::vector<std::jthread> helpers;
        helpers.reserve(threads);
        try {
            for (unsigned i = 1; i < threads; ++i) helpers.emplace_back([&order] { order.run(); });
        } catch (const std::system_error&) {  // reaching a limit on address space or threads is not a failure
        } catch (const std::bad_alloc&) {     // nor is a lack of memory for another thread
        }
        order.run();
    }
    order.rethrow_failure();
}

}  // namespace cleave
