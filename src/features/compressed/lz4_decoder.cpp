// LZ4 frames, with liblz4, which checks what a frame has of checksums and sizes. Its legacy format counts as foreign.
#include <lz4frame.h>

#include <algorithm>
#include <new>
#include <string_view>

#include "cleave/error.h"
#include "features/compressed/decoder.h"

namespace cleave {
namespace {

struct FreeContext {
    void operator()(LZ4F_dctx* context) const { ::LZ4F_freeDecompressionContext(context); }
};

class Lz4Decoder : public Decoder {
public:
    Lz4Decoder() {
        LZ4F_dctx* context = nullptr;
        if (::LZ4F_isError(::LZ4F_createDecompressionContext(&context, LZ4F_VERSION)) != 0) throw std::bad_alloc();
        context_.reset(context);
    }

    std::size_t decode(std::span<const std::uint8_t>& from, std::span<std::uint8_t> into) override {
        if (begun_ == 0 && from.empty()) return 0;
        std::size_t made = 0;
        do {
            const std::size_t offered = begun_ < kFlags ? std::min<std::size_t>(from.size(), 1) : from.size();
            check_flags(from);
            std::size_t taken = offered;
            made = into.size();
            const std::size_t result =
                ::LZ4F_decompress(context_.get(), into.data(), &made, from.data(), &taken, nullptr);
            if (::LZ4F_isError(result) != 0) fail(result);
            begun_ = result == 0 ? 0 : std::min(kFlags, begun_ + taken);
            is_first_ = false;
            from = from.subspan(taken);
        } while (made == 0 && !from.empty());
        return made;
    }

    bool is_whole() const override { return begun_ == 0 && !is_first_; }

private:
    // A frame has a magic number and then a byte with flags.
    static constexpr std::size_t kFlags = 5;

    // The library decodes a frame for a dictionary without one. That would go unnoticed in a frame without a checksum.
    void check_flags(std::span<const std::uint8_t> from) {
        constexpr std::uint8_t kHasDictionary = 1;
        if (from.empty()) return;
        if (begun_ == 0) is_skippable_ = from.front() != 0x04;
        if (begun_ == kFlags - 1 && !is_skippable_ && (from.front() & kHasDictionary) != 0)
            throw InputError("lz4 data that needs a dictionary");
    }

    [[noreturn]] static void fail(std::size_t result) {
        if (std::string_view(::LZ4F_getErrorName(result)) == "ERROR_allocation_failed") throw std::bad_alloc();
        throw InputError("corrupt lz4 data");
    }

    std::unique_ptr<LZ4F_dctx, FreeContext> context_;
    std::size_t begun_ = 0;  // bytes of the frame that have been taken, at most kFlags; 0 between frames
    bool is_skippable_ = false;
    bool is_first_ = true;
};

}  // namespace

std::unique_ptr<Decoder> make_lz4_decoder() { return std::make_unique<Lz4Decoder>(); }

}  // namespace cleave
