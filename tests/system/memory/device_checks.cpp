// Features of managers for a device: memory that is pinned later, and memory that another process maps.
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "conformance.h"

namespace cleave::conformance {
namespace {

struct Owner {
    int retained = 0;
    int released = 0;
    cleave_memory_owner face() {
        return {this, [](void* object) { ++static_cast<Owner*>(object)->retained; },
                [](void* object) { ++static_cast<Owner*>(object)->released; }};
    }
};

void check_pin(const Options& options) {
    const Subject subject(options);
    if (!subject.can(CLEAVE_MEMORY_CAN_PIN)) skip("it has no pin");
    if (subject.can(CLEAVE_MEMORY_CAN_DEVICE) && !options.has_device) skip("--device tests it");
    const cleave_memory_manager& face = subject.face();
    std::vector<std::uint8_t> bytes = pattern(1 << 20, 1);
    Owner owner;
    const auto pin = [&] {
        const cleave_memory_owner copied = owner.face();  // the manager copies what it needs
        cleave_memory pinned{};
        expect_error(face.pin(face.state, &copied, bytes.data(), bytes.size(), 0, &pinned), 0, "pin");
        expect(pinned.pointer == bytes.data() && pinned.size == bytes.size(), "pin: another pointer or size");
        return pinned;
    };
    const cleave_memory first = pin();
    expect(owner.retained == 1 && owner.released == 0, "pin: the owner was not retained once");
    expect(bytes == pattern(1 << 20, 1), "pin changes the memory");
    subject.release(first);
    expect(owner.retained == 1 && owner.released == 1, "release: the owner was not released once");
    pin();
    subject.reset();
    expect(owner.retained == 2 && owner.released == 2, "reset: the owner of pinned memory was not released once");
}

// What another process replies about memory that was exported to it: "" if it has read the pattern.
struct Message {
    cleave_memory_export exported{};
    std::uint64_t seed = 0;
    bool is_last = false;
};

// The other process. It starts before this one uses the device, because a driver does not survive fork().
int read_exported(const Options& options, int from, int to) {
    for (Message message; ::read(from, &message, sizeof message) == sizeof message && !message.is_last;) {
        void* pointer = nullptr;
        int error = options.hooks->open_ipc(&message.exported, &pointer);
        std::vector<std::uint8_t> bytes(message.exported.size);
        if (error == 0) error = options.hooks->read(bytes.data(), pointer, bytes.size());
        if (error == 0 && bytes != pattern(bytes.size(), message.seed)) error = EILSEQ;
        if (error == 0) error = options.hooks->close_ipc(&message.exported, pointer);
        if (::write(to, &error, sizeof error) != sizeof error) return 1;
    }
    return 0;
}

void check_export(const Options& options) {
    if (options.hooks == nullptr) skip("--device=/HOOKS.so tests it");
    std::array<int, 2> there{};
    std::array<int, 2> back{};
    expect(::pipe(there.data()) == 0 && ::pipe(back.data()) == 0, "pipe");
    const pid_t child = ::fork();
    expect(child >= 0, "fork");
    if (child == 0) {
        ::close(there[1]);
        ::_exit(read_exported(options, there[0], back[1]));
    }
    ::close(there[0]);
    ::close(back[1]);

    const Subject subject(options);
    const cleave_memory_manager& face = subject.face();
    if (!subject.can(CLEAVE_MEMORY_CAN_EXPORT)) skip("it has no export_ipc");
    for (const cleave_memory_space space : subject.spaces()) {
        if (space == CLEAVE_MEMORY_DEVICE) continue;
        const cleave_memory memory = subject.allocate({.size = 100, .space = space});
        cleave_memory_export exported{};
        expect_error(face.export_ipc(face.state, &memory, &exported), ENOTSUP, "export_ipc of " + name_of(space));
        expect(exported.handle_size == 0, "export_ipc of " + name_of(space) + ": a call that failed changed *exported");
        subject.release(memory);
    }
    std::vector<cleave_memory> held;
    for (const std::size_t size : {std::size_t{100}, std::size_t{5000}, std::size_t{3} << 20}) {
        held.push_back(subject.allocate({.size = size, .space = CLEAVE_MEMORY_DEVICE}));
        subject.fill(CLEAVE_MEMORY_DEVICE, held.back(), size);
        Message message{.seed = size};
        expect_error(face.export_ipc(face.state, &held.back(), &message.exported), 0, "export_ipc");
        expect(message.exported.handle_size > 0 && message.exported.handle_size <= 64, "export_ipc: handle_size");
        expect(message.exported.size == held.back().size, "export_ipc: the size is not that of the memory");
        int error = 0;
        expect(::write(there[1], &message, sizeof message) == sizeof message, "write to the other process");
        expect(::read(back[0], &error, sizeof error) == sizeof error, "the other process has ended");
        expect_error(error, 0, "the other process, which read " + std::to_string(size) + " bytes,");
    }
    const Message last{.is_last = true};
    expect(::write(there[1], &last, sizeof last) == sizeof last, "write to the other process");
    int status = 0;
    ::waitpid(child, &status, 0);
    expect(status == 0, "the other process failed");
    for (const cleave_memory& memory : held) subject.release(memory);
}

constexpr std::array kDeviceChecks{
    NamedCheck{"device.pin", check_pin},
    NamedCheck{"device.export_ipc", check_export},
};

}  // namespace

std::span<const NamedCheck> device_checks() { return kDeviceChecks; }

}  // namespace cleave::conformance
