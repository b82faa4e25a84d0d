// The conformance suite for memory managers: what cleave/memory_manager.h promises, checked through the C interface.
// Each check runs in its own process with its own managers, so a manager that crashes fails only one check.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "cleave/memory_manager.h"
#include "device_hooks.h"
#include "rows/memory/raw_manager.h"

namespace cleave::conformance {

constexpr std::size_t kMiB = std::size_t{1} << 20;

#ifdef CLEAVE_SANITIZED
constexpr bool kIsSanitized = true;
#else
constexpr bool kIsSanitized = false;
#endif

struct Options {
    std::string name;                            // of the manager, as accepted by MemoryManager::open()
    bool has_device = false;                     // pinned, mapped and device memory are tested too
    const cleave_device_hooks* hooks = nullptr;  // may be null
    std::vector<std::string> only;               // only checks whose names begin with one of these
    unsigned limit = 120;                        // seconds that a check may take
};

// Thrown by expect() and skip(); ends a check.
struct Failure : std::runtime_error {
    using std::runtime_error::runtime_error;
};
struct Skip : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Fails the check for the given reason unless `holds`.
void expect(bool holds, const std::string& why);
// The same as expect(error == wanted).
void expect_error(int error, int wanted, const std::string& what);
[[noreturn]] void skip(const std::string& why);

// "host", "pinned", "mapped" or "device".
std::string name_of(cleave_memory_space space);
inline constexpr std::array<cleave_memory_space, 4> kSpaces{CLEAVE_MEMORY_HOST, CLEAVE_MEMORY_PINNED,
                                                            CLEAVE_MEMORY_MAPPED, CLEAVE_MEMORY_DEVICE};

// Arguments of allocate().
struct Wanted {
    std::size_t size = 0;
    cleave_memory_space space = CLEAVE_MEMORY_HOST;
    std::size_t alignment = 0;
    std::uint32_t flags = 0;
};

// A manager under test. Its functions throw Failure if the manager breaks a promise.
class Subject {
public:
    // Opens the manager, and initializes it unless `is_raw`.
    explicit Subject(const Options& options, bool is_raw = false);

    const cleave_memory_manager& face() const { return *manager_; }
    bool can(std::uint32_t capability) const { return (face().capabilities & capability) != 0; }
    // The spaces that the manager has and that are tested. Skips the check if there are none.
    std::vector<cleave_memory_space> spaces() const;
    // The first of them.
    cleave_memory_space space() const { return spaces().front(); }

    void initialize() const;
    int try_allocate(const Wanted& wanted, cleave_memory& memory) const;
    // Also checks the size and the alignment.
    cleave_memory allocate(const Wanted& wanted) const;
    void release(const cleave_memory& memory) const;
    void reset() const;
    void destroy() { manager_.reset(); }

    // Whether bytes of the space can be written and read here.
    bool can_touch(cleave_memory_space space) const;
    // Fills the whole memory with bytes determined by `seed`.
    void fill(cleave_memory_space space, const cleave_memory& memory, std::uint64_t seed) const;
    // Fails if the memory no longer holds these bytes.
    void expect_filled(cleave_memory_space space, const cleave_memory& memory, std::uint64_t seed) const;
    void expect_zero(cleave_memory_space space, const cleave_memory& memory) const;

private:
    std::vector<std::uint8_t> content(cleave_memory_space space, const cleave_memory& memory) const;

    Options options_;
    std::unique_ptr<const cleave_memory_manager, DestroyManager> manager_;
};

// Bytes that all differ from 0, and almost everywhere from the bytes of other seeds.
std::vector<std::uint8_t> pattern(std::size_t size, std::uint64_t seed);

// The address space of this process, in bytes (/proc/self/statm), not counting what the heap holds unused.
std::uint64_t mapped_size();

// Figures that show how much memory a manager holds: the address space of this process, for host memory; of a device,
// what the manager and the driver say.
class Figures {
public:
    // Notes the figures as they are. There may be none. The manager must have been used already, because
    // a driver keeps the memory with which it starts.
    Figures(const Options& options, const Subject& subject);

    // Whether the memory of this space shows in a figure.
    bool has(cleave_memory_space space) const;
    // Fails if a figure shows more than at the beginning, apart from a few bytes. `what` names the reason for the
    // failure. Asks only the manager, only others, or all.
    enum class Who : std::uint8_t { kManager, kOthers, kAll };
    void expect_no_more(const std::string& what, Who who = Who::kAll) const;
    // Fails unless each figure of the space shows at least `size` bytes more than at the beginning.
    void expect_more(cleave_memory_space space, std::uint64_t size, Who who = Who::kAll) const;

private:
    struct Figure {
        cleave_memory_space space;
        bool is_of_manager;
        std::string name;
        std::function<std::uint64_t()> held;
        std::uint64_t before;
    };
    static bool asks(const Figure& figure, Who who) {
        return who == Who::kAll || figure.is_of_manager == (who == Who::kManager);
    }

    std::vector<Figure> figures_;
};

struct NamedCheck {
    const char* name;
    void (*run)(const Options& options);
};
std::span<const NamedCheck> interface_checks();
std::span<const NamedCheck> allocation_checks();
std::span<const NamedCheck> secret_checks();
std::span<const NamedCheck> exhaustion_checks();
std::span<const NamedCheck> thread_checks();
std::span<const NamedCheck> lifetime_checks();
std::span<const NamedCheck> device_checks();

}  // namespace cleave::conformance
