#include "core/writer/clone.h"

#include <fcntl.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "cleave/error.h"
#include "core/reader/copy.h"

namespace cleave {
namespace {

// How many bytes are shared between two checks of the cancellation.
constexpr std::uint64_t kCloneSize = std::uint64_t{1} << 30;
static_assert(kCloneSize % kCloneAlignment == 0);
// How many bytes are copied between two reports of progress.
constexpr std::uint64_t kReportedSize = std::uint64_t{64} << 20;

constexpr std::uint64_t round_down(std::uint64_t offset) { return offset / kCloneAlignment * kCloneAlignment; }
constexpr std::uint64_t round_up(std::uint64_t offset) { return round_down(offset + kCloneAlignment - 1); }

// A range of the input.
struct Range {
    std::uint64_t start, end;

    bool is_empty() const { return start == end; }
};

// The part of the body that fills whole blocks of the piece's file; empty if there is none.
Range whole_blocks(const Piece& piece, std::uint64_t header_size) {
    const std::uint64_t first = round_up(header_size);
    const std::uint64_t last = std::max(first, round_down(header_size + piece.length));
    return {piece.start + (first - header_size), piece.start + (last - header_size)};
}

// Whether the body begins at the same position within a block in the input as in the piece.
bool is_aligned(const Piece& piece, std::uint64_t header_size) {
    return piece.start % kCloneAlignment == header_size % kCloneAlignment;
}

}  // namespace

Cloner::Cloner(const Input& input, CloneMode mode)
    : input_(input), mode_(mode), has_blocks_(has_blocks(input.blob(), kCloneAlignment)) {}

void Cloner::check(const Piece& piece, std::uint64_t header_size, const std::string& path) const {
    if (mode_ != CloneMode::kAlways || whole_blocks(piece, header_size).is_empty()) return;
    const std::string a_multiple = " a multiple of " + std::to_string(kCloneAlignment);
    if (!has_blocks_) {
        throw CloneError(path, "the input begins at byte " + std::to_string(input_.offset_in_file()) +
                                   " of its file, not at" + a_multiple);
    }
    if (piece.number > 1 && !is_aligned(piece, header_size)) {
        const std::uint64_t past = header_size % kCloneAlignment;
        throw CloneError(path, "its first record starts at byte " + std::to_string(piece.start) + ", not " +
                                   (past == 0 ? "at" : std::to_string(past) + " past") + a_multiple);
    }
}

void Cloner::write_body(const Piece& piece, std::uint64_t header_size, int descriptor, const std::string& path,
                        Meter* meter) {
    std::uint64_t offset = piece.start;
    const Range blocks = whole_blocks(piece, header_size);
    if (mode_ != CloneMode::kNever && has_blocks_ && is_aligned(piece, header_size) && !blocks.is_empty()) {
        copy(offset, blocks.start, descriptor, path, meter);
        offset = share(blocks.start, blocks.end, descriptor, path);
        if (meter != nullptr) meter->written += offset - blocks.start;
    }
    copy(offset, piece.start + piece.length, descriptor, path, meter);
}

// Appends the bytes [start, end) of the input.
void Cloner::copy(std::uint64_t start, std::uint64_t end, int descriptor, const std::string& path, Meter* meter) {
    while (start < end) {
        const std::uint64_t part = std::min(end - start, kReportedSize);
        copy_range(input_.blob(), {start, part}, descriptor, path, input_.cancellation());
        if (meter != nullptr) meter->written += part;
        start += part;
    }
}

// Appends the blocks in [start, end) of the input until the system refuses to share them. Returns the end of the shared
// blocks.
std::uint64_t Cloner::share(std::uint64_t start, std::uint64_t end, int descriptor, const std::string& path) {
    while (start < end && !refused_) {
        const std::uint64_t part = std::min(end - start, kCloneSize);
        const std::error_code refusal =
            clone_range(input_.blob(), {start, part}, descriptor, path, input_.cancellation());
        if (refusal) {
            if (mode_ == CloneMode::kAlways) throw SystemError(refusal, path + ": cannot share blocks");
            refused_ = true;  // whatever the reason; if it prevents copying too, copy() reports it
        } else {
            start += part;
        }
    }
    return start;
}

bool can_clone(const Input& input, const std::string& path) {
    const Blob& blob = input.blob();
    if (!has_blocks(blob, kCloneAlignment) || blob.size() < kCloneAlignment) return false;
    const std::string directory = std::filesystem::path(path).parent_path();
    const Fd file(::open(directory.empty() ? "." : directory.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600));
    return file.is_open() && !clone_range(blob, {0, kCloneAlignment}, file.get(), path, input.cancellation());
}

}  // namespace cleave
