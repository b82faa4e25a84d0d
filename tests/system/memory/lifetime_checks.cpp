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

// Expects a call of `free_all` to shrink the address space to within 1 MiB of its size before the allocation.
void expect_freed(const Subject& subject, const std::string& what, const std::function<void()>& free_all) {
    if (kIsSanitized) skip("a sanitizer keeps memory that was freed");
    if (!subject.can(CLEAVE_MEMORY_CAN_HOST)) skip("it has no host memory");
    const std::uint64_t before = mapped_size();
    for (int i = 0; i < 64; ++i) std::memset(subject.allocate({.size = 2 * kMiB}).pointer, 1, 2 * kMiB);
    expect(mapped_size() >= before + 100 * kMiB, "128 MiB do not show in /proc/self/statm");
    free_all();
    const std::uint64_t after = mapped_size();
    expect(after <= before + kMiB, what + " keeps " + std::to_string(after - before) + " bytes");
}

void check_reset_frees(const Options& options) {
    const Subject subject(options);
    subject.spaces();
    expect_freed(subject, "reset", [&] { subject.reset(); });
}

void check_destroy_frees(const Options& options) {
    Subject subject(options);
    subject.spaces();
    expect_freed(subject, "destroy", [&] { subject.destroy(); });
}

void check_leaks(const Options& options) {
    const Subject subject(options);
    subject.spaces();
    if (kIsSanitized) skip("a sanitizer keeps memory that was freed");
    if (!subject.can(CLEAVE_MEMORY_CAN_HOST)) skip("it has no host memory");
    std::vector<cleave_memory> held;
    held.reserve(100);
    const auto round = [&](std::size_t number) {
        for (std::size_t i = 0; i < 64; ++i) {
            const std::size_t size = i < 60 ? i * number % 1000 : i * number * 997 % (2 * kMiB);
            held.push_back(subject.allocate({.size = size, .flags = i % 8 == 0 ? CLEAVE_MEMORY_SECRET : 0}));
        }
        for (const cleave_memory& memory : held) subject.release(memory);
        held.clear();
    };
    for (std::size_t i = 0; i < 50; ++i) round(i);
    subject.reset();
    const std::uint64_t before = mapped_size();
    for (std::size_t i = 0; i < 1000; ++i) round(i);
    subject.reset();
    const std::uint64_t after = mapped_size();
    expect(after <= before + kMiB, "after 1000 rounds, " + std::to_string(after - before) + " bytes more are mapped");
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
