#include "core/writer/checksum.h"

#include <algorithm>
#include <utility>

#include "base/crc32c.h"
#include "core/reader/copy.h"
#include "core/reader/read_ahead.h"

namespace cleave {
namespace {

// How many bytes of a body are read and then written in one step.
constexpr std::uint64_t kSummedSize = std::uint64_t{16} << 20;
static_assert(kSummedSize % kCloneAlignment == 0);

class SummedOutput : public PieceOutput {
public:
    explicit SummedOutput(std::unique_ptr<PieceOutput> output) : output_(std::move(output)) {}

    void write(std::span<const std::uint8_t> bytes) override {
        sum_.add(bytes);
        output_->write(bytes);
    }

    // Parts end at block boundaries of the piece's file, so together they can share all blocks that the whole body
    // could share.
    void write_body(const Input& input, const Piece& piece, std::uint64_t header_size, Meter* meter) override {
        ReadAhead ahead(input.blob(), piece.start, piece.start + piece.length);
        for (std::uint64_t done = 0; done < piece.length;) {
            if (input.cancellation() != nullptr) input.cancellation()->throw_if_requested();
            const std::uint64_t written = header_size + done;
            Piece part = piece;
            part.start = piece.start + done;
            part.length = std::min(piece.length - done, kSummedSize - written % kCloneAlignment);
            ahead.wait_for(done + part.length);
            for_each_part(input.blob(), {part.start, part.length}, input.cancellation(),
                          [this](std::span<const std::uint8_t> bytes) { sum_.add(bytes); });
            output_->write_body(input, part, written, meter);
            done += part.length;
        }
    }

    PieceResult finish(const Piece& piece) override {
        PieceResult result = output_->finish(piece);
        result.crc32c = sum_.value();
        return result;
    }

private:
    std::unique_ptr<PieceOutput> output_;
    Crc32c sum_;
};

}  // namespace

std::unique_ptr<PieceOutput> with_checksum(std::unique_ptr<PieceOutput> output) {
    return std::make_unique<SummedOutput>(std::move(output));
}

std::unique_ptr<PieceOutput> make_checksum_only() { return with_checksum(std::make_unique<NullOutput>()); }

}  // namespace cleave
