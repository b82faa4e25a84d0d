// Where pieces go: the interface that files, commands and dry runs have in common. job/piece_bytes.h supplies the
// bytes.
#pragma once

#include <array>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/name_list.h"
#include "cleave/input.h"
#include "cleave/meter.h"
#include "cleave/output.h"
#include "cleave/plan.h"
#include "io/copy.h"

namespace cleave {

// The texts of the files beside the pieces, for those that there are to be.
struct SideTexts {
    std::string report;
    std::string manifest;
};

// What a piece consists of: parts of the input, one after the other, its header included. They lie in `room`, or
// elsewhere, valid as long as the function. Any thread.
using PartsRoom = std::array<BlobRange, 2>;
using PartsOf = std::function<std::span<const BlobRange>(const Piece& piece, PartsRoom& room)>;

// Where the bytes of one piece go. Destroyed before finish(), it takes back what it can. For one thread at a time.
class PieceOutput {
public:
    PieceOutput() = default;
    PieceOutput(const PieceOutput&) = delete;
    PieceOutput& operator=(const PieceOutput&) = delete;
    virtual ~PieceOutput() = default;

    // The next bytes. Throws std::system_error, Cancelled.
    virtual void write(std::span<const std::uint8_t> bytes) = 0;

    // The same anywhere in the piece, in place of write(), by several threads at a time. Only if
    // PieceTarget::takes_any_order().
    virtual void write_at(std::uint64_t offset, std::span<const std::uint8_t> bytes);

    // Writes the body of a piece of a blob, in place of write(). `header_size` bytes were written before. `meter`, if
    // not null, counts the bytes. A body can be written in parts: `piece` is then the range of one part, and the parts
    // come in order. Throws as write().
    virtual void write_body(const Input& input, const Piece& piece, std::uint64_t header_size, Meter* meter);

    // To be called when all is written. Throws as write(), and what the target documents. Leaves PieceResult::size at
    // 0.
    virtual PieceResult finish(const Piece& piece) = 0;
};

// Discards the bytes, and reads no body.
class NullOutput : public PieceOutput {
public:
    void write(std::span<const std::uint8_t>) override {}
    void write_body(const Input& input, const Piece& piece, std::uint64_t header_size, Meter* meter) override;
    PieceResult finish(const Piece&) override { return {}; }
};

// Members may be called from several threads, except prepare(), seal() and commit().
class PieceTarget {
public:
    PieceTarget() = default;
    PieceTarget(const PieceTarget&) = delete;
    PieceTarget& operator=(const PieceTarget&) = delete;
    // Takes back what it can, unless commit() was called.
    virtual ~PieceTarget() = default;

    // To be called first. `paths` are the names of all pieces, or empty if they are not known yet. `pieces` are the
    // pieces of these names, or empty if the cuts are not known yet. Returns 1 for each of `pieces` that is there
    // already and need not be made, else 0. `parts_of` may be empty if `pieces` are.
    virtual std::vector<char> prepare(std::span<const Piece> pieces, const NameList& paths,
                                      const PartsOf& parts_of) = 0;

    // Only the piece's number, start and first record need be known.
    virtual std::unique_ptr<PieceOutput> open(const Piece& piece, const std::string& path) = 0;

    // Whether outputs have write_at().
    virtual bool takes_any_order() const noexcept { return false; }

    // Makes open pieces end soon: none of them will be finished.
    virtual void stop() noexcept {}

    // Whether the finished pieces still equal the input. False if the target cannot tell.
    virtual bool match_input(std::span<const Piece> /*pieces*/, const NameList& /*paths*/,
                             const PartsOf& /*parts_of*/) {
        return false;
    }

    // Ends waits for input when the user cancels the run or the target fails. Valid as long as the target.
    virtual const Cancellation* cancellation() const noexcept = 0;

    // As stop(). throw_failure() then throws this exception.
    virtual void fail(const std::exception_ptr&) noexcept {}
    // To be called when something was cancelled. Throws the first failure, if any: the target's own, or one given to
    // fail().
    virtual void throw_failure() {}

    // All pieces are finished. Does everything that can still fail; what was made can be taken back until commit().
    virtual void seal(const SideTexts& texts) = 0;

    // Nothing that was made stays, even under OutputOptions::resume.
    virtual void keep_nothing() noexcept {}

    // After seal(): what was made stays.
    virtual void commit() noexcept = 0;
};

}  // namespace cleave
