// Compressed streams: what the encoders make the decoders and other programs read, and nothing else passes for whole.
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "cleave/compression.h"
#include "cleave/error.h"
#include "io/decoder.h"
#include "io/encoder.h"

namespace cleave {
namespace {

std::span<const std::uint8_t> bytes_of(std::string_view text) {
    return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

std::string encode(const std::string& text, const CompressionOptions& wanted, std::size_t part) {
    std::string stream;
    const auto take = [&](std::span<const std::uint8_t> bytes) { stream.append(bytes.begin(), bytes.end()); };
    const auto encoder = make_encoder(wanted);
    for (std::size_t i = 0; i < text.size(); i += part)
        encoder->encode(bytes_of(text).subspan(i, std::min(part, text.size() - i)), take);
    encoder->finish(take);
    return stream;
}

struct Decoded {
    std::string text;
    bool is_whole;
};

// Gives the decoder `part` bytes at a time, and room for `room`.
Decoded decode(std::string_view stream, Compression format, std::size_t part, std::size_t room) {
    const auto decoder = make_decoder(format);
    std::vector<std::uint8_t> into(room);
    Decoded decoded;
    for (;;) {
        auto from = bytes_of(stream.substr(0, part));
        stream.remove_prefix(from.size());
        const bool is_end = from.empty();
        while (const std::size_t size = decoder->decode(from, into)) {
            decoded.text.append(into.begin(), into.begin() + static_cast<std::ptrdiff_t>(size));
        }
        EXPECT_TRUE(from.empty());
        if (is_end) break;
    }
    decoded.is_whole = decoder->is_whole();
    return decoded;
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
            const Decoded decoded = decode(stream, GetParam(), part, part + 1);
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
        EXPECT_EQ(decode(encode(text, wanted(level), text.size()), GetParam(), 4096, 4096).text, text) << level;
    }
}

TEST_P(CodecTest, StreamsMayFollowEachOther) {
    const std::string one = encode("h\n1\n", wanted(), 100);
    const std::string none = encode("", wanted(), 100);
    for (const std::size_t part : {std::size_t{1}, std::size_t{1000}}) {
        const Decoded decoded = decode(one + none + one, GetParam(), part, 3);
        EXPECT_TRUE(decoded.is_whole);
        EXPECT_EQ(decoded.text, "h\n1\nh\n1\n");
    }
}

TEST_P(CodecTest, NoPartOfAStreamIsWhole) {
    const std::string stream = encode(some_text(2'000), wanted(), 5'000);
    for (std::size_t size = 0; size < stream.size(); ++size) {
        EXPECT_FALSE(decode(stream.substr(0, size), GetParam(), 100, 100).is_whole) << size;
    }
}

TEST_P(CodecTest, NoBitOfItsDataCanChange) {
    const std::string text = some_text(300);
    const std::string stream = encode(text, wanted(), 1000);
    // The header of a gzip member, of ten bytes, is not covered by its checksum.
    const std::size_t begin = GetParam() == Compression::kGzip ? 10 : 0;
    for (std::size_t i = begin * 8; i < stream.size() * 8; ++i) {
        std::string changed = stream;
        changed[i / 8] = static_cast<char>(changed[i / 8] ^ (1 << i % 8));
        try {
            const Decoded decoded = decode(changed, GetParam(), 1000, 1000);
            EXPECT_TRUE(!decoded.is_whole || decoded.text == text) << i;
        } catch (const InputError&) {
            continue;
        }
    }
}

TEST_P(CodecTest, GarbageAfterTheEndIsAnError) {
    const std::string stream = encode("h\n1\n", wanted(), 100);
    EXPECT_THROW(decode(stream + "garbage", GetParam(), 1000, 1000), InputError);
}

INSTANTIATE_TEST_SUITE_P(Formats, CodecTest, testing::Values(Compression::kGzip, Compression::kZstd));

TEST(Codec, ZerosMayFillUpATapeAfterGzip) {
    const std::string stream = encode("h\n1\n", {Compression::kGzip, 1}, 100);
    for (const std::size_t part : {std::size_t{1}, std::size_t{1000}}) {
        const Decoded decoded = decode(stream + std::string(500, '\0'), Compression::kGzip, part, 100);
        EXPECT_TRUE(decoded.is_whole);
        EXPECT_EQ(decoded.text, "h\n1\n");
    }
    EXPECT_THROW(decode(stream + std::string(5, '\0') + stream, Compression::kGzip, 1000, 100), InputError);
}

TEST(Codec, SkippableFramesAreSkipped) {
    const std::string skipped("\x5A\x2A\x4D\x18\x03\0\0\0abc", 11);
    EXPECT_EQ(compression_of(bytes_of(skipped)), Compression::kZstd);
    EXPECT_EQ(decode(skipped + encode("h\n", {Compression::kZstd, 1}, 9), Compression::kZstd, 2, 9).text, "h\n");
}

TEST(Codec, TextIsNotCompressed) {
    for (const std::string_view text : {"", "P", "P*M", "a,b\n", "\x1F\x8B", "\x1F\x8B\x07z", "\x28\xB5\x2F\xFE"}) {
        EXPECT_EQ(compression_of(bytes_of(text)), Compression::kNone) << text;
    }
}

}  // namespace
}  // namespace cleave
