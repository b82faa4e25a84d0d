#include "core/writer/encoder.h"

#include <zstd.h>

#include <cassert>
#include <cstddef>
#include <new>
#include <vector>

#include "features/compressed/gzip_encoder.h"

namespace cleave {
namespace {

struct FreeCompressor {
    void operator()(ZSTD_CCtx* context) const { ::ZSTD_freeCCtx(context); }
};

class ZstdEncoder : public Encoder {
public:
    explicit ZstdEncoder(int level) : context_(::ZSTD_createCCtx()), buffer_(::ZSTD_CStreamOutSize()) {
        if (!context_) throw std::bad_alloc();
        ::ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_compressionLevel, level);
        ::ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_checksumFlag, 1);
    }

    void encode(std::span<const std::uint8_t> bytes, const Take& take) override {
        ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
        while (in.pos < in.size) run(in, ZSTD_e_continue, take);
    }

    void finish(const Take& take) override {
        ZSTD_inBuffer in{nullptr, 0, 0};
        while (run(in, ZSTD_e_end, take) != 0) {
        }
    }

private:
    std::size_t run(ZSTD_inBuffer& in, ZSTD_EndDirective directive, const Take& take) {
        ZSTD_outBuffer out{buffer_.data(), buffer_.size(), 0};
        const std::size_t left = ::ZSTD_compressStream2(context_.get(), &out, &in, directive);
        if (::ZSTD_isError(left) != 0) throw std::bad_alloc();  // its only possible failure is a lack of memory
        if (out.pos > 0) take(std::span(buffer_).first(out.pos));
        return left;
    }

    std::unique_ptr<ZSTD_CCtx, FreeCompressor> context_;
    std::vector<std::uint8_t> buffer_;
};

}  // namespace

std::unique_ptr<Encoder> make_encoder(const CompressionOptions& wanted, Helpers* helpers,
                                      const Cancellation* cancellation) {
    switch (wanted.format) {
        case Compression::kGzip:
            return make_gzip_encoder(wanted.level.value_or(default_level(wanted.format)), helpers, cancellation);
        case Compression::kZstd:
            return std::make_unique<ZstdEncoder>(wanted.level.value_or(default_level(wanted.format)));
        default: break;
    }
    assert(false);
    return nullptr;
}

}  // namespace cleave
