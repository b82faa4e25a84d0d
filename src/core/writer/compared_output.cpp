#include "core/writer/compared_output.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/reader/fd.h"
#include "core/writer/encoder.h"

namespace cleave {
namespace {

constexpr std::size_t kComparedAtOnce = std::size_t{64} << 10;

class ComparedOutput : public PieceOutput {
public:
    ComparedOutput(const PieceStore& store, std::string path, const CompressionOptions& compression, Helpers& helpers,
                   const Cancellation* cancellation)
        : store_(store), path_(std::move(path)), file_(store.open_present(path_)), is_same_(file_.is_open()) {
        if (compression.format != Compression::kNone) encoder_ = make_encoder(compression, &helpers, cancellation);
    }

    void write(std::span<const std::uint8_t> bytes) override {
        if (encoder_) {
            encoder_->encode(bytes, [this](std::span<const std::uint8_t> part) { compare(part); });
        } else {
            compare(bytes);
        }
    }

    PieceResult finish(const Piece& piece) override {
        PieceResult result;
        if (encoder_) {
            encoder_->finish([this](std::span<const std::uint8_t> part) { compare(part); });
            result.stored = size_;
        }
        std::optional<FileIdentity> present;
        if (is_same_) {
            const struct stat status = stat_of(file_.get(), path_);
            if (std::cmp_equal(status.st_size, size_)) present = identity_of(status);
        }
        store_.require_piece(present, piece, path_);
        return result;
    }

private:
    void compare(std::span<const std::uint8_t> bytes) {
        for (std::size_t done = 0; is_same_ && done < bytes.size();) {
            const auto part = bytes.subspan(done, std::min(kComparedAtOnce, bytes.size() - done));
            there_.resize(part.size());
            is_same_ = read_at(file_.get(), size_ + done, there_, path_) == part.size() &&
                       std::memcmp(there_.data(), part.data(), part.size()) == 0;
            done += part.size();
        }
        size_ += bytes.size();
    }

    const PieceStore& store_;
    std::string path_;
    Fd file_;
    bool is_same_;  // so far
    std::uint64_t size_ = 0;
    std::vector<std::uint8_t> there_;
    std::unique_ptr<Encoder> encoder_;
};

}  // namespace

std::unique_ptr<PieceOutput> make_compared_output(const PieceStore& store, const std::string& path,
                                                  const CompressionOptions& compression, Helpers& helpers,
                                                  const Cancellation* cancellation) {
    return std::make_unique<ComparedOutput>(store, path, compression, helpers, cancellation);
}

}  // namespace cleave
