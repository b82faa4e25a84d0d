// Where pieces go: the interface that files, commands and dry runs share. engine/piece_bytes.h supplies the bytes.
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
#include "core/reader/copy.h"

namespace cleave {

// The contents of the files beside the pieces, if such files are requested.
struct SideTexts {
    std::string report;
    std::string manifest;
};

// Returns what a piece consists of: parts of the input, one after the other, including its header. They are stored in
// `room`, or elsewhere, where they are valid for as long as the function exists. Any thread.
using PartsRoom = std::array<BlobRange, 2>;
using PartsOf = std::function<std::span<const BlobRange>(const Piece& piece, PartsRoom& room)>;

// Where the bytes of one piece go. If destroyed before finish(), takes back what it can. For one thread at a time.
class PieceOutput {
public:
    PieceOutput() = default;
    PieceOutput(const PieceOutput&) = delete;
    PieceOutput& operator=(const PieceOutput&) = delete;
    virtual ~PieceOutput() = default;

    // Writes the next bytes. Throws SystemError, Cancelled.
    virtual void write(std::span<const std::uint8_t> bytes) = 0;

    // Writes anywhere in the piece, instead of write(). Several threads may call it at once. Requires
    // PieceTarget::takes_any_order().
    virtual void write_at(std::uint64_t offset, std::span<const std::uint8_t> bytes);

    // Writes the body of a piece of a blob, instead of write(). `header_size` bytes have been written before it: if the
    // body starts at this byte of the input, those from the start of the input.
    // `meter`, if not null, counts the bytes. A body may be written in parts: `piece` is then the range of one part,
    // and the parts come in order. Throws what write() throws.
    virtual void write_body(const Input& input, const Piece& piece, std::uint64_t header_size, Meter* meter);

    // Call this when everything is written. Throws what write() throws, and what the target documents. Leaves
    // PieceResult::size at 0.
    virtual PieceResult finish(const Piece& piece) = 0;
};

// Discards the bytes, and does not read bodies.
class NullOutput : public PieceOutput {
public:
    void write(std::span<const std::uint8_t>) override {}
    void write_body(const Input& input, const Piece& piece, std::uint64_t header_size, Meter* meter) override;
    PieceResult finish(const Piece&) override { return {}; }
};

// Throws ArgumentError if two of the pieces' names are equal.
void refuse_equal_names(const NameList& paths);

// Members may be called from several threads, except prepare(), take_back(), seal() and commit().
class PieceTarget {
public:
    PieceTarget() = default;
    PieceTarget(const PieceTarget&) = delete;
    PieceTarget& operator=(const PieceTarget&) = delete;
    // Takes back what it can, unless commit() was called.
    virtual ~PieceTarget() = default;

    // Call this first. `paths` are the names of all pieces, or empty if they are not known yet. `pieces` are the pieces
    // with these names, or empty if the cuts are not known yet. Returns 1 for each of `pieces` that already exists and
    // need not be written, otherwise 0. `parts_of` may be empty if `pieces` is; several threads call it.
    virtual std::vector<char> prepare(std::span<const Piece> pieces, const NameList& paths,
                                      const PartsOf& parts_of) = 0;

    // Only the piece's number, start and first record need to be known.
    virtual std::unique_ptr<PieceOutput> open(const Piece& piece, const std::string& path) = 0;

    // Whether outputs support write_at().
    virtual bool takes_any_order() const noexcept { return false; }

    // Makes open pieces end soon. They remain unfinished.
    virtual void stop() noexcept {}

    // Whether the finished pieces still match the input. False if the target cannot tell.
    virtual bool match_input(std::span<const Piece> /*pieces*/, const NameList& /*paths*/,
                             const PartsOf& /*parts_of*/) {
        return false;
    }

    // Ends waits for input when the user cancels the run or the target fails. Valid for as long as the target.
    virtual const Cancellation* cancellation() const noexcept = 0;

    // Like stop(), but also makes throw_failure() throw this exception.
    virtual void fail(const std::exception_ptr&) noexcept {}
    // Call this when something was cancelled. Throws the first failure, if any: the target's own, or one given to
    // fail().
    virtual void throw_failure() {}

    // Waits until the bytes of all finished pieces are where they go. Throws what PieceOutput::write() throws.
    virtual void wait() {}

    // Call this when all pieces are finished. Does everything that can still fail. Until commit(), what was written can
    // still be taken back.
    virtual void seal(const SideTexts& texts) = 0;

    // Call this if the run has failed. Takes back what is not on this machine, and returns the URLs of what may be left
    // there nevertheless. The destructor takes back the rest.
    virtual std::vector<std::string> take_back() { return {}; }

    // Keeps nothing that was written, even under OutputOptions::resume.
    virtual void keep_nothing() noexcept {}

    // Call this after seal(). Keeps everything that was written.
    virtual void commit() noexcept = 0;
};

class Store;

// Pieces as objects in a store. `store` is where the names of the pieces lead; if it is null, it is opened, which loads
// a module. Throws what Store() and StoreTarget() throw. The feature `stores` defines it; a build without that feature
// has engine/without/stores.cpp.
std::unique_ptr<PieceTarget> make_store_target(const Store* store, const Input& input, const OutputOptions& options,
                                               unsigned threads);

}  // namespace cleave
