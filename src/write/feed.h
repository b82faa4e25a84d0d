// Passes pieces that come one after another to their target: directly, or by several threads that write one piece each.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "write/piece_target.h"

namespace cleave {

// For one thread at a time. A member throws what a target throws, about the current piece or an earlier one.
class Feed {
public:
    // Called for every piece that is finished, from any thread.
    using Finished = std::function<void(const Piece& piece, const std::string& path, const PieceResult& result)>;

    Feed() = default;
    Feed(const Feed&) = delete;
    Feed& operator=(const Feed&) = delete;
    // Discards unfinished pieces.
    virtual ~Feed() = default;

    virtual void begin(const Piece& piece, const std::string& path) = 0;
    virtual void write(std::span<const std::uint8_t> bytes) = 0;
    virtual void end(const Piece& piece) = 0;
    // There are no more pieces; returns when all are finished.
    virtual void finish() = 0;
};

// With several threads, at most about 16 MiB wait to be written, whatever the number of pieces.
std::unique_ptr<Feed> make_feed(PieceTarget& target, unsigned threads, Feed::Finished finished);

}  // namespace cleave
