// Mappings of input files, known by their addresses to the handler of MappingGuard. Knows no CSV.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace cleave {

// A read-only mapping of a file from an offset to its end, owned.
class Mapping {
public:
    // The most mappings at a time.
    static constexpr std::size_t kMaxCount = 64;

    // Nothing if the system refuses (a file system that cannot map, no address space left), or there are too many.
    static std::optional<Mapping> of(int descriptor, std::uint64_t offset, std::uint64_t end);
    static Mapping of_nothing() { return {{}, 0, kMaxCount}; }

    Mapping(Mapping&& other) noexcept;
    Mapping& operator=(Mapping&& other) noexcept;
    ~Mapping();

    std::span<const std::uint8_t> bytes() const noexcept { return all_.subspan(skip_); }

    // Whether some of it could not be read and now reads as zeros. Any thread.
    bool has_faulted() const noexcept;

private:
    Mapping(std::span<const std::uint8_t> all, std::uint64_t skip, std::size_t slot)
        : all_(all), skip_(skip), slot_(slot) {}

    std::span<const std::uint8_t> all_;
    std::uint64_t skip_;
    std::size_t slot_;  // its place in the table; kMaxCount: none
};

// Lays zeros over the mapping that holds the address, from the address's page to the end. Page by page, each page would
// cost a fault and one of the limited number of memory areas. False if the address is in no mapping, or the system
// refuses. Async-signal-safe.
bool lay_zeros(const void* address) noexcept;

}  // namespace cleave
