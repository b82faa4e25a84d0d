// Passes pieces, which arrive one after another, to their target: either directly, or with several threads, each of
// which writes one piece at a time.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "core/writer/piece_target.h"

namespace cleave {

// For one thread at a time. Any member may throw what a target throws, for the current piece or an earlier one.
class Feed {
public:
    // Called for every finished piece, from any thread.
    using Finished = std::function<void(const Piece& piece, const std::string& path, const PieceResult& result)>;

    Feed() = default;
    Feed(const Feed&) = delete;
    Feed& operator=(const Feed&) = delete;
    // Discards unfinished pieces.
    virtual ~Feed() = default;

    virtual void begin(const Piece& piece, const std::string& path) = 0;
    virtual void write(std::span<const std::uint8_t> bytes) = 0;
    virtual void end(const Piece& piece) = 0;
    // Call this when there are no more pieces. Returns when all of them are finished.
    virtual void finish() = 0;
};

// With several threads, at most about 16 MiB wait to be written, however many pieces there are.
std::unique_ptr<Feed> make_feed(PieceTarget& target, unsigned threads, Feed::Finished finished);

}  // namespace cleave
