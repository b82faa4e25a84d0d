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
    // So many can be there at a time.
    static constexpr std::size_t kMaxCount = 64;

    // `descriptor` must stay open as long as the mapping. Nothing if the system refuses (a file system that cannot map,
    // no address space left), or there are too many.
    static std::optional<Mapping> of(int descriptor, std::uint64_t offset, std::uint64_t end);
    static Mapping of_nothing() { return {{}, 0, kMaxCount}; }

    Mapping(Mapping&& other) noexcept;
    Mapping& operator=(Mapping&& other) noexcept;
    ~Mapping();

    std::span<const std::uint8_t> bytes() const noexcept { return all_.subspan(skip_); }

    // Some of it could not be read and is zeros now.
    bool has_faulted() const noexcept;

private:
    Mapping(std::span<const std::uint8_t> all, std::uint64_t skip, std::size_t slot)
        : all_(all), skip_(skip), slot_(slot) {}

    std::span<const std::uint8_t> all_;
    std::uint64_t skip_;
    std::size_t slot_;  // its place in the table; kMaxCount: none
};

// Whether the mapping that these bytes are in has faulted; false for other bytes. As long as nothing has, it costs one
// look at a flag. Any thread.
bool has_faulted(std::span<const std::uint8_t> bytes) noexcept;

// A file, and where in it something lies.
struct FileBehind {
    int descriptor = -1;  // -1: no file
    std::uint64_t offset = 0;
};

// The file that these bytes are mapped from; no file if they are not of a Mapping. The descriptor is the caller's of
// Mapping::of(). Any thread.
FileBehind file_behind(std::span<const std::uint8_t> bytes) noexcept;

// Lays zeros over the mapping that holds the address, from the address's page to the end: a whole mapping of a file
// that was emptied would otherwise cost a fault a page, and one of the limited number of areas each. False if it is in
// no mapping, or the system refuses. Async-signal-safe.
bool lay_zeros(const void* address) noexcept;

}  // namespace cleave
