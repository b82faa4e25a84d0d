// What stands between the cutter of a stream and the feed of its pieces: headers, names, and the end of each piece.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "cleave/meter.h"
#include "cleave/names.h"
#include "cleave/plan.h"
#include "io/spill.h"
#include "job/piece_reports.h"
#include "write/feed.h"

namespace cleave {

// Passes the pieces from the cutter to the feed. Adds the size of the header to `header_size`. All that it is given
// must outlive it.
class StreamSink : public PieceSink {
public:
    // `mode` is the one by which the stream is cut: of a dialect without a header, kNone.
    StreamSink(HeaderMode mode, Meter* meter, const PieceNamer& namer, Feed& feed, PieceReports& reports,
               std::uint64_t& header_size)
        : mode_(mode), meter_(meter), namer_(namer), feed_(feed), reports_(reports), header_size_(header_size) {}

    void header(std::span<const std::uint8_t> bytes) override;
    void begin(const Piece& piece) override;
    void body(std::span<const std::uint8_t> bytes) override;
    // Does not tell the feed yet: a command takes the end of its input for success, and the input may still prove bad.
    void end(const Piece& piece) override;

    // To be called when the input has proved good: tells the feed the end of the last piece.
    void end_last();

private:
    HeaderMode mode_;
    Meter* meter_;
    const PieceNamer& namer_;
    Feed& feed_;
    PieceReports& reports_;
    std::uint64_t& header_size_;
    SpillBuffer header_;
    std::optional<Piece> ended_;  // the piece whose end feed_ does not know yet
};

}  // namespace cleave
