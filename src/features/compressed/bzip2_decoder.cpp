// bzip2, with libbz2.
#include <bzlib.h>

#include <algorithm>
#include <limits>
#include <new>

#include "cleave/error.h"
#include "features/compressed/decoder.h"

namespace cleave {
namespace {

constexpr char kCorruptBzip2[] = "corrupt bzip2 data";

class Bzip2Decoder : public Decoder {
public:
    Bzip2Decoder() = default;
    Bzip2Decoder(const Bzip2Decoder&) = delete;
    Bzip2Decoder& operator=(const Bzip2Decoder&) = delete;
    ~Bzip2Decoder() override { ::BZ2_bzDecompressEnd(&stream_); }

    std::size_t decode(std::span<const std::uint8_t>& from, std::span<std::uint8_t> into) override {
        constexpr std::size_t kMost = std::numeric_limits<unsigned>::max();
        into = into.first(std::min(into.size(), kMost));
        do {
            if (is_between_ && !begin_stream(from)) continue;
            const auto offered = from.first(std::min(from.size(), kMost));
            stream_.next_in = const_cast<char*>(reinterpret_cast<const char*>(offered.data()));  // only read
            stream_.avail_in = static_cast<unsigned>(offered.size());
            stream_.next_out = reinterpret_cast<char*>(into.data());
            stream_.avail_out = static_cast<unsigned>(into.size());
            const int result = ::BZ2_bzDecompress(&stream_);
            from = from.subspan(offered.size() - stream_.avail_in);
            if (result == BZ_MEM_ERROR) throw std::bad_alloc();
            if (result != BZ_OK && result != BZ_STREAM_END) throw InputError(kCorruptBzip2);
            is_between_ = result == BZ_STREAM_END;
            if (const std::size_t size = into.size() - stream_.avail_out; size > 0) return size;
        } while (!from.empty());
        return 0;
    }

    bool is_whole() const override { return is_between_ && !is_first_; }

private:
    // Returns false if no stream begins here. Zeros may follow the last one, to fill up a tape block.
    bool begin_stream(std::span<const std::uint8_t>& from) {
        if (from.empty()) return false;
        if (!is_first_ && from.front() == 0) {
            is_padded_ = true;
            from = from.subspan(1);
            return false;
        }
        if (is_padded_) throw InputError(kCorruptBzip2);
        ::BZ2_bzDecompressEnd(&stream_);
        stream_ = {};
        if (::BZ2_bzDecompressInit(&stream_, 0, 0) != BZ_OK) throw std::bad_alloc();
        is_first_ = is_between_ = false;
        return true;
    }

    bz_stream stream_{};
    bool is_first_ = true;
    bool is_between_ = true;  // between streams
    bool is_padded_ = false;
};

}  // namespace

std::unique_ptr<Decoder> make_bzip2_decoder() { return std::make_unique<Bzip2Decoder>(); }

}  // namespace cleave
