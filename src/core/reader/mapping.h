// Mappings of input files, whose addresses are known to MappingGuard's signal handler. Knows nothing about CSV.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace cleave {

// Owns a read-only mapping of a file from an offset to its end.
class Mapping {
public:
    // The maximum number of mappings that can exist at once.
    static constexpr std::size_t kMaxCount = 64;

    // Returns nothing if the system refuses (the file system cannot map, no address space is left) or there are too
    // many mappings.
    static std::optional<Mapping> of(int descriptor, std::uint64_t offset, std::uint64_t end);
    static Mapping of_nothing() { return {{}, 0, kMaxCount}; }

    Mapping(Mapping&& other) noexcept;
    Mapping& operator=(Mapping&& other) noexcept;
    ~Mapping();

    std::span<const std::uint8_t> bytes() const noexcept { return all_.subspan(skip_); }

    // Whether part of it could not be read and now reads as zeros. Thread-safe.
    bool has_faulted() const noexcept;

private:
    Mapping(std::span<const std::uint8_t> all, std::uint64_t skip, std::size_t slot)
        : all_(all), skip_(skip), slot_(slot) {}

    std::span<const std::uint8_t> all_;
    std::uint64_t skip_;
    std::size_t slot_;  // its index in the table; kMaxCount if it has none
};

// Replaces the mapping that contains the address with zeros, from the address's page to the end. (If this were done
// page by page, each page would cost a fault and use up one of the limited number of memory areas.) Returns false if
// the address is not in a mapping or the system refuses. Async-signal-safe.
bool lay_zeros(const void* address) noexcept;

}  // namespace cleave
