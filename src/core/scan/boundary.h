// The functions of cleave_scan.h that read bytes, for any kernel. Allocates nothing and throws nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "cleave/cleave_scan.h"
#include "cleave/dialect_rules.h"
#include "core/kernels/kernel.h"
#include "core/scan/stepper.h"
#include "core/scan/summarise.h"

namespace cleave {

// Sets `dialect`, unless `wanted` is not valid: then returns what is wrong with it.
const char* read_dialect(const cleave_scan_dialect& wanted, Dialect& dialect) noexcept;

// As the functions of cleave_scan.h that have these parameters.
std::int32_t scan_bytes(const Kernel& kernel, const cleave_scan_dialect& dialect, cleave_scan_state& state,
                        std::span<const std::uint8_t> bytes, cleave_scan_counts& counts) noexcept;
std::size_t find_starts(const Kernel& kernel, const cleave_scan_dialect& dialect, cleave_scan_state& state,
                        std::span<const std::uint8_t> bytes, std::span<std::uint64_t> out) noexcept;
std::int32_t summarise_bytes(const Kernel& kernel, const cleave_scan_dialect& dialect, std::uint64_t begin,
                             std::span<const std::uint8_t> bytes, cleave_scan_summary& summary) noexcept;

// Reads bytes for several readers at once, each in a state of its own. `state` of a row is one of CLEAVE_SCAN_*.
class RowReader {
public:
    RowReader(const Dialect& dialect, const Kernel& kernel) noexcept;

    bool can_enter(std::uint64_t state, std::uint64_t offset) const noexcept;

    // Whether a section is open in the state, or may be opened again.
    bool is_open(std::uint64_t state) noexcept;

    // The row of no bytes.
    cleave_scan_row row_at(std::uint64_t state) noexcept;

    // Continues each row that is not CLEAVE_SCAN_STATES over `bytes`, which begin at offset `begin`. Offsets that were
    // not looked for remain to be found.
    void pass(std::span<cleave_scan_row> rows, std::uint64_t begin, std::span<const std::uint8_t> bytes) noexcept;

    // Finds this offset of a row: &cleave_scan_row::first, last or open_quote. The bytes are those of the last pass().
    void find(cleave_scan_row& row, std::uint64_t cleave_scan_row::*offset) noexcept;

    // The row of the bytes from `begin` on for a single reader.
    cleave_scan_row walk(std::uint64_t state, std::uint64_t begin, std::span<const std::uint8_t> bytes) noexcept;

    // The row of what a stepper has read since seek(), without its first and last starts.
    cleave_scan_row row_of(const Stepper& stepper) const noexcept;

    // The state of the machine, if the bytes so far are not the beginning of a byte order mark.
    State exact(std::uint64_t state) noexcept;

private:
    State settled(State state) const noexcept;
    cleave_scan_row walk_exactly(State state, std::uint64_t begin, std::span<const std::uint8_t> bytes) noexcept;
    std::size_t end_of_part(std::size_t begin) const noexcept;
    bool is_looked_back(std::size_t offset) const noexcept;
    std::optional<cleave_scan_row> row_of_block(State state, std::size_t begin, std::size_t end,
                                                const SummarisedBlock& block) const noexcept;

    Dialect dialect_;
    const Kernel& kernel_;
    Stepper stepper_;
    std::uint64_t begin_ = 0;  // of the last pass()
    std::span<const std::uint8_t> bytes_;
};

}  // namespace cleave
