// Host memory for secrets, which must not leak.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "conformance.h"

namespace cleave::conformance {
namespace {

constexpr std::array kSizes{std::size_t{24}, std::size_t{1000}, std::size_t{5000}, (std::size_t{1} << 20) + 1};

void skip_without_secret(const Subject& subject) {
    if (!subject.can(CLEAVE_MEMORY_CAN_SECRET)) skip("cleave keeps the memory of this manager secret");
    if (!subject.can(CLEAVE_MEMORY_CAN_HOST)) skip("it has no host memory");
}

// Memory with a secret. Construct this object before the release; afterwards it allocates nothing, because an
// allocation could reuse the released memory.
class Secret {
public:
    // The memory must already be filled.
    Secret(const cleave_memory& memory, std::size_t size)
        : address_(memory.pointer), bytes_(pattern(memory.size, size)), left_(memory.size) {
        look();
        expect(left_ == bytes_, "/proc/self/mem shows something else");
    }

    // Fails if eight consecutive bytes are unchanged. Shorter matches may be the bookkeeping of an allocator.
    void expect_wiped() {
        const std::size_t got = look();
        std::size_t run = 0;
        for (std::size_t i = 0; i < got; ++i) {
            run = left_[i] == bytes_[i] ? run + 1 : 0;
            if (run == 8) {
                expect(false,
                       "secret memory of " + std::to_string(bytes_.size()) + " bytes can be read after its release");
            }
        }
    }

private:
    // How many bytes can be read at the address, which may no longer be mapped.
    std::size_t look() {
        const int memory = ::open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
        expect(memory >= 0, "/proc/self/mem cannot be opened");
        const ssize_t got =
            ::pread(memory, left_.data(), left_.size(), static_cast<off_t>(reinterpret_cast<std::uintptr_t>(address_)));
        ::close(memory);
        return got < 0 ? 0 : static_cast<std::size_t>(got);
    }

    const void* address_;
    std::vector<std::uint8_t> bytes_;
    std::vector<std::uint8_t> left_;
};

void check_wiped(const Options& options) {
    const Subject subject(options);
    skip_without_secret(subject);
    // If clean-up is deferred, the memory can still be inspected.
    const cleave_memory_manager& face = subject.face();
    if (subject.can(CLEAVE_MEMORY_CAN_DEFER)) expect_error(face.defer_cleanup_begin(face.state), 0, "begin");
    // A neighbour keeps the pages mapped.
    const cleave_memory neighbour = subject.allocate({.size = 100});
    for (const std::size_t size : kSizes) {
        const cleave_memory memory = subject.allocate({.size = size, .flags = CLEAVE_MEMORY_SECRET});
        subject.fill(CLEAVE_MEMORY_HOST, memory, size);
        Secret secret(memory, size);
        subject.release(memory);
        secret.expect_wiped();
    }
    subject.release(neighbour);
}

void check_wiped_by_reset(const Options& options) {
    const Subject subject(options);
    skip_without_secret(subject);
    std::vector<Secret> secrets;
    for (const std::size_t size : kSizes) {
        const cleave_memory memory = subject.allocate({.size = size, .flags = CLEAVE_MEMORY_SECRET});
        subject.fill(CLEAVE_MEMORY_HOST, memory, size);
        secrets.emplace_back(memory, size);
    }
    subject.reset();
    for (Secret& secret : secrets) secret.expect_wiped();
}

// Whether all bytes are in mappings with the flag "dd" (no dump) in /proc/self/smaps.
bool is_left_out_of_dumps(const cleave_memory& memory) {
    const auto first = reinterpret_cast<std::uintptr_t>(memory.pointer);
    const std::uintptr_t last = first + memory.size;
    std::uintptr_t next = first;  // the first byte that has not been checked yet
    std::ifstream maps("/proc/self/smaps");
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    for (std::string line; next < last && std::getline(maps, line);) {
        char dash = 0;
        std::uintptr_t from = 0;
        std::uintptr_t to = 0;
        std::istringstream words(line);
        if (line.starts_with("VmFlags:")) {
            if (begin > next || end <= next) continue;
            if ((line + " ").find(" dd ") == std::string::npos) return false;
            next = end;
        } else if (words >> std::hex >> from >> dash >> to && dash == '-') {
            begin = from;
            end = to;
        }
    }
    return next >= last;
}

void check_left_out_of_dumps(const Options& options) {
    const Subject subject(options);
    skip_without_secret(subject);
    std::vector<cleave_memory> held;
    for (const std::size_t size : kSizes) {
        for (const std::uint32_t more : {0U, CLEAVE_MEMORY_ZEROED, CLEAVE_MEMORY_HUGE}) {
            held.push_back(subject.allocate({.size = size, .flags = CLEAVE_MEMORY_SECRET | more}));
            subject.fill(CLEAVE_MEMORY_HOST, held.back(), size);
        }
    }
    for (const cleave_memory& memory : held) {
        expect(is_left_out_of_dumps(memory), std::to_string(memory.size) + " secret bytes are part of a core dump");
        subject.release(memory);
    }
}

constexpr std::array kSecretChecks{
    NamedCheck{"secret.wiped", check_wiped},
    NamedCheck{"secret.wiped_by_reset", check_wiped_by_reset},
    NamedCheck{"secret.left_out_of_dumps", check_left_out_of_dumps},
};

}  // namespace

std::span<const NamedCheck> secret_checks() { return kSecretChecks; }

}  // namespace cleave::conformance
