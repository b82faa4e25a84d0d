#include "features/compressed/decoder.h"

#include <zstd.h>
#include <zstd_errors.h>

#include <cassert>
#include <new>

#include "cleave/error.h"

namespace cleave {
namespace {

struct FreeDecompressor {
    void operator()(ZSTD_DCtx* context) const { ::ZSTD_freeDCtx(context); }
};

class ZstdDecoder : public Decoder {
public:
    ZstdDecoder() : context_(::ZSTD_createDCtx()) {
        if (!context_) throw std::bad_alloc();
    }

    std::size_t decode(std::span<const std::uint8_t>& from, std::span<std::uint8_t> into) override {
        if (is_between_ && from.empty()) return 0;
        ZSTD_inBuffer in{from.data(), from.size(), 0};
        ZSTD_outBuffer out{into.data(), into.size(), 0};
        std::size_t result = 0;
        do {
            result = ::ZSTD_decompressStream(context_.get(), &out, &in);
        } while (::ZSTD_isError(result) == 0 && in.pos < in.size && out.pos == 0);
        from = from.subspan(in.pos);
        if (::ZSTD_isError(result) != 0) throw InputError(describe(::ZSTD_getErrorCode(result)));
        is_between_ = result == 0;
        return out.pos;
    }

    bool is_whole() const override { return is_between_; }

private:
    static const char* describe(ZSTD_ErrorCode code) {
        switch (code) {
            case ZSTD_error_memory_allocation: throw std::bad_alloc();
            case ZSTD_error_frameParameter_windowTooLarge: return "zstd data with a window of more than 128 MiB";
            default: return "corrupt zstd data";
        }
    }

    std::unique_ptr<ZSTD_DCtx, FreeDecompressor> context_;
    bool is_between_ = false;  // between frames
};

}  // namespace

std::unique_ptr<Decoder> make_decoder(Compression format) {
    switch (format) {
        case Compression::kZstd: return std::make_unique<ZstdDecoder>();
        case Compression::kXz: return make_xz_decoder();
        case Compression::kBzip2: return make_bzip2_decoder();
        case Compression::kLz4: return make_lz4_decoder();
        case Compression::kZip: return make_zip_decoder();
        case Compression::kGzip:
        case Compression::kNone: break;
    }
    assert(false);
    return nullptr;
}

}  // namespace cleave
