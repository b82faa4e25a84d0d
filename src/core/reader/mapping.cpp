#include "core/reader/mapping.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <utility>

#include "cleave/mapping_guard.h"

namespace cleave {
namespace {

// The table entry of a mapping. `begin` is set last and cleared first: while it is set, `end` is valid.
struct Slot {
    std::atomic<bool> taken;
    std::atomic<bool> faulted;
    std::atomic<std::uintptr_t> begin;  // 0: none yet
    std::atomic<std::uintptr_t> end;

    bool holds(std::uintptr_t address) const noexcept {
        const std::uintptr_t first = begin.load();
        return first != 0 && first <= address && address < end.load() && begin.load() == first;
    }
};

// A signal handler can only reach its data through globals.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): see above
constinit std::array<Slot, Mapping::kMaxCount> slots{};
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<std::uintptr_t>::is_always_lock_free);

std::uintptr_t page_size() noexcept { return static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE)); }

// Returns kMaxCount if all are taken.
std::size_t take_slot() noexcept {
    std::size_t i = 0;
    while (i < slots.size() && slots[i].taken.exchange(true)) ++i;
    return i;
}

void leave_slot(std::size_t i) noexcept {
    slots[i].begin.store(0);
    slots[i].faulted.store(false);
    slots[i].taken.store(false);
}

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): a signal handler has no other way to get it
struct sigaction previous;

void on_bus_error(int, siginfo_t* info, void*) {
    const int saved_errno = errno;
    const bool is_sent = info->si_code <= 0;  // by a process, so no address is at fault
    if (is_sent || !lay_zeros(info->si_addr)) {
        ::sigaction(SIGBUS, &previous, nullptr);  // the fault recurs on return
        // Pending for this thread until the handler returns. kill() could pick another thread, such as the thread
        // sanitizer's own, which must not run a handler.
        if (is_sent) ::pthread_kill(::pthread_self(), SIGBUS);
    }
    errno = saved_errno;
}

bool is_ours(const struct sigaction& action) {
    return (action.sa_flags & SA_SIGINFO) != 0 && action.sa_sigaction == on_bus_error;
}

}  // namespace

std::optional<Mapping> Mapping::of(int descriptor, std::uint64_t offset, std::uint64_t end) {
    const std::uint64_t start = offset / page_size() * page_size();
    const std::size_t i = take_slot();
    if (i == slots.size()) return std::nullopt;
    void* address = ::mmap(nullptr, end - start, PROT_READ, MAP_SHARED, descriptor, static_cast<off_t>(start));
    if (address == MAP_FAILED) {
        leave_slot(i);
        return std::nullopt;
    }
    const auto begin = reinterpret_cast<std::uintptr_t>(address);
    slots[i].end.store(begin + (end - start));
    slots[i].begin.store(begin);
    return Mapping{{static_cast<const std::uint8_t*>(address), end - start}, offset - start, i};
}

Mapping::Mapping(Mapping&& other) noexcept
    : all_(std::exchange(other.all_, {})),
      skip_(std::exchange(other.skip_, 0)),
      slot_(std::exchange(other.slot_, kMaxCount)) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
    std::swap(all_, other.all_);
    std::swap(skip_, other.skip_);
    std::swap(slot_, other.slot_);
    return *this;
}

Mapping::~Mapping() {
    if (slot_ == kMaxCount) return;
    // Removed from the table first, because after munmap() the addresses may immediately belong to another mapping.
    const std::size_t slot = std::exchange(slot_, kMaxCount);
    slots[slot].begin.store(0);
    ::munmap(const_cast<std::uint8_t*>(all_.data()), all_.size());
    leave_slot(slot);
}

bool Mapping::has_faulted() const noexcept { return slot_ != kMaxCount && slots[slot_].faulted.load(); }

bool lay_zeros(const void* address) noexcept {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    for (Slot& slot : slots) {
        if (!slot.holds(at)) continue;
        const std::uintptr_t page = at / page_size() * page_size();
        // Not mmap(): the sanitizers' version is not made for signal handlers, and reports the new pages as a write
        // that races with the other readers.
        const std::int64_t laid = ::syscall(SYS_mmap, page, slot.end.load() - page, PROT_READ,
                                            MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0L);
        if (laid == -1) return false;
        slot.faulted.store(true);
        return true;
    }
    return false;
}

MappingGuard::MappingGuard() noexcept {
    ::sigaction(SIGBUS, nullptr, &previous);
    struct sigaction action = {};
    action.sa_sigaction = on_bus_error;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
    ::sigaction(SIGBUS, &action, nullptr);
}

MappingGuard::~MappingGuard() {
    if (is_active()) ::sigaction(SIGBUS, &previous, nullptr);
}

bool MappingGuard::is_active() noexcept {
    struct sigaction action = {};
    return ::sigaction(SIGBUS, nullptr, &action) == 0 && is_ours(action);
}

}  // namespace cleave
