// Cuts a mapped range into runs of whole records by guessing where records start, so that several threads read fields
// without a scan before them. A guess decides nothing, so it may look at a mapping that others write to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <span>

#include "cleave/blob.h"
#include "cleave/dialect.h"
#include "scan/walker.h"

namespace cleave {

// Runs that were guessed are not whole records, or have a fault.
class DoubtfulRun : public std::exception {};

// A run is sound if its bytes are whole records. The first run begins with a record, so: if all runs before a run are
// sound, it begins with a record too. If it is not sound, its end was guessed wrong, or its records have a fault.
class GuessedRuns {
public:
    // `range` of the blob begins and ends with a record. Runs have about `size` bytes.
    GuessedRuns(std::span<const std::uint8_t> blob, BlobRange range, const Dialect& dialect, std::size_t size);

    // Sets `number` to that of the next run. Returns false after the last one. One thread at a time.
    bool next(std::uint64_t& number);
    // Where the run lies in the blob. Throws DoubtfulRun for one that would end before it begins. Any thread, with a
    // walker of its own.
    BlobRange find(std::uint64_t number, Walker& walker) const;
    // How many bytes of the range are read, at most, when the run is found and taken.
    std::uint64_t reach(std::uint64_t number) const;
    bool is_last(std::uint64_t number) const { return number + 1 == count_; }

private:
    std::uint64_t begin_of(std::uint64_t number, Walker& walker) const;
    bool looks_inside(std::uint64_t offset) const;
    std::uint64_t count_before(std::uint64_t offset, std::optional<std::uint8_t> byte) const;
    bool is_escaped(std::uint64_t offset) const;
    bool ends_field(std::uint8_t byte) const;

    std::span<const std::uint8_t> blob_;  // up to the end of the range
    std::uint64_t begin_;
    Dialect dialect_;
    std::size_t size_;
    std::uint64_t next_ = 0;
    std::uint64_t count_;
};

}  // namespace cleave
