// Allocation.
#include <cerrno>

#include "conformance.h"

namespace cleave::conformance {
namespace {

void check_spaces(const Options& options) {
    const Subject subject(options);
    for (const cleave_memory_space space : subject.spaces()) {
        const cleave_memory memory = subject.allocate({.size = 1000, .space = space});
        subject.fill(space, memory, space);
        subject.expect_filled(space, memory, space);
        subject.release(memory);
    }
    for (const cleave_memory_space space : kSpaces) {
        cleave_memory memory{};
        if (subject.can(CLEAVE_MEMORY_CAN_HOST << space)) continue;
        expect_error(subject.try_allocate({.size = 1000, .space = space}, memory), ENOTSUP,
                     "a request for " + name_of(space) + " memory, which it does not have,");
    }
}

void check_sizes(const Options& options) {
    const Subject subject(options);
    for (const cleave_memory_space space : subject.spaces()) {
        for (const std::size_t size : {std::size_t{1}, std::size_t{2}, std::size_t{63}, std::size_t{64},
                                       std::size_t{777}, std::size_t{2048}, std::size_t{4095}, std::size_t{4096},
                                       std::size_t{65'537}, kMiB - 1, kMiB, kMiB + 1, 2 * kMiB, 3 * kMiB + 5}) {
            const cleave_memory memory = subject.allocate({.size = size, .space = space});
            subject.fill(space, memory, size);
            subject.expect_filled(space, memory, size);
            subject.release(memory);
        }
    }
}

void check_size_zero(const Options& options) {
    const Subject subject(options);
    for (const cleave_memory_space space : subject.spaces()) {
        const cleave_memory first = subject.allocate({.size = 0, .space = space});
        const cleave_memory second =
            subject.allocate({.size = 0, .space = space, .alignment = kMiB, .flags = CLEAVE_MEMORY_ZEROED});
        subject.fill(space, first, 1);
        subject.fill(space, second, 2);
        subject.expect_filled(space, first, 1);
        subject.release(first);
        subject.expect_filled(space, second, 2);
        subject.release(second);
    }
}

void check_alignments(const Options& options) {
    const Subject subject(options);
    for (const cleave_memory_space space : subject.spaces()) {
        for (std::size_t alignment = 1; alignment <= kMiB; alignment *= 2) {
            std::vector<cleave_memory> held;
            for (const std::size_t size :
                 {std::size_t{1}, alignment / 2 + 1, alignment, alignment + 1, 3 * alignment}) {
                held.push_back(subject.allocate({.size = size, .space = space, .alignment = alignment}));
                subject.fill(space, held.back(), size);
            }
            for (const cleave_memory& memory : held) subject.release(memory);
        }
    }
}

void check_arguments(const Options& options) {
    const Subject subject(options);
    const cleave_memory_space space = subject.space();
    const auto expect_invalid = [&](const Wanted& wanted, const std::string& what) {
        cleave_memory memory{};
        expect_error(subject.try_allocate(wanted, memory), EINVAL, what);
    };
    expect_invalid({.size = 100, .space = space, .alignment = 3}, "an alignment of 3");
    expect_invalid({.size = 100, .space = space, .alignment = 96}, "an alignment of 96");
    expect_invalid({.size = 0, .space = space, .alignment = 3}, "an alignment of 3 for 0 bytes");
    expect_invalid({.size = 100, .space = 4}, "the space 4");
    expect_invalid({.size = 100, .space = UINT32_MAX}, "the space 4294967295");
    expect_invalid({.size = 100, .space = space, .flags = CLEAVE_MEMORY_SECRET << 1}, "an unknown flag");
    expect_invalid({.size = 100, .space = space, .flags = 1U << 31 | CLEAVE_MEMORY_ZEROED}, "the highest flag");
    subject.release(subject.allocate({.size = 100, .space = space}));
}

void check_flags(const Options& options) {
    const Subject subject(options);
    for (const cleave_memory_space space : subject.spaces()) {
        for (const std::uint32_t flag : {CLEAVE_MEMORY_PORTABLE, CLEAVE_MEMORY_WRITE_COMBINED, CLEAVE_MEMORY_ZEROED,
                                         CLEAVE_MEMORY_HUGE, CLEAVE_MEMORY_SECRET}) {
            for (const std::size_t size : {std::size_t{100}, 4 * kMiB + 1}) {
                const cleave_memory memory = subject.allocate({.size = size, .space = space, .flags = flag});
                subject.fill(space, memory, flag);
                subject.expect_filled(space, memory, flag);
                subject.release(memory);
            }
        }
    }
}

// Adjacent blocks are used to their last byte, and keep their content while others come and go.
void check_neighbours(const Options& options) {
    const Subject subject(options);
    constexpr std::size_t kCount = 64;
    constexpr int kRounds = kIsSanitized ? 500 : 3000;
    for (const cleave_memory_space space : subject.spaces()) {
        std::mt19937_64 random(space);
        std::array<std::optional<cleave_memory>, kCount> held;
        for (int round = 0; round < kRounds; ++round) {
            auto& one = held.at(random() % kCount);
            const auto seed = static_cast<std::uint64_t>(&one - held.data());
            if (one) {
                subject.expect_filled(space, *one, seed);
                subject.release(*one);
                one.reset();
                continue;
            }
            const std::size_t most = round % 16 == 0 ? 300'000 : 3000;
            one = subject.allocate({.size = random() % most,
                                    .space = space,
                                    .alignment = std::size_t{1} << random() % 13,
                                    .flags = round % 3 == 0 ? CLEAVE_MEMORY_SECRET : 0});
            subject.fill(space, *one, seed);
        }
        for (std::size_t i = 0; i < kCount; ++i) {
            if (!held.at(i)) continue;
            subject.expect_filled(space, *held.at(i), i);
            subject.release(*held.at(i));
        }
    }
}

// Memory is zeroed even if it was used before.
void check_zeroed(const Options& options) {
    const Subject subject(options);
    for (const cleave_memory_space space : subject.spaces()) {
        for (int round = 0; round < 4; ++round) {
            for (const std::size_t size :
                 {std::size_t{0}, std::size_t{1}, std::size_t{100}, std::size_t{5000}, kMiB + 1}) {
                std::vector<cleave_memory> held;
                for (int i = 0; i < 4; ++i) {
                    held.push_back(subject.allocate({.size = size, .space = space, .flags = CLEAVE_MEMORY_ZEROED}));
                    subject.expect_zero(space, held.back());
                    subject.fill(space, held.back(), 3);
                }
                for (const cleave_memory& memory : held) subject.release(memory);
            }
        }
    }
}

constexpr std::array kAllocationChecks{
    NamedCheck{"allocate.spaces", check_spaces},         NamedCheck{"allocate.sizes", check_sizes},
    NamedCheck{"allocate.size_zero", check_size_zero},   NamedCheck{"allocate.alignments", check_alignments},
    NamedCheck{"allocate.arguments", check_arguments},   NamedCheck{"allocate.flags", check_flags},
    NamedCheck{"allocate.neighbours", check_neighbours}, NamedCheck{"allocate.zeroed", check_zeroed},
};

}  // namespace

std::span<const NamedCheck> allocation_checks() { return kAllocationChecks; }

}  // namespace cleave::conformance
