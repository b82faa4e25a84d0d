#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <utility>

#include <malloc.h>
#include <unistd.h>

#include "conformance.h"

namespace cleave::conformance {
namespace {

// What *memory holds before a call that must not change it.
const cleave_memory kUntouched{&errno, 12345, &errno};

bool is_untouched(const cleave_memory& memory) {
    return memory.pointer == kUntouched.pointer && memory.size == kUntouched.size && memory.handle == kUntouched.handle;
}

std::string text_of(const Wanted& wanted) {
    return std::to_string(wanted.size) + " bytes of " + name_of(wanted.space) + " memory, alignment " +
           std::to_string(wanted.alignment) + ", flags " + std::to_string(wanted.flags);
}

}  // namespace

void expect(bool holds, const std::string& why) {
    if (!holds) throw Failure(why);
}

void expect_error(int error, int wanted, const std::string& what) {
    if (error == wanted) return;
    const auto name = [](int value) { return std::to_string(value) + " (" + std::strerror(value) + ")"; };
    throw Failure(what + " returned " + name(error) + ", not " + name(wanted));
}

void skip(const std::string& why) { throw Skip(why); }

std::string name_of(cleave_memory_space space) {
    static constexpr std::array kNames{"host", "pinned", "mapped", "device"};
    return space < kNames.size() ? kNames.at(space) : "unknown";
}

Subject::Subject(const Options& options, bool is_raw)
    : options_(options), manager_(open_raw_manager(options.name).manager) {
    if (!is_raw) initialize();
}

std::vector<cleave_memory_space> Subject::spaces() const {
    std::vector<cleave_memory_space> found;
    for (const cleave_memory_space space : kSpaces) {
        const bool is_tested = space == CLEAVE_MEMORY_HOST || options_.has_device;
        if (is_tested && can(CLEAVE_MEMORY_CAN_HOST << space)) found.push_back(space);
    }
    if (found.empty()) skip("it has no host memory; --device tests the rest");
    return found;
}

void Subject::initialize() const {
    expect_error(face().initialize(face().state, options_.has_device ? 0 : -1), 0, "initialize");
}

int Subject::try_allocate(const Wanted& wanted, cleave_memory& memory) const {
    cleave_memory made = kUntouched;
    const int error =
        face().allocate(face().state, wanted.space, wanted.size, wanted.alignment, wanted.flags, nullptr, &made);
    if (error != 0) {
        expect(is_untouched(made), text_of(wanted) + ": a call that failed changed *memory");
        return error;
    }
    const std::size_t standard = wanted.space == CLEAVE_MEMORY_DEVICE ? 256 : 64;
    const std::size_t alignment = wanted.alignment != 0 ? wanted.alignment : standard;
    expect(wanted.size == 0 || !is_untouched(made), text_of(wanted) + ": *memory was not set");
    expect(made.size >= wanted.size, text_of(wanted) + ": gave " + std::to_string(made.size) + " bytes");
    if (wanted.size > 0) {
        expect(made.pointer != nullptr, text_of(wanted) + ": a null pointer");
        expect(reinterpret_cast<std::uintptr_t>(made.pointer) % alignment == 0, text_of(wanted) + ": misaligned");
    }
    memory = made;
    return 0;
}

cleave_memory Subject::allocate(const Wanted& wanted) const {
    cleave_memory memory{};
    expect_error(try_allocate(wanted, memory), 0, text_of(wanted) + ": allocate");
    return memory;
}

void Subject::release(const cleave_memory& memory) const {
    expect_error(face().release(face().state, &memory, nullptr), 0, "release");
}

void Subject::reset() const { expect_error(face().reset(face().state), 0, "reset"); }

bool Subject::can_touch(cleave_memory_space space) const {
    return space != CLEAVE_MEMORY_DEVICE || options_.hooks != nullptr;
}

void Subject::fill(cleave_memory_space space, const cleave_memory& memory, std::uint64_t seed) const {
    if (!can_touch(space) || memory.size == 0) return;
    const std::vector<std::uint8_t> bytes = pattern(memory.size, seed);
    if (space != CLEAVE_MEMORY_DEVICE) {
        std::memcpy(memory.pointer, bytes.data(), bytes.size());
    } else {
        expect_error(options_.hooks->write(memory.pointer, bytes.data(), bytes.size()), 0, "the hook write");
    }
}

std::vector<std::uint8_t> Subject::content(cleave_memory_space space, const cleave_memory& memory) const {
    std::vector<std::uint8_t> bytes(memory.size);
    if (memory.size == 0) return bytes;
    if (space != CLEAVE_MEMORY_DEVICE) {
        std::memcpy(bytes.data(), memory.pointer, bytes.size());
    } else {
        expect_error(options_.hooks->read(bytes.data(), memory.pointer, bytes.size()), 0, "the hook read");
    }
    return bytes;
}

void Subject::expect_filled(cleave_memory_space space, const cleave_memory& memory, std::uint64_t seed) const {
    if (!can_touch(space)) return;
    expect(content(space, memory) == pattern(memory.size, seed),
           std::to_string(memory.size) + " bytes of " + name_of(space) + " memory changed while they were in use");
}

void Subject::expect_zero(cleave_memory_space space, const cleave_memory& memory) const {
    if (!can_touch(space)) return;
    const std::vector<std::uint8_t> bytes = content(space, memory);
    const auto at = std::ranges::find_if(bytes, [](std::uint8_t byte) { return byte != 0; });
    expect(at == bytes.end(), "byte " + std::to_string(at - bytes.begin()) + " of " + std::to_string(bytes.size()) +
                                  " of zeroed " + name_of(space) + " memory is not 0");
}

Figures::Figures(const Options& options, const Subject& subject) {
    const auto add = [&](cleave_memory_space space, bool is_of_manager, std::string name, auto held) {
        figures_.push_back({space, is_of_manager, std::move(name), held, held()});
    };
    if (!kIsSanitized && subject.can(CLEAVE_MEMORY_CAN_HOST)) {
        add(CLEAVE_MEMORY_HOST, false, "bytes are mapped", [] { return mapped_size(); });
    }
    const bool has_device = options.has_device && subject.can(CLEAVE_MEMORY_CAN_DEVICE);
    // Negative numbers of free bytes, whose differences are those of the bytes in use.
    if (has_device && options.hooks != nullptr) {
        add(CLEAVE_MEMORY_DEVICE, false, "bytes of the device are in use, the driver says", [&options] {
            std::uint64_t bytes = 0;
            expect_error(options.hooks->free_size(&bytes), 0, "the hook free_size");
            return -bytes;
        });
    }
    if (has_device && subject.can(CLEAVE_MEMORY_CAN_INFO)) {
        add(CLEAVE_MEMORY_DEVICE, true, "bytes of the device are in use, the manager says", [&subject] {
            std::uint64_t bytes = 0;
            std::uint64_t total = 0;
            expect_error(subject.face().info(subject.face().state, CLEAVE_MEMORY_DEVICE, &bytes, &total), 0, "info");
            return -bytes;
        });
    }
}

bool Figures::has(cleave_memory_space space) const {
    return std::ranges::any_of(figures_, [&](const Figure& figure) { return figure.space == space; });
}

void Figures::expect_more(cleave_memory_space space, std::uint64_t size, Who who) const {
    for (const Figure& figure : figures_) {
        if (figure.space != space || !asks(figure, who)) continue;
        const auto more = static_cast<std::int64_t>(figure.held() - figure.before);
        expect(std::cmp_greater_equal(more, size), "only " + std::to_string(more) + " more " + figure.name);
    }
}

void Figures::expect_no_more(const std::string& what, Who who) const {
    for (const Figure& figure : figures_) {
        if (!asks(figure, who)) continue;
        const auto more = static_cast<std::int64_t>(figure.held() - figure.before);
        const std::size_t few = figure.space == CLEAVE_MEMORY_HOST ? kMiB : 8 * kMiB;
        expect(std::cmp_less_equal(more, few), what + ", " + std::to_string(more) + " more " + figure.name);
    }
}

std::vector<std::uint8_t> pattern(std::size_t size, std::uint64_t seed) {
    std::vector<std::uint8_t> bytes(size);
    // A linear congruential generator (Knuth's MMIX), fast even without optimisation. Eight bytes per step.
    std::uint64_t state = seed * 2654435761U + 1;
    for (std::size_t i = 0; i < size; i += sizeof state) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        const std::uint64_t word = state | 0x0101010101010101U;
        std::memcpy(bytes.data() + i, &word, std::min(size - i, sizeof word));
    }
    return bytes;
}

std::uint64_t mapped_size() {
    ::malloc_trim(0);
    std::uint64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace cleave::conformance
