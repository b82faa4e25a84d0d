#include "packed.h"

#include <bzlib.h>
#include <gtest/gtest.h>
#include <lz4frame.h>
#include <zlib.h>

#include <algorithm>
#include <span>
#include <vector>

#include "cleave/error.h"
#include "core/writer/encoder.h"
#include "features/compressed/decoder.h"
#include "features/compressed/inflate/gzip_reader.h"
#include "inputs.h"

namespace cleave::test {
namespace {

constexpr std::size_t kMostText = std::size_t{8} << 20;

std::size_t number_at(const std::string& bytes, std::size_t offset, std::size_t size) {
    std::size_t number = 0;
    for (std::size_t i = size; i > 0; --i) number = number << 8 | static_cast<std::uint8_t>(bytes[offset + i - 1]);
    return number;
}

// Calls decode(from) for the bytes so far, until it returns nothing; then adds `part` bytes to those that are left.
template <class Decode, class IsWhole>
DecodedInOrder decode_in_parts(std::string_view stream, std::size_t part, std::size_t most, const Decode& decode,
                               const IsWhole& is_whole) {
    DecodedInOrder result;
    std::size_t given = 0;
    std::span<const std::uint8_t> from;
    try {
        for (bool is_end = false; !is_end;) {
            const std::size_t size = std::min(part, stream.size() - given);
            is_end = size == 0;
            given += size;
            from = bytes_of(stream).subspan(given - size - from.size(), from.size() + size);
            for (auto bytes = decode(from); !bytes.empty(); bytes = decode(from)) {
                result.text.append(bytes.begin(), bytes.end());
                if (result.text.size() >= most) return result;
            }
        }
        result.is_whole = is_whole();
    } catch (const InputError& error) {
        result.error = error.what();
    }
    result.left = stream.size() - given + from.size();
    return result;
}

}  // namespace

std::string xz_of(const std::string& text, lzma_check check) {
    std::string stream(::lzma_stream_buffer_bound(text.size()), '\0');
    std::size_t size = 0;
    EXPECT_EQ(::lzma_easy_buffer_encode(1, check, nullptr, bytes_of(text).data(), text.size(),
                                        reinterpret_cast<std::uint8_t*>(stream.data()), &size, stream.size()),
              LZMA_OK);
    stream.resize(size);
    return stream;
}

std::string blocks_of(const std::string& text, std::size_t block) {
    lzma_mt options{};
    options.threads = 2;
    options.block_size = block;
    options.preset = 1;
    options.check = LZMA_CHECK_CRC64;
    lzma_stream encoder = LZMA_STREAM_INIT;
    EXPECT_EQ(::lzma_stream_encoder_mt(&encoder, &options), LZMA_OK);
    std::string stream(2 * text.size() + 10'000, '\0');
    encoder.next_in = bytes_of(text).data();
    encoder.avail_in = text.size();
    encoder.next_out = reinterpret_cast<std::uint8_t*>(stream.data());
    encoder.avail_out = stream.size();
    lzma_ret result = LZMA_OK;
    while (result == LZMA_OK) result = ::lzma_code(&encoder, LZMA_FINISH);
    EXPECT_EQ(result, LZMA_STREAM_END);
    stream.resize(encoder.total_out);
    ::lzma_end(&encoder);
    return stream;
}

std::string bzip2_of(const std::string& text) {
    std::string stream(text.size() * 2 + 1000, '\0');
    auto size = static_cast<unsigned>(stream.size());
    EXPECT_EQ(::BZ2_bzBuffToBuffCompress(stream.data(), &size, const_cast<char*>(text.data()),  // only read
                                         static_cast<unsigned>(text.size()), 1, 0, 0),
              BZ_OK);
    stream.resize(size);
    return stream;
}

std::string lz4_of(const std::string& text, unsigned dictionary) {
    LZ4F_preferences_t wanted{};
    wanted.frameInfo.blockSizeID = LZ4F_max64KB;
    wanted.frameInfo.contentChecksumFlag = LZ4F_contentChecksumEnabled;
    wanted.frameInfo.blockChecksumFlag = LZ4F_blockChecksumEnabled;
    wanted.frameInfo.contentSize = text.size();
    wanted.frameInfo.dictID = dictionary;
    std::string stream(::LZ4F_compressFrameBound(text.size(), &wanted), '\0');
    const std::size_t size = ::LZ4F_compressFrame(stream.data(), stream.size(), text.data(), text.size(), &wanted);
    EXPECT_FALSE(::LZ4F_isError(size));
    stream.resize(size);
    return stream;
}

std::string packed(Compression format, const std::string& text) {
    switch (format) {
        case Compression::kXz: return xz_of(text);
        case Compression::kBzip2: return bzip2_of(text);
        default: return lz4_of(text);
    }
}

std::optional<std::string> decoded_at_once(Compression format, const std::string& stream) {
    std::string text(kMostText, '\0');
    std::size_t size = 0;
    std::size_t taken = 0;
    if (format == Compression::kXz) {
        std::uint64_t memory = UINT64_MAX;
        const lzma_ret result = ::lzma_stream_buffer_decode(
            &memory, LZMA_TELL_UNSUPPORTED_CHECK, nullptr, bytes_of(stream).data(), &taken, stream.size(),
            reinterpret_cast<std::uint8_t*>(text.data()), &size, text.size());
        if (result != LZMA_OK) return std::nullopt;
    } else if (format == Compression::kBzip2) {
        auto room = static_cast<unsigned>(text.size());
        if (::BZ2_bzBuffToBuffDecompress(text.data(), &room, const_cast<char*>(stream.data()),  // only read
                                         static_cast<unsigned>(stream.size()), 0, 0) != BZ_OK)
            return std::nullopt;
        size = room;
        taken = stream.size();  // it does not tell; the streams of these tests have no bytes to spare
    } else {
        LZ4F_dctx* context = nullptr;
        EXPECT_FALSE(::LZ4F_isError(::LZ4F_createDecompressionContext(&context, LZ4F_VERSION)));
        size = text.size();
        taken = stream.size();
        const std::size_t result = ::LZ4F_decompress(context, text.data(), &size, stream.data(), &taken, nullptr);
        ::LZ4F_freeDecompressionContext(context);
        if (result != 0) return std::nullopt;
    }
    if (taken != stream.size()) return std::nullopt;
    text.resize(size);
    return text;
}

std::optional<std::string> unzipped(const std::string& archive) {
    using namespace std::string_literals;
    constexpr std::size_t kEnd = 22;
    constexpr std::size_t kEntry = 46;
    constexpr std::size_t kHeader = 30;
    const std::size_t end = archive.rfind("PK\5\6");
    if (end == std::string::npos || archive.size() - end < kEnd) return std::nullopt;
    std::optional<std::size_t> entry;
    std::size_t at = number_at(archive, end + 16, 4);
    for (std::size_t left = number_at(archive, end + 10, 2); left > 0; --left) {
        if (at + kEntry > end || archive.compare(at, 4, "PK\1\2") != 0) return std::nullopt;
        const std::size_t name_size = number_at(archive, at + 28, 2);
        const std::string name = archive.substr(at + kEntry, name_size);
        const bool is_file = !name.ends_with('/') && !name.starts_with("__MACOSX/");
        if (is_file && entry) return std::nullopt;
        if (is_file) entry = at;
        at += kEntry + name_size + number_at(archive, at + 30, 2) + number_at(archive, at + 32, 2);
    }
    if (!entry) return std::nullopt;
    const std::size_t packed_size = number_at(archive, *entry + 20, 4);
    const std::size_t size = number_at(archive, *entry + 24, 4);
    const std::size_t header = number_at(archive, *entry + 42, 4);
    if (header + kHeader > end || size > kMostText) return std::nullopt;
    const std::size_t data = header + kHeader + number_at(archive, header + 26, 2) + number_at(archive, header + 28, 2);
    if (data > end || packed_size > end - data) return std::nullopt;
    std::string text = archive.substr(data, packed_size);
    if (number_at(archive, *entry + 10, 2) == 8) {
        const std::string packed = std::move(text);
        text.assign(size, '\0');
        z_stream stream{};
        if (::inflateInit2(&stream, -MAX_WBITS) != Z_OK) return std::nullopt;
        stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));  // only read
        stream.avail_in = static_cast<uInt>(packed.size());
        stream.next_out = reinterpret_cast<Bytef*>(text.data());
        stream.avail_out = static_cast<uInt>(text.size());
        const int result = ::inflate(&stream, Z_FINISH);
        const bool is_all = result == Z_STREAM_END && stream.avail_in == 0 && stream.avail_out == 0;
        ::inflateEnd(&stream);
        if (!is_all) return std::nullopt;
    }
    const auto checksum = ::crc32(0, bytes_of(text).data(), static_cast<uInt>(text.size()));
    return checksum == number_at(archive, *entry + 16, 4) ? std::optional(text) : std::nullopt;
}

std::string gzipped(const std::string& text) {
    std::string packed;
    const auto take = [&](std::span<const std::uint8_t> bytes) { packed.append(bytes.begin(), bytes.end()); };
    const auto encoder = make_encoder({Compression::kGzip, 1});
    encoder->encode(bytes_of(text), take);
    encoder->finish(take);
    return packed;
}

DecodedInOrder decoded_in_order(std::string_view stream, Compression format, std::size_t part, std::size_t room,
                                std::size_t most) {
    using Bytes = std::span<const std::uint8_t>;
    if (format == Compression::kGzip) {
        GzipReader reader;
        return decode_in_parts(
            stream, part, most, [&](Bytes& from) { return reader.decode(from); }, [&] { return reader.is_whole(); });
    }
    const auto decoder = make_decoder(format);
    std::vector<std::uint8_t> into(room);
    return decode_in_parts(
        stream, part, most, [&](Bytes& from) { return Bytes(into).first(decoder->decode(from, into)); },
        [&] { return decoder->is_whole(); });
}

}  // namespace cleave::test
