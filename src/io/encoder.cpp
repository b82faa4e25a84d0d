#include "io/encoder.h"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <limits>
#include <new>
#include <stdexcept>
#include <vector>

namespace cleave {
namespace {

// Bytes passed to `take` at a time.
constexpr std::size_t kBufferSize = std::size_t{128} << 10;

class GzipEncoder : public Encoder {
public:
    explicit GzipEncoder(int level) : buffer_(kBufferSize) {
        constexpr int kGzipWindow = MAX_WBITS + 16;  // zlib.h: a gzip header, without name and time
        constexpr int kMemoryLevel = 8;              // zlib's default
        if (::deflateInit2(&stream_, level, Z_DEFLATED, kGzipWindow, kMemoryLevel, Z_DEFAULT_STRATEGY) != Z_OK) {
            throw std::bad_alloc();
        }
    }
    GzipEncoder(const GzipEncoder&) = delete;
    GzipEncoder& operator=(const GzipEncoder&) = delete;
    ~GzipEncoder() override { ::deflateEnd(&stream_); }

    void encode(std::span<const std::uint8_t> bytes, const Take& take) override {
        constexpr std::size_t kMost = std::numeric_limits<uInt>::max();
        while (!bytes.empty()) {
            const auto part = bytes.first(std::min(bytes.size(), kMost));
            run(part, Z_NO_FLUSH, take);
            bytes = bytes.subspan(part.size());
        }
    }

    void finish(const Take& take) override { run({}, Z_FINISH, take); }

private:
    void run(std::span<const std::uint8_t> bytes, int flush, const Take& take) {
        stream_.next_in = const_cast<std::uint8_t*>(bytes.data());  // zlib only reads it
        stream_.avail_in = static_cast<uInt>(bytes.size());
        do {
            stream_.next_out = buffer_.data();
            stream_.avail_out = static_cast<uInt>(buffer_.size());
            ::deflate(&stream_, flush);  // cannot fail: the stream is sound and there is room
            const std::size_t size = buffer_.size() - stream_.avail_out;
            if (size > 0) take(std::span(buffer_).first(size));
        } while (stream_.avail_out == 0);
    }

    z_stream stream_{};
    std::vector<std::uint8_t> buffer_;
};

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
        if (::ZSTD_isError(left) != 0) throw std::bad_alloc();  // it can only fail for lack of memory
        if (out.pos > 0) take(std::span(buffer_).first(out.pos));
        return left;
    }

    std::unique_ptr<ZSTD_CCtx, FreeCompressor> context_;
    std::vector<std::uint8_t> buffer_;
};

}  // namespace

std::unique_ptr<Encoder> make_encoder(const CompressionOptions& wanted) {
    switch (wanted.format) {
        case Compression::kGzip: return std::make_unique<GzipEncoder>(wanted.level);
        case Compression::kZstd: return std::make_unique<ZstdEncoder>(wanted.level);
        case Compression::kNone: break;
    }
    assert(false);
    return nullptr;
}

}  // namespace cleave
