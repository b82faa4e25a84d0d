// Writes the bodies of pieces, sharing blocks with the input where the file system supports it. Knows nothing about
// policies: a piece's start alone decides whether it can share blocks.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "cleave/input.h"
#include "cleave/meter.h"
#include "cleave/output.h"
#include "cleave/plan.h"

namespace cleave {

// Members may be called from several threads.
class Cloner {
public:
    // `input` is not a stream and must outlive the cloner.
    Cloner(const Input& input, CloneMode mode);

    // Under kAlways, throws CloneError for a piece that has whole blocks but cannot share them, because the input does
    // not begin at a block boundary of its file, or the piece does not start where it would have to. The start of the
    // first piece, where the header ends, is not checked. `header_size` bytes of header are written before the body;
    // `path` is for messages.
    void check(const Piece& piece, std::uint64_t header_size, const std::string& path) const;

    // Appends the body to the file, which contains only the header. Throws SystemError, under kAlways also if the
    // system refuses to share blocks, and Cancelled. `meter`, if not null, counts the bytes.
    void write_body(const Piece& piece, std::uint64_t header_size, int descriptor, const std::string& path,
                    Meter* meter);

private:
    void copy(std::uint64_t start, std::uint64_t end, int descriptor, const std::string& path, Meter* meter);
    std::uint64_t share(std::uint64_t start, std::uint64_t end, int descriptor, const std::string& path);

    const Input& input_;
    CloneMode mode_;
    bool has_blocks_;                   // blocks of the input coincide with blocks of its file
    std::atomic<bool> refused_{false};  // the system has refused once, and is not asked again
};

// Whether a file at `path` could share blocks with the input, which must not be a stream. Tries to share one block with
// an unnamed file.
bool can_clone(const Input& input, const std::string& path);

}  // namespace cleave
