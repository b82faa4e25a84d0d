// Counts what is in the records: fields, line breaks, misplaced quotes. Applies the exact rules to every record, but
// finds bytes without a role in the dialect 64 at a time and skips them.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>

#include "cleave/dialect.h"
#include "cleave/examine.h"
#include "core/dialect/state_machine.h"
#include "core/scan/header_finder.h"
#include "features/check/text_census.h"
#include "features/check/vector.h"

namespace cleave {

// The state machine of a dialect, together with what happens at each of its steps. Immutable after construction, so it
// can be used from any thread.
class CensusTable {
public:
    explicit CensusTable(const Dialect& dialect);

    const Dialect& dialect() const { return dialect_; }

    // What a byte means to the state machine. All bytes of one kind are treated the same way, and a run of plain bytes
    // has the same effect as one.
    enum class Kind : std::uint8_t { kPlain, kQuote, kDelimiter, kEscape, kReturn, kFeed, kEnd };  // kEnd: no byte
    static constexpr std::size_t kKindCount = 7;

    // What can happen at a byte.
    enum Event : std::uint16_t {
        kDelimits = 1,             // it ends a field, and another field follows
        kEndsByLf = 2,             // it ends a record
        kEndsByCrlf = 4,           // it ends a record, together with the CR before it
        kEndsByCr = 8,             // it is a lone CR and ends a record
        kEndedByCr = 16,           // the CR before it has ended a record on its own
        kIsDataBreak = 32,         // a line break that does not end a record: this byte, or the CR before it
        kIsQuotedBreak = 64,       // a line break inside quotes
        kIsStray = 128,            // a misplaced quote
        kWasStray = 256,           // the quote before it is stray
        kWasStrayAndReturn = 512,  // the quote two bytes before it is stray; between them is a CR
        kTakesTwo = 1024           // the plain bytes before it cause an event, so they must be processed first
    };

    // States that the machine does not have, to remember a CR.
    static constexpr std::uint8_t kReturnInField = kStateCount;  // outside quotes; an LF may still make it a CRLF
    static constexpr std::uint8_t kReturnAfterQuote = kStateCount + 1;  // the same, right after a closing quote
    static constexpr std::uint8_t kReturnInQuoted = kStateCount + 2;
    static constexpr std::size_t kCensusStateCount = kStateCount + 3;

    struct Move {
        std::uint16_t events;
        std::uint8_t next;
    };
    const Move& move(std::uint8_t state, Kind kind) const { return moves_[index_of(state, kind, false)]; }
    // The same, but after a run of plain bytes if `after_plain` is set.
    const Move& move(std::uint8_t state, bool after_plain, Kind kind) const {
        return moves_[index_of(state, kind, after_plain)];
    }
    Kind kind_of(std::uint8_t byte) const { return kinds_[byte]; }

    // A mask for 64 bytes, with a bit set for each byte that is not plain.
    std::uint64_t roles_of(const std::uint8_t* bytes) const;

private:
    static constexpr std::size_t kRowSize = 16;  // one half for kinds, the other for kinds after plain bytes
    static std::size_t index_of(std::uint8_t state, Kind kind, bool after_plain) {
        return state * kRowSize + (after_plain ? kRowSize / 2 : 0) + static_cast<std::size_t>(kind);
    }
    Move make_move(const StateMachine& machine, const Dialect& dialect, std::uint8_t state, Kind kind) const;
    static void break_line(Move& move, const Dialect& dialect, std::uint8_t state, Kind kind);

    Dialect dialect_;
    std::array<Move, kCensusStateCount * kRowSize> moves_{};
    std::array<Kind, 256> kinds_{};
    // Quote, delimiter, escape, CR, LF, each repeated; a missing one is replaced with LF.
    std::array<Vector, 5> role_bytes_;
};

// Use from one thread at a time. Takes up a few hundred bytes of memory, plus the listed ragged records.
class CensusTaker {
public:
    // Starts at `begin`, where a record starts, and expects every record to have `fields` fields. `table` must outlive
    // this object. The census lists at most `max_listed` ragged records.
    CensusTaker(const CensusTable& table, Boundary begin, std::uint64_t fields, std::uint64_t max_listed);
    // The same, but at the start of an input with this lead. Expects every record to have as many fields as the header.
    // A preamble is not counted.
    CensusTaker(const CensusTable& table, const Lead& lead, std::uint64_t max_listed);

    void feed(std::span<const std::uint8_t> bytes);

    // Call this at the end of the input or of a record.
    void finish();

    // The census of all records that have ended. The first finding of a kind may already be set before its record ends.
    const Census& census() const& { return census_; }
    Census census() && { return std::move(census_); }
    // Once the input has ended: the header record (or the first record if all are empty), and how many fields it has.
    // The header is not set if the number of fields was passed to the constructor.
    const RecordExtent& header() const { return header_; }
    std::uint64_t fields() const;
    // How many records the header takes up.
    std::uint64_t header_records() const { return finder_.records(); }

private:
    static constexpr std::uint64_t kUnknown = UINT64_MAX;

    CensusTaker(const CensusTable& table, Boundary begin, const Lead& lead, std::uint64_t fields,
                std::uint64_t max_listed);
    void take_text(std::span<const std::uint8_t> bytes);
    void note_text(std::span<const std::uint8_t> bytes);
    void pass(std::span<const std::uint8_t> bytes);
    std::size_t end_of_mark(std::span<const std::uint8_t> bytes);
    void take_step(const std::uint8_t* step, std::uint64_t roles);
    void take(CensusTable::Kind kind, std::uint64_t offset);
    void note(unsigned events, std::uint64_t offset);
    void note_surplus();
    void end_record(std::uint64_t end, std::uint64_t terminator_size);
    void look_for_header(std::uint64_t end);
    void count(Tally& tally, std::uint64_t offset) const;

    const CensusTable* table_;
    Lead lead_;
    std::uint64_t fields_;
    std::uint64_t max_listed_;
    std::uint8_t state_ = static_cast<std::uint8_t>(State::kFieldStart);
    std::uint64_t offset_;  // offset of the next byte
    std::uint64_t done_;    // the offset to which state_ applies; only plain bytes lie between here and offset_
    TextCensus text_;       // of what follows the lead
    std::uint64_t text_begin_;
    std::size_t mark_begun_ = 0;  // how many bytes of a byte order mark are right before offset_
    // The current record.
    Place start_;
    std::uint64_t fields_here_ = 1;
    std::uint64_t surplus_ = 0;  // offset of the delimiter before the first surplus field; only if there is one
    HeaderFinder finder_;
    RecordExtent header_;
    Census census_;
};

// Adds `next`, the census of the records that follow, to `census`. Lists at most `max_listed` ragged records in total.
void append(Census& census, const Census& next, std::uint64_t max_listed);

}  // namespace cleave
