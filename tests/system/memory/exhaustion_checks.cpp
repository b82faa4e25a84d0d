// How a manager behaves when memory runs out.
#include <sys/resource.h>

#include <cerrno>
#include <cstring>

#include "conformance.h"

namespace cleave::conformance {
namespace {

constexpr std::size_t kAbsurdAlignment = SIZE_MAX / 2 + 1;
// The address sanitizer's posix_memalign() aborts for larger alignments.
constexpr std::size_t kMostAlignment = kIsSanitized ? 1024 * kMiB : kAbsurdAlignment;

// No machine has that much memory.
void check_absurd_sizes(const Options& options) {
    const Subject subject(options);
    for (const cleave_memory_space space : subject.spaces()) {
        const cleave_memory neighbour = subject.allocate({.size = 1000, .space = space});
        subject.fill(space, neighbour, 1);
        for (const std::size_t size : {SIZE_MAX, SIZE_MAX - 1, SIZE_MAX - 63, SIZE_MAX - 4095, SIZE_MAX - 2 * kMiB + 1,
                                       SIZE_MAX / 2 + 1 + 4096, SIZE_MAX / 2 + 1, SIZE_MAX / 4, std::size_t{1} << 50}) {
            for (const std::size_t alignment : {std::size_t{0}, std::size_t{1}, std::size_t{4096}, kMostAlignment}) {
                for (const std::uint32_t flags :
                     {0U, CLEAVE_MEMORY_ZEROED | CLEAVE_MEMORY_HUGE, CLEAVE_MEMORY_SECRET}) {
                    cleave_memory memory{};
                    const Wanted wanted{.size = size, .space = space, .alignment = alignment, .flags = flags};
                    expect_error(subject.try_allocate(wanted, memory), ENOMEM,
                                 "a request for " + std::to_string(size) + " bytes, alignment " +
                                     std::to_string(alignment) + ", flags " + std::to_string(flags));
                }
            }
        }
        if (!kIsSanitized) {
            cleave_memory memory{};
            expect_error(subject.try_allocate({.size = 1, .space = space, .alignment = kAbsurdAlignment}, memory),
                         ENOMEM, "an alignment of 2^63");
        }
        subject.release(subject.allocate({.size = kMiB, .space = space}));
        subject.expect_filled(space, neighbour, 1);
        subject.release(neighbour);
    }
}

// Fills the address space, then releases and fills it again. The manager works before, during and after.
void check_address_space(const Options& options) {
    const Subject subject(options);
    if (kIsSanitized) skip("a sanitizer needs much address space itself");
    if (options.has_device) skip("a driver needs much address space itself");
    if (!subject.can(CLEAVE_MEMORY_CAN_HOST)) skip("it has no host memory");
    const Wanted large{.size = 8 * kMiB};
    std::vector<cleave_memory> held;
    held.reserve(1000);
    held.push_back(subject.allocate({.size = 1000}));
    const std::uint64_t most = mapped_size() + 256 * kMiB;
    const rlimit limit{most, most};
    expect(::setrlimit(RLIMIT_AS, &limit) == 0, "setrlimit");
    int error = 0;
    while (error == 0 && held.size() < 1000) {
        cleave_memory memory{};
        error = subject.try_allocate(large, memory);
        if (error != 0) break;
        std::memset(memory.pointer, 1, memory.size);
        held.push_back(memory);
    }
    expect_error(error, ENOMEM, "allocate, beyond the limit of the address space,");
    expect(held.size() > 8, "only " + std::to_string(held.size() - 1) + " blocks of 8 MiB fit into 256 MiB");
    for (int round = 0; round < 5; ++round) {
        cleave_memory memory{};
        subject.release(held.back());
        held.pop_back();
        expect_error(subject.try_allocate(large, memory), 0, "allocate of 8 MiB, after a release of 8 MiB,");
        held.push_back(memory);
        expect_error(subject.try_allocate({.size = 1024 * kMiB}, memory), ENOMEM, "allocate of 1 GiB");
    }
    for (const cleave_memory& memory : held) subject.release(memory);
    subject.release(subject.allocate(large));
    subject.reset();
    subject.release(subject.allocate(large));
}

constexpr std::array kExhaustionChecks{
    NamedCheck{"exhaustion.absurd_sizes", check_absurd_sizes},
    NamedCheck{"exhaustion.address_space", check_address_space},
};

}  // namespace

std::span<const NamedCheck> exhaustion_checks() { return kExhaustionChecks; }

}  // namespace cleave::conformance
