// From open to destroy.
#include <cstring>
#include <functional>

#include "conformance.h"

namespace cleave::conformance {
namespace {

void check_initialize_again(const Options& options) {
    const Subject subject(options);
    const cleave_memory_space space = subject.space();
    subject.initialize();
    std::vector<cleave_memory> held;
    for (std::size_t i = 0; i < 20; ++i) {
        held.push_back(subject.allocate({.size = 1 + i * 1111, .space = space}));
        subject.fill(space, held.back(), i);
        subject.initialize();
    }
    for (std::size_t i = 0; i < held.size(); ++i) {
        subject.expect_filled(space, held[i], i);
        subject.release(held[i]);
        subject.initialize();
    }
}

void check_reset_first(const Options& options) {
    const Subject subject(options, true);
    subject.reset();
    subject.reset();
    subject.initialize();
    subject.reset();
    subject.release(subject.allocate({.size = 1000, .space = subject.space()}));
}

// Both reset() and destroy() free memory that was not released.
void check_reset(const Options& options) {
    const Subject subject(options);
    for (int round = 0; round < 3; ++round) {
        for (const cleave_memory_space space : subject.spaces()) {
            std::vector<cleave_memory> held;
            for (std::size_t i = 0; i < 40; ++i) {
                held.push_back(subject.allocate({.size = i * i * 100, .space = space}));
                subject.fill(space, held.back(), i);
            }
            for (std::size_t i = 0; i < 40; i += 3) subject.release(held[i]);
        }
        subject.reset();
    }
    const cleave_memory memory = subject.allocate({.size = 1000, .space = subject.space()});
    subject.fill(subject.space(), memory, 5);
    subject.expect_filled(subject.space(), memory, 5);
    subject.release(memory);
}

void skip_unmeasured(const Subject& subject) {
    const bool is_of_host = subject.can(CLEAVE_MEMORY_CAN_HOST);
    skip(kIsSanitized && is_of_host ? "a sanitizer keeps memory that was freed" : "it has no memory that shows");
}

// Expects a call of `free_all` to free all memory: in figures, and for pinned memory in what the driver knows.
void expect_freed(const Options& options, Subject& subject, const std::string& what,
                  const std::function<void()>& free_all) {
    const std::vector<cleave_memory_space> spaces = subject.spaces();
    for (const cleave_memory_space space : spaces) subject.allocate({.size = 2 * kMiB, .space = space});
    subject.reset();
    const Figures figures(options, subject);
    std::vector<const void*> pinned;
    bool is_measured = false;
    for (const cleave_memory_space space : spaces) {
        const bool is_pinned = space == CLEAVE_MEMORY_PINNED || space == CLEAVE_MEMORY_MAPPED;
        const bool is_shown = is_pinned ? options.hooks != nullptr : figures.has(space);
        is_measured = is_measured || is_shown;
        for (int i = 0; is_shown && i < 64; ++i) {
            const cleave_memory memory = subject.allocate({.size = 2 * kMiB, .space = space});
            if (space == CLEAVE_MEMORY_HOST) std::memset(memory.pointer, 1, 2 * kMiB);
            if (is_pinned) pinned.push_back(memory.pointer);
            if (i % 4 == 0 && space != CLEAVE_MEMORY_HOST) subject.release(memory);  // at once or later
        }
    }
    if (!is_measured) skip_unmeasured(subject);
    for (const cleave_memory_space space : spaces) figures.expect_more(space, 90 * kMiB);
    free_all();
    figures.expect_no_more("after " + what, what == "destroy" ? Figures::Who::kOthers : Figures::Who::kAll);
    for (const void* const pointer : pinned) {
        expect(options.hooks->knows(pointer) == 0, "after " + what + ", the driver still knows pinned memory");
    }
}

void check_reset_frees(const Options& options) {
    Subject subject(options);
    expect_freed(options, subject, "reset", [&] { subject.reset(); });
}

void check_destroy_frees(const Options& options) {
    Subject subject(options);
    expect_freed(options, subject, "destroy", [&] { subject.destroy(); });
}

void check_leaks(const Options& options) {
    const Subject subject(options);
    bool is_measured = false;
    for (const cleave_memory_space space : subject.spaces()) {
        std::vector<cleave_memory> held;
        held.reserve(100);
        const auto round = [&](std::size_t number) {
            for (std::size_t i = 0; i < 64; ++i) {
                const std::size_t size = i < 60 ? i * number % 1000 : i * number * 997 % (2 * kMiB);
                held.push_back(
                    subject.allocate({.size = size, .space = space, .flags = i % 8 == 0 ? CLEAVE_MEMORY_SECRET : 0}));
            }
            for (const cleave_memory& memory : held) subject.release(memory);
            held.clear();
        };
        const bool is_of_host = space == CLEAVE_MEMORY_HOST;  // whose calls are a hundred times as fast
        const std::size_t first_rounds = is_of_host ? 50 : 5;
        for (std::size_t i = 0; i < first_rounds; ++i) round(i);
        subject.reset();
        const Figures figures(options, subject);
        if (!figures.has(space)) continue;
        is_measured = true;
        const std::size_t rounds = is_of_host ? 1000 : 100;
        for (std::size_t i = 0; i < rounds; ++i) round(i);
        const std::string what = "after " + std::to_string(rounds) + " rounds";
        // Before a reset, a manager's own figure counts the memory that it keeps for reuse as free.
        if (!is_of_host) figures.expect_no_more(what, Figures::Who::kManager);
        subject.reset();
        figures.expect_no_more(what);
    }
    if (!is_measured) skip_unmeasured(subject);
}

void check_independence(const Options& options) {
    Subject first(options);
    const cleave_memory_space space = first.space();
    {
        const Subject second(options);
        Subject third(options);
        expect(first.face().state != second.face().state, "two managers share a state");
        const cleave_memory one = first.allocate({.size = 5000, .space = space});
        const cleave_memory other = second.allocate({.size = 5000, .space = space});
        first.fill(space, one, 1);
        second.fill(space, other, 2);
        third.fill(space, third.allocate({.size = 5000, .space = space}), 3);
        third.reset();
        third.fill(space, third.allocate({.size = 5000, .space = space}), 4);
        third.destroy();
        second.expect_filled(space, other, 2);
        second.reset();
        first.expect_filled(space, one, 1);
        first.release(one);
    }
    const cleave_memory last = first.allocate({.size = 5000, .space = space});
    first.fill(space, last, 1);
    first.expect_filled(space, last, 1);
    first.release(last);
}

constexpr std::array kLifetimeChecks{
    NamedCheck{"lifetime.initialize_again", check_initialize_again},
    NamedCheck{"lifetime.reset_first", check_reset_first},
    NamedCheck{"lifetime.reset", check_reset},
    NamedCheck{"lifetime.reset_frees", check_reset_frees},
    NamedCheck{"lifetime.destroy_frees", check_destroy_frees},
    NamedCheck{"lifetime.leaks", check_leaks},
    NamedCheck{"lifetime.independence", check_independence},
};

}  // namespace

std::span<const NamedCheck> lifetime_checks() { return kLifetimeChecks; }

}  // namespace cleave::conformance
