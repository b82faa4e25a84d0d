// The bodies of pieces, with the input's own blocks where a file system can share them. Knows no policies: whether a
// piece can share blocks shows in where it starts.
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
    // `input` is no stream and must outlive the cloner.
    Cloner(const Input& input, CloneMode mode);

    // Under kAlways, throws CloneError if the piece is long enough to have whole blocks and is not cut so that they can
    // be shared; but the first piece, which starts where the header ends, is let pass. `header_size` is what is written
    // of the header before the body, `path` what the piece is called.
    void check(const Piece& piece, std::uint64_t header_size, const std::string& path) const;

    // Appends the body to the file, which has the header and nothing else. Throws std::system_error, under kAlways if
    // the system does not share blocks here too, and Cancelled. `meter` is told if it is not null.
    void write_body(const Piece& piece, std::uint64_t header_size, int descriptor, const std::string& path,
                    Meter* meter);

private:
    void copy(std::uint64_t start, std::uint64_t end, int descriptor, const std::string& path, Meter* meter);
    std::uint64_t share(std::uint64_t start, std::uint64_t end, int descriptor, const std::string& path);

    const Input& input_;
    CloneMode mode_;
    bool has_blocks_;                   // the input lies in its file so that blocks of it are blocks of the file
    std::atomic<bool> refused_{false};  // by the system, so that it is not asked for every piece
};

// Whether a file of that path could share blocks with the input, which is no stream. Tried with one block and a file
// without a name.
bool can_clone(const Input& input, const std::string& path);

}  // namespace cleave
