// Features of managers for a device: memory that is pinned later, and memory that another process maps.
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <deque>
#include <iostream>
#include <thread>

#include "conformance.h"

namespace cleave::conformance {
namespace {

// Counts, and calls the manager when it is released, as the finalizer of an object in another language may.
struct Owner {
    const Subject& subject;
    int retained = 0;
    int released = 0;
    bool calls_manager = true;
    cleave_memory_owner face() {
        return {this, [](void* object) { ++static_cast<Owner*>(object)->retained; },
                [](void* object) {
                    auto& owner = *static_cast<Owner*>(object);
                    ++owner.released;
                    if (!owner.calls_manager) return;
                    owner.subject.release(owner.subject.allocate({.size = 100, .space = owner.subject.space()}));
                }};
    }
};

// They outlive the manager, which lets go of them when it is destroyed at the latest, even if the check fails.
std::deque<Owner>& owners() {
    static std::deque<Owner> all;
    return all;
}

// Pins memory of which it checks everything, for one owner.
class Pinner {
public:
    Pinner(const Options& options, const Subject& subject)
        : options_(options), subject_(subject), owner_(owners().emplace_back(Owner{subject})) {}
    Pinner(const Pinner&) = delete;
    Pinner& operator=(const Pinner&) = delete;
    ~Pinner() { stop_calling_manager(); }

    int try_pin(void* pointer, std::size_t size, std::uint32_t flags, cleave_memory& pinned) {
        const cleave_memory_owner copied = owner_.face();  // the manager copies what it needs
        const cleave_memory_manager& face = subject_.face();
        return face.pin(face.state, &copied, pointer, size, flags, &pinned);
    }
    void refuse(void* pointer, std::size_t size, std::uint32_t flags, int wanted, const std::string& what) {
        cleave_memory pinned{&errno, 12345, &errno};
        expect_error(try_pin(pointer, size, flags, pinned), wanted, "pin of " + what);
        expect(pinned.pointer == &errno && pinned.size == 12345,
               "pin of " + what + ": a call that failed changed *pinned");
        expect_balance(0, "pin of " + what);
    }
    cleave_memory pin(void* pointer, std::size_t size, std::uint32_t flags = 0) {
        cleave_memory pinned{};
        expect_error(try_pin(pointer, size, flags, pinned), 0, "pin");
        expect(pinned.pointer == pointer && pinned.size == size, "pin: another pointer or size");
        ++pins_;
        expect_balance(1, "pin");
        expect(options_.hooks == nullptr || options_.hooks->knows(pointer) == 1,
               "pin: the driver does not know the memory");
        return pinned;
    }
    void release(const cleave_memory& pinned) {
        subject_.release(pinned);
        expect_unpinned(pinned.pointer, "release");
    }
    // To be called before the manager is reset or destroyed.
    void stop_calling_manager() { owner_.calls_manager = false; }
    void expect_unpinned(const void* pointer, const std::string& what) {
        expect_balance(0, what);
        expect(options_.hooks == nullptr || options_.hooks->knows(pointer) == 0, what + ": the memory is still pinned");
    }

private:
    // `held` is how many times the owner has been retained and not released.
    void expect_balance(int held, const std::string& what) const {
        expect(owner_.retained == pins_, what + ": the owner was not retained once");
        expect(owner_.retained - owner_.released == held, what + ": the owner was not released once");
    }

