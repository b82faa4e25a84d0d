// On x86-64 a switch takes nine instructions and a few nanoseconds. Elsewhere swapcontext() makes two system calls.
#include "fiber.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

#ifdef __x86_64__
// Saves the callee-saved registers, and loads those of the other stack.
extern "C" void cleave_emulator_switch(void** from, void* to);
asm(R"(
    .pushsection .text
    .type cleave_emulator_switch, @function
cleave_emulator_switch:
    endbr64
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
    .size cleave_emulator_switch, . - cleave_emulator_switch
    .popsection
)");
#else
#include <ucontext.h>
static void cleave_emulator_switch(void** from, void* to) {
    ucontext_t here;
    *from = &here;
    swapcontext(&here, static_cast<ucontext_t*>(to));
}
#endif

namespace cleave::cuda::emulator {
namespace {

constexpr std::size_t kStackSize = 128 << 10;
constexpr std::size_t kGuardSize = 64 << 10;

Fiber* running = nullptr;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

}  // namespace

Fiber::Fiber() {
    void* const memory =
        mmap(nullptr, kGuardSize + kStackSize, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) std::abort();
    stack_ = static_cast<std::byte*>(memory) + kGuardSize;
    if (mprotect(stack_, kStackSize, PROT_READ | PROT_WRITE) != 0) std::abort();
}

Fiber::~Fiber() {
#ifdef __SANITIZE_ADDRESS__
    __asan_unpoison_memory_region(stack_, kStackSize);
#endif
    munmap(stack_ - kGuardSize, kGuardSize + kStackSize);
}

void Fiber::start(Function function, void* argument) {
    function_ = function;
    argument_ = argument;
    own_frames_ = nullptr;
#ifdef __SANITIZE_ADDRESS__
    __asan_unpoison_memory_region(stack_, kStackSize);
#endif
#ifdef __x86_64__
    // As if enter() had been called: the return address, which does not exist here, is 8 bytes below a multiple of 16.
    auto** top = reinterpret_cast<void**>(stack_ + kStackSize);
    *--top = nullptr;
    *--top = reinterpret_cast<void*>(&Fiber::enter);
    for (int i = 0; i < 6; ++i) *--top = nullptr;
    own_ = static_cast<void*>(top);
#else
    static ucontext_t first;
    getcontext(&first);
    first.uc_stack.ss_sp = stack_;
    first.uc_stack.ss_size = kStackSize;
    first.uc_link = nullptr;
    // Kept in the stack itself, at its far end.
    auto* const kept = reinterpret_cast<ucontext_t*>(stack_);
    *kept = first;
    makecontext(kept, reinterpret_cast<void (*)()>(&Fiber::enter), 0);
    own_ = kept;
#endif
}

void Fiber::run() {
    running = this;
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_start_switch_fiber(&caller_frames_, stack_, kStackSize);
#endif
    cleave_emulator_switch(&caller_, own_);
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_finish_switch_fiber(caller_frames_, nullptr, nullptr);
#endif
    running = nullptr;
}

void Fiber::leave([[maybe_unused]] bool is_last) {
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_start_switch_fiber(is_last ? nullptr : &own_frames_, caller_stack_, caller_stack_size_);
#endif
    cleave_emulator_switch(&own_, caller_);
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_finish_switch_fiber(own_frames_, &caller_stack_, &caller_stack_size_);
#endif
}

void Fiber::stop() { running->leave(false); }

void Fiber::enter() {
    Fiber* const self = running;
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_finish_switch_fiber(nullptr, &self->caller_stack_, &self->caller_stack_size_);
#endif
    self->function_(self->argument_);
    self->leave(true);
    std::abort();
}

}  // namespace cleave::cuda::emulator
