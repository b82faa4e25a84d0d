// A fiber: a function with its own stack that resumes where it stopped. For cuda_runtime.h in this folder. One system
// thread runs all fibers.
#pragma once

#include <cstddef>

namespace cleave::cuda::emulator {

class Fiber {
public:
    using Function = void (*)(void*);

    Fiber();
    ~Fiber();
    Fiber(const Fiber&) = delete;
    Fiber& operator=(const Fiber&) = delete;

    // Makes the next run() call function(argument). Precondition: the fiber was never started, or has ended.
    void start(Function function, void* argument);
    // Runs the fiber until it stops or ends. Must not be called from a fiber.
    void run();
    // Returns to the caller of run(). Called by the running fiber.
    static void stop();

private:
    static void enter();
    void leave(bool is_last);

    std::byte* stack_ = nullptr;  // an inaccessible guard page, and the stack above it
    Function function_ = nullptr;
    void* argument_ = nullptr;
    void* own_ = nullptr;     // where the fiber stopped
    void* caller_ = nullptr;  // where run() was called
    // For the address sanitizer, which must be told which stack is in use.
    void* own_frames_ = nullptr;
    void* caller_frames_ = nullptr;
    const void* caller_stack_ = nullptr;
    std::size_t caller_stack_size_ = 0;
};

}  // namespace cleave::cuda::emulator