    const Options& options_;
    const Subject& subject_;
    Owner& owner_;
    int pins_ = 0;
};

void check_pin(const Options& options) {
    Subject subject(options);
    if (!subject.can(CLEAVE_MEMORY_CAN_PIN)) skip("it has no pin");
    if (subject.can(CLEAVE_MEMORY_CAN_PINNED | CLEAVE_MEMORY_CAN_DEVICE) && !options.has_device) {
        skip("--device tests it");
    }
    const cleave_memory_manager& face = subject.face();
    Pinner pinner(options, subject);
    std::vector<std::uint8_t> bytes = pattern(kMiB, 1);
    std::uint8_t* const begin = bytes.data();

    pinner.refuse(begin, 0, 0, EINVAL, "0 bytes");
    pinner.refuse(nullptr, 100, 0, EINVAL, "a null pointer");
    pinner.refuse(begin, kMiB, 1U << 31, EINVAL, "memory with an unknown flag");
    pinner.refuse(begin, kMiB, CLEAVE_MEMORY_ZEROED, EINVAL, "memory with the flag \"zeroed\"");
    const cleave_memory first = pinner.pin(begin, kMiB);
    expect(bytes == pattern(kMiB, 1), "pin changes the memory");
    cleave_memory second{};
    expect_error(pinner.try_pin(begin, kMiB, 0, second), EEXIST, "pin of pinned memory");
    expect_error(pinner.try_pin(begin + kMiB / 2, kMiB / 4, 0, second), EEXIST, "pin of a part of pinned memory");
    pinner.release(first);

    // No alignment; the device's flags; and another thread, which releases.
    pinner.release(pinner.pin(begin + 4097, 70'001, CLEAVE_MEMORY_PORTABLE));
    const int error = pinner.try_pin(begin, kMiB, CLEAVE_MEMORY_PIN_MAPPED, second);
    if (error == 0) subject.release(second);
    expect(error == 0 || error == ENOTSUP, "pin of mapped memory returned " + std::to_string(error));
    Pinner other(options, subject);
    const cleave_memory third = other.pin(begin, kMiB);
    std::optional<Failure> failure;
    std::thread([&] {
        try {
            subject.initialize();
            other.release(third);
        } catch (const Failure& thrown) {
            failure = thrown;
        }
    }).join();
    if (failure) throw Failure(*failure);

    // Unpinning is not put off, because the same memory may be pinned again at once.
    if (subject.can(CLEAVE_MEMORY_CAN_DEFER)) expect_error(face.defer_cleanup_begin(face.state), 0, "begin");
    other.release(other.pin(begin, kMiB));
    other.pin(begin, kMiB);
    other.stop_calling_manager();
    subject.reset();
    other.expect_unpinned(begin, "reset");
    other.pin(begin, kMiB);
    subject.destroy();
    other.expect_unpinned(begin, "destroy");
}

// What this process sends to another one, about memory that it has exported. The other one replies with 0 if it has
// read the pattern.
struct Message {
    cleave_memory_export exported{};
    std::uint64_t seed = 0;
    bool is_last = false;
};

// Reads exported memory through the manager, or through the hooks if it cannot open any.
int read_exported(const Options& options, const Subject& subject, const Message& message) {
    const cleave_memory_manager& face = subject.face();
    const bool opens = subject.can(CLEAVE_MEMORY_CAN_OPEN);
    cleave_memory memory{};
    int error = opens ? face.open_ipc(face.state, &message.exported, 0, &memory)
                      : options.hooks->open_ipc(&message.exported, &memory.pointer);
    if (error != 0) return error;
    std::vector<std::uint8_t> bytes(message.exported.size);
    if (opens && memory.size != bytes.size()) return EMSGSIZE;
    error = options.hooks->read(bytes.data(), memory.pointer, bytes.size());
    if (error == 0 && bytes != pattern(bytes.size(), message.seed)) error = EILSEQ;
    cleave_memory_export again{};
    if (opens && face.export_ipc != nullptr && face.export_ipc(face.state, &memory, &again) != ENOTSUP) error = EPERM;
    const int closed = opens ? face.release(face.state, &memory, nullptr)
                             : options.hooks->close_ipc(&message.exported, memory.pointer);
    if (error == 0) error = closed;
    if (error == 0 && options.hooks->knows(memory.pointer) != 0) error = EBUSY;  // it is still mapped
    return error;
}

// The refusals that the contract names, in a process that can open the memory.
int refuse_exported(const Subject& subject, const Message& message) {
    const cleave_memory_manager& face = subject.face();
    cleave_memory memory{&errno, 12345, &errno};
    const auto is_refused = [&](const cleave_memory_export& exported, std::int32_t device, int wanted) {
        return face.open_ipc(face.state, &exported, device, &memory) == wanted && memory.size == 12345;
    };
    cleave_memory_export elsewhere = message.exported;
    elsewhere.device[3] ^= 0x55;
    cleave_memory_export malformed = message.exported;
    malformed.handle_size = 3;
    if (!is_refused(elsewhere, 0, EXDEV)) return EXDEV;
    if (!is_refused(malformed, 0, EINVAL)) return EINVAL;
    return is_refused(message.exported, -1, ENODEV) ? 0 : ENODEV;
}

// The other process. It starts before this one uses the device, because a driver does not survive fork().
int answer(const Options& options, int from, int to) {
    std::optional<Subject> subject;
    for (Message message; ::read(from, &message, sizeof message) == sizeof message;) {
        if (!subject) subject.emplace(options);
        int error = 0;
        if (message.is_last) {
            // What is still open is closed by reset.
            if (subject->can(CLEAVE_MEMORY_CAN_OPEN)) error = refuse_exported(*subject, message);
            cleave_memory memory{};
            const cleave_memory_manager& face = subject->face();
            if (error == 0 && subject->can(CLEAVE_MEMORY_CAN_OPEN)) {
                error = face.open_ipc(face.state, &message.exported, 0, &memory);
                subject->reset();
                if (error == 0 && options.hooks->knows(memory.pointer) != 0) error = EBUSY;
            }
        } else {
            error = read_exported(options, *subject, message);
        }
        if (::write(to, &error, sizeof error) != sizeof error) return 1;
    }
    return 0;
}

// Only memory of a device has a handle.
void refuse_host_memory(const Subject& subject) {
    const cleave_memory_manager& face = subject.face();
    for (const cleave_memory_space space : subject.spaces()) {
        if (space == CLEAVE_MEMORY_DEVICE) continue;
        const cleave_memory memory = subject.allocate({.size = 100, .space = space});
        cleave_memory_export exported{};
        expect_error(face.export_ipc(face.state, &memory, &exported), ENOTSUP, "export_ipc of " + name_of(space));
        expect(exported.handle_size == 0, "export_ipc of " + name_of(space) + ": a call that failed changed *exported");
        subject.release(memory);
    }
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
        int status = 1;
        try {
            status = answer(options, there[0], back[1]);
        } catch (const std::exception& error) {
            std::cerr << "the other process: " << error.what() << '\n';
        }
        ::_exit(status);
    }
    ::close(there[0]);
    ::close(back[1]);

    const Subject subject(options);
    const cleave_memory_manager& face = subject.face();
    if (!subject.can(CLEAVE_MEMORY_CAN_EXPORT)) skip("it has no export_ipc");
    refuse_host_memory(subject);
    const auto ask = [&](const Message& message, const std::string& what) {
        int error = 0;
        expect(::write(there[1], &message, sizeof message) == sizeof message, "write to the other process");
        expect(::read(back[0], &error, sizeof error) == sizeof error, "the other process has ended");
        expect_error(error, 0, "the other process, which " + what + ",");
    };
    std::vector<cleave_memory> held;
    Message message;
    for (const std::size_t size : {std::size_t{100}, std::size_t{5000}, std::size_t{3} << 20}) {
        held.push_back(subject.allocate({.size = size, .space = CLEAVE_MEMORY_DEVICE}));
        subject.fill(CLEAVE_MEMORY_DEVICE, held.back(), size);
        message = {.seed = size};
        expect_error(face.export_ipc(face.state, &held.back(), &message.exported), 0, "export_ipc");
        expect(message.exported.handle_size > 0 && message.exported.handle_size <= 64, "export_ipc: handle_size");
        expect(message.exported.size == held.back().size, "export_ipc: the size is not that of the memory");
        ask(message, "read " + std::to_string(size) + " bytes");
        ask(message, "read " + std::to_string(size) + " bytes again");
    }
    if (subject.can(CLEAVE_MEMORY_CAN_OPEN)) {
        cleave_memory memory{};
        expect_error(face.open_ipc(face.state, &message.exported, 0, &memory), EEXIST,
                     "open_ipc in the process that exported the memory");
    }
    message.is_last = true;
    ask(message, "refused what it must, opened memory and reset the manager");
    ::close(there[1]);
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
