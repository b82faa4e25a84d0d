// A fiber: a function with a stack of its own, that goes on where it stopped. For cuda_runtime.h of this folder. One
// thread of the system runs all of them.
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

    // Makes the next run() call function(argument). The fiber is not running, and has ended if it was started before.
    void start(Function function, void* argument);
    // Runs the fiber until it stops or ends. Not called by a fiber.
    void run();
    // Goes back to the caller of run(). Called by the fiber that runs.
    static void stop();

private:
    static void enter();
    void leave(bool is_last);

    std::byte* stack_ = nullptr;  // a page that cannot be touched, and the stack above it
    Function function_ = nullptr;
    void* argument_ = nullptr;
    void* own_ = nullptr;     // where the fiber stopped
    void* caller_ = nullptr;  // where run() was called
    // Of the address sanitizer: it has to be told which stack is in use.
    void* own_frames_ = nullptr;
    void* caller_frames_ = nullptr;
    const void* caller_stack_ = nullptr;
    std::size_t caller_stack_size_ = 0;
};

}  // namespace cleave::cuda::emulator
