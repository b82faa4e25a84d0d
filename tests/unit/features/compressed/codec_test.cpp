// Compressed streams: decoders and other programs can read what the encoders write, and no incomplete stream is
// mistaken for a complete one.
#include <gtest/gtest.h>

#include <zlib.h>

#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/helpers.h"
#include "cleave/cancel.h"
#include "cleave/compression.h"
#include "cleave/error.h"
#include "core/writer/encoder.h"
#include "features/compressed/decoder.h"
#include "inputs.h"
#include "packed.h"

namespace cleave::codec_test {

using test::decoded_in_order;

std::span<const std::uint8_t> bytes_of(std::string_view text) {
    return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

std::string encode(const std::string& text, const CompressionOptions& wanted, std::size_t part,
                   Helpers* helpers = nullptr) {
    std::string stream;
    const auto take = [&](std::span<const std::uint8_t> bytes) { stream.append(bytes.begin(), bytes.end()); };
    const auto encoder = make_encoder(wanted, helpers);
    for (std::size_t i = 0; i < text.size(); i += part)
        encoder->encode(bytes_of(text).subspan(i, std::min(part, text.size() - i)), take);
    encoder->finish(take);
    return stream;
}

std::string some_text(std::size_t size) {
    std::mt19937 random(7);  // NOLINT(bugprone-random-generator-seed): the same in every run
    std::string text;
    while (text.size() < size) text += std::to_string(random() % 1000) + ",\"a\nb\"\n";
    text.resize(size);
    return text;
}

class CodecTest : public testing::TestWithParam<Compression> {
protected:
    static CompressionOptions wanted(int level = 1) { return {GetParam(), level}; }
};

TEST_P(CodecTest, WhatIsEncodedIsDecodedHoweverItIsParted) {
    for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{1000}, std::size_t{300'000}}) {
        const std::string text = some_text(size);
        const std::string stream = encode(text, wanted(), 1 << 20);
        EXPECT_EQ(compression_of(bytes_of(stream)), GetParam());
        for (const std::size_t part : {std::size_t{1}, std::size_t{7}, std::size_t{65'536}}) {
            const auto decoded = decoded_in_order(stream, GetParam(), part, part + 1);
            EXPECT_TRUE(decoded.is_whole);
            EXPECT_EQ(decoded.text, text) << size << ' ' << part;
        }
    }
}

TEST_P(CodecTest, TheSameBytesMakeTheSameStream) {
    const std::string text = some_text(200'000);
    EXPECT_EQ(encode(text, wanted(), 100), encode(text, wanted(), text.size()));
}

TEST_P(CodecTest, EveryLevelWorks) {
    const std::string text = some_text(20'000);
    for (int level = least_level(GetParam()); level <= most_level(GetParam()); ++level) {
        EXPECT_EQ(decoded_in_order(encode(text, wanted(level), text.size()), GetParam(), 4096, 4096).text, text)
            << level;
    }
}

TEST_P(CodecTest, StreamsMayFollowEachOther) {
    const std::string one = encode("h\n1\n", wanted(), 100);
    const std::string none = encode("", wanted(), 100);
    for (const std::size_t part : {std::size_t{1}, std::size_t{1000}}) {
        const auto decoded = decoded_in_order(one + none + one, GetParam(), part, 3);
        EXPECT_TRUE(decoded.is_whole);
        EXPECT_EQ(decoded.text, "h\n1\nh\n1\n");
    }
}

TEST_P(CodecTest, NoPartOfAStreamIsWhole) {
    const std::string stream = encode(some_text(2'000), wanted(), 5'000);
    for (std::size_t size = 0; size < stream.size(); ++size) {
        EXPECT_FALSE(decoded_in_order(stream.substr(0, size), GetParam(), 100, 100).is_whole) << size;
    }
}

TEST_P(CodecTest, NoBitOfItsDataCanChange) {
    const std::string text = some_text(300);
    const std::string stream = encode(text, wanted(), 1000);
    // The ten-byte header of a gzip member is not covered by its checksum.
    const std::size_t begin = GetParam() == Compression::kGzip ? 10 : 0;
    for (std::size_t i = begin * 8; i < stream.size() * 8; ++i) {
        std::string changed = stream;
        changed[i / 8] = static_cast<char>(changed[i / 8] ^ (1 << i % 8));
        try {
            const auto decoded = decoded_in_order(changed, GetParam(), 1000, 1000);
            EXPECT_TRUE(!decoded.is_whole || decoded.text == text) << i;
        } catch (const InputError&) {
            continue;
        }
    }
}

TEST_P(CodecTest, GarbageAfterTheEndIsAnError) {
    const std::string stream = encode("h\n1\n", wanted(), 100);
    EXPECT_NE(decoded_in_order(stream + "garbage", GetParam(), 1000, 1000).error, "");
}

INSTANTIATE_TEST_SUITE_P(Formats, CodecTest, testing::Values(Compression::kGzip, Compression::kZstd));

// zlib's output, produced in one go.
std::string deflated_at_once(const std::string& text, int level) {
    z_stream stream{};
    EXPECT_EQ(::deflateInit2(&stream, level, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    std::string result(::deflateBound(&stream, text.size()), '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    stream.avail_in = static_cast<uInt>(text.size());
    stream.next_out = reinterpret_cast<Bytef*>(result.data());
    stream.avail_out = static_cast<uInt>(result.size());
    EXPECT_EQ(::deflate(&stream, Z_FINISH), Z_STREAM_END);
    result.resize(stream.total_out);
    ::deflateEnd(&stream);
    return result;
}

constexpr std::size_t kBlockOfMember = std::size_t{2} << 20;

TEST(GzipEncoder, AMemberOfOneBlockIsThatOfZlib) {
    for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{100'000}, kBlockOfMember}) {
        const std::string text = some_text(size);
        for (const int level : {1, 6, 9}) {
            if (level == 9 && size == kBlockOfMember && !test::is_thorough()) continue;
            EXPECT_EQ(encode(text, {Compression::kGzip, level}, 10'000), deflated_at_once(text, level)) << size;
        }
    }
}

TEST(GzipEncoder, TheMemberDoesNotDependOnThePartsNorOnTheHelpers) {
    for (const std::size_t size : {kBlockOfMember + 1, 3 * kBlockOfMember, 3 * kBlockOfMember + 40'000}) {
        if (test::kSanitized && !test::is_thorough() && size % kBlockOfMember == 0) continue;
        const std::string text = some_text(size);
        const std::string wanted = encode(text, {Compression::kGzip, 1}, size);
        const auto decoded = decoded_in_order(wanted, Compression::kGzip, 1 << 16, 1 << 16);
        EXPECT_TRUE(decoded.is_whole);
        EXPECT_TRUE(decoded.text == text) << size;
        EXPECT_LT(wanted.size() * 100, deflated_at_once(text, 1).size() * 101);
        for (const unsigned threads : {1U, 2U, 3U, 16U}) {
            if (threads == 2 && !test::is_thorough()) continue;
            for (const std::size_t part : {std::size_t{10'007}, 2 * kBlockOfMember}) {
                Helpers helpers(threads);
                EXPECT_TRUE(encode(text, {Compression::kGzip, 1}, part, &helpers) == wanted) << threads << ' ' << part;
            }
        }
    }
}

// The size of a block, up to its end marker, when it follows a block with the same end.
std::size_t deflated_size(const std::string& block, int level) {
    z_stream stream{};
    EXPECT_EQ(::deflateInit2(&stream, level, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
    constexpr std::size_t kDictionary = std::size_t{32} << 10;
    const auto* end = reinterpret_cast<const Bytef*>(block.data()) + block.size();
    EXPECT_EQ(::deflateSetDictionary(&stream, end - kDictionary, kDictionary), Z_OK);
    std::string result(2 * block.size(), '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(block.data()));
    stream.avail_in = static_cast<uInt>(block.size());
    stream.next_out = reinterpret_cast<Bytef*>(result.data());
    stream.avail_out = static_cast<uInt>(result.size());
    EXPECT_EQ(::deflate(&stream, Z_SYNC_FLUSH), Z_OK);
    ::deflateEnd(&stream);
    return stream.total_out;
}

// zlib.h: a marker that does not fit is written again once there is room.
TEST(GzipEncoder, BlocksThatFillABufferHaveOneMarker) {
    constexpr std::size_t kBuffer = std::size_t{128} << 10;
    std::mt19937 random(3);  // NOLINT(bugprone-random-generator-seed): the same in every run
    std::string noise(kBlockOfMember, '\0');
    for (char& byte : noise) byte = static_cast<char>(random());
    // Each byte of noise adds about one byte to the size.
    const auto block_of = [&](std::size_t noisy) {
        return noise.substr(0, noisy) + std::string(kBlockOfMember - noisy, 'a');
    };
    std::size_t noisy = 3 * kBuffer;
    for (int i = 0; i < 5; ++i) noisy = noisy + 3 * kBuffer - deflated_size(block_of(noisy), 1);
    unsigned met = 0;
    const std::size_t step = test::stride(1, 3);
    for (std::size_t n = noisy - 5; n <= noisy + 5; n += step) {
        const std::string block = block_of(n);
        if (deflated_size(block, 1) % kBuffer < 5) ++met;
        const std::string text = block + block + "end";
        Helpers helpers(3);
        const std::string stream = encode(text, {Compression::kGzip, 1}, text.size(), &helpers);
        EXPECT_TRUE(stream == encode(text, {Compression::kGzip, 1}, text.size())) << n;
        EXPECT_TRUE(decoded_in_order(stream, Compression::kGzip, 1 << 20, 1 << 20).text == text) << n;
    }
    EXPECT_GT(met, 2 / step);
}

// Several encoders share helpers, as the pieces of one run do.
TEST(GzipEncoder, EncodersShareHelpers) {
    const std::string text = some_text(2 * kBlockOfMember + 5000);
    const std::string wanted = encode(text, {Compression::kGzip, 1}, text.size());
    Helpers helpers(3);
    std::vector<std::string> results(4);
    {
        std::vector<std::jthread> threads;
        threads.reserve(results.size());
        for (std::string& result : results) {
            threads.emplace_back([&] { result = encode(text, {Compression::kGzip, 1}, 65'536, &helpers); });
        }
    }
    for (const std::string& result : results) EXPECT_TRUE(result == wanted);
}

// An encoder that is destroyed before it is finished frees its helpers for other encoders.
TEST(GzipEncoder, MayBeDropped) {
    const std::string text = some_text(3 * kBlockOfMember);
    Helpers helpers(2);
    make_encoder({Compression::kGzip, 1}, &helpers)->encode(bytes_of(text), [](std::span<const std::uint8_t>) {});
    const auto refuse = [](std::span<const std::uint8_t>) { throw std::length_error("full"); };
    const auto refused = make_encoder({Compression::kGzip, 1}, &helpers);
    EXPECT_THROW(
        {
            refused->encode(bytes_of(text), refuse);
            refused->finish(refuse);
        },
        std::length_error);
    EXPECT_TRUE(encode(text, {Compression::kGzip, 1}, text.size(), &helpers) ==
                encode(text, {Compression::kGzip, 1}, text.size()));
}

// Cancelling works even while a helper has a block whose result is awaited at the end.
TEST(GzipEncoder, IsCancelledWithinABlock) {
    const std::string text = some_text(2 * kBlockOfMember + 1000);
    const auto ignore = [](std::span<const std::uint8_t>) {};
    for (const unsigned threads : {1U, 3U}) {
        Helpers helpers(threads);
        Cancellation cancellation;
        const auto encoder = make_encoder({Compression::kGzip, 9}, &helpers, &cancellation);
        encoder->encode(bytes_of(text).first(kBlockOfMember + 10), ignore);
        cancellation.request();
        EXPECT_THROW(
            {
                encoder->encode(bytes_of(text).subspan(kBlockOfMember + 10), ignore);
                encoder->finish(ignore);
            },
            Cancelled);
    }
}

TEST(Codec, ZerosMayFillUpATapeAfterGzip) {
    const std::string stream = encode("h\n1\n", {Compression::kGzip, 1}, 100);
    for (const std::size_t part : {std::size_t{1}, std::size_t{1000}}) {
        const auto decoded = decoded_in_order(stream + std::string(500, '\0'), Compression::kGzip, part, 100);
        EXPECT_TRUE(decoded.is_whole);
        EXPECT_EQ(decoded.text, "h\n1\n");
    }
    EXPECT_NE(decoded_in_order(stream + std::string(5, '\0') + stream, Compression::kGzip, 1000, 100).error, "");
}

TEST(Codec, SkippableFramesAreSkipped) {
    const std::string skipped("\x5A\x2A\x4D\x18\x03\0\0\0abc", 11);
    EXPECT_EQ(compression_of(bytes_of(skipped)), Compression::kZstd);
    EXPECT_EQ(decoded_in_order(skipped + encode("h\n", {Compression::kZstd, 1}, 9), Compression::kZstd, 2, 9).text,
              "h\n");
}

TEST(Codec, TextIsNotCompressed) {
    for (const std::string_view text : {"", "P", "P*M", "a,b\n", "\x1F\x8B", "\x1F\x8B\x07z", "\x28\xB5\x2F\xFE"}) {
        EXPECT_EQ(compression_of(bytes_of(text)), Compression::kNone) << text;
    }
}

}  // namespace cleave::codec_test
