#include "io/decoder.h"

#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <cassert>
#include <limits>
#include <new>
#include <string>

#include "cleave/error.h"

namespace cleave {
namespace {

constexpr char kCorruptGzip[] = "corrupt gzip data";

class GzipDecoder : public Decoder {
public:
    GzipDecoder() {
        constexpr int kGzipWindow = MAX_WBITS + 16;  // zlib.h: decode gzip only
        if (::inflateInit2(&stream_, kGzipWindow) != Z_OK) throw std::bad_alloc();
    }
    GzipDecoder(const GzipDecoder&) = delete;
    GzipDecoder& operator=(const GzipDecoder&) = delete;
    ~GzipDecoder() override { ::inflateEnd(&stream_); }

    std::size_t decode(std::span<const std::uint8_t>& from, std::span<std::uint8_t> into) override {
        constexpr std::size_t kMost = std::numeric_limits<uInt>::max();
        into = into.first(std::min(into.size(), kMost));
        do {
            if (is_between_ && !begin_member(from)) continue;
            const auto offered = from.first(std::min(from.size(), kMost));
            stream_.next_in = const_cast<std::uint8_t*>(offered.data());  // zlib only reads it
            stream_.avail_in = static_cast<uInt>(offered.size());
            stream_.next_out = into.data();
            stream_.avail_out = static_cast<uInt>(into.size());
            const int result = ::inflate(&stream_, Z_NO_FLUSH);
            from = from.subspan(offered.size() - stream_.avail_in);
            if (result == Z_MEM_ERROR) throw std::bad_alloc();
            if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR) throw InputError(kCorruptGzip);
            is_between_ = result == Z_STREAM_END;
            if (const std::size_t size = into.size() - stream_.avail_out; size > 0) return size;
        } while (!from.empty());
        return 0;
    }

    bool is_whole() const override { return is_between_ && !is_first_; }
    void pass_over_parts() override { is_first_ = false; }

private:
    // Returns false if no member begins here. Zeros may follow the last member, to fill up a tape block.
    bool begin_member(std::span<const std::uint8_t>& from) {
        if (from.empty()) return false;
        if (!is_first_ && from.front() == 0) {
            is_padded_ = true;
            from = from.subspan(1);
            return false;
        }
        if (is_padded_) throw InputError(kCorruptGzip);
        if (!is_first_) ::inflateReset(&stream_);
        is_first_ = is_between_ = false;
        return true;
    }

    z_stream stream_{};
    bool is_first_ = true;
    bool is_between_ = true;  // between members
    bool is_padded_ = false;
};

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
        case Compression::kGzip: return std::make_unique<GzipDecoder>();
        case Compression::kZstd: return std::make_unique<ZstdDecoder>();
        case Compression::kNone: break;
    }
    assert(false);
    return nullptr;
}

}  // namespace cleave
