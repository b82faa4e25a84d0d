// Locks that the compiler checks. CLEAVE_GUARDED_BY says which mutex guards a member, CLEAVE_REQUIRES which mutex the
// caller of a function must hold. Clang's -Wthread-safety reports every access without the lock:
//
//   class Queue {
//       void put(int value) {
//           const MutexLock lock(mutex_);
//           values_.push_back(value);
//       }
//       Mutex mutex_;
//       std::vector<int> values_ CLEAVE_GUARDED_BY(mutex_);
//   };
//
// Clang does not check constructors, destructors and catch blocks, and it looks at each function in isolation. A lambda
// counts as a separate function, in which Clang does not know which locks the caller holds. Waits are therefore loops
// without lambdas, and other lambdas call Mutex::assert_held(). GCC checks nothing. See
// https://clang.llvm.org/docs/ThreadSafetyAnalysis.html.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <utility>

// NOLINTBEGIN(cppcoreguidelines-macro-usage): only a macro can expand to an attribute
#ifdef __clang__
#define CLEAVE_LOCK_ATTRIBUTE(attribute) __attribute__((attribute))
#else
#define CLEAVE_LOCK_ATTRIBUTE(attribute)
#endif

// For a member: it may be read or written only while the mutex is held.
#define CLEAVE_GUARDED_BY(mutex) CLEAVE_LOCK_ATTRIBUTE(guarded_by(mutex))
// For a member that is a pointer: the object that it points to may be read or written only while the mutex is held.
#define CLEAVE_POINTEE_GUARDED_BY(mutex) CLEAVE_LOCK_ATTRIBUTE(pt_guarded_by(mutex))
// For a function: the caller must hold the mutex.
#define CLEAVE_REQUIRES(mutex) CLEAVE_LOCK_ATTRIBUTE(requires_capability(mutex))
// For a function: the caller must not hold the mutex, because the function locks it.
#define CLEAVE_EXCLUDES(mutex) CLEAVE_LOCK_ATTRIBUTE(locks_excluded(mutex))
// For classes such as MutexLock and for their members. Without an argument, they lock and unlock the mutex that was
// passed to the constructor.
#define CLEAVE_SCOPED_LOCK CLEAVE_LOCK_ATTRIBUTE(scoped_lockable)
#define CLEAVE_ACQUIRE(...) CLEAVE_LOCK_ATTRIBUTE(acquire_capability(__VA_ARGS__))
#define CLEAVE_RELEASE() CLEAVE_LOCK_ATTRIBUTE(release_capability())
// NOLINTEND(cppcoreguidelines-macro-usage)

namespace cleave {

class CLEAVE_LOCK_ATTRIBUTE(capability("mutex")) Mutex {
public:
    // Tells the compiler that this thread holds the mutex. Does nothing at run time.
    void assert_held() const CLEAVE_LOCK_ATTRIBUTE(assert_capability(this)) {}

private:
    friend class MutexLock;

    std::mutex mutex_;
};

// Holds a mutex until the lock is destroyed or unlocked. A const lock holds it to the end of its block.
class CLEAVE_SCOPED_LOCK MutexLock {
public:
    explicit MutexLock(Mutex& mutex) CLEAVE_ACQUIRE(mutex) : lock_(mutex.mutex_) {}
    MutexLock(const MutexLock&) = delete;
    MutexLock& operator=(const MutexLock&) = delete;
    ~MutexLock() CLEAVE_RELEASE() = default;

    void lock() CLEAVE_ACQUIRE() { lock_.lock(); }
    void unlock() CLEAVE_RELEASE() { lock_.unlock(); }

private:
    friend class ConditionVariable;
    friend class StoppableConditionVariable;

    std::unique_lock<std::mutex> lock_;
};

// A change that threads wait for. A wait may also end without a change, so put it in a loop:
//
//   while (values_.empty()) changed_.wait(lock);
class ConditionVariable {
public:
    void wait(MutexLock& lock) { changed_.wait(lock.lock_); }
    // Returns after `time` at the latest.
    void wait_for(MutexLock& lock, std::chrono::milliseconds time) { changed_.wait_for(lock.lock_, time); }
    void notify_one() noexcept { changed_.notify_one(); }
    void notify_all() noexcept { changed_.notify_all(); }

private:
    std::condition_variable changed_;
};

// The same for threads that can be asked to stop, at the cost of a second mutex.
class StoppableConditionVariable {
public:
    void wait(MutexLock& lock) { changed_.wait(lock.lock_); }
    // Also returns when the thread is asked to stop, and at once if it already has been:
    //
    //   while (values_.empty() && !stop.stop_requested()) changed_.wait(lock, stop);
    void wait(MutexLock& lock, const std::stop_token& stop) {
        bool is_awake = false;
        changed_.wait(lock.lock_, stop, [&] { return std::exchange(is_awake, true); });
    }
    // Returns after `time` or when the thread is asked to stop, but not when it is notified.
    void sleep_for(MutexLock& lock, std::chrono::milliseconds time, const std::stop_token& stop) {
        changed_.wait_for(lock.lock_, stop, time, [] { return false; });
    }
    void notify_all() noexcept { changed_.notify_all(); }

private:
    std::condition_variable_any changed_;
};

}  // namespace cleave
