// The formats that are only read: whatever arrives, and however it is parted, a decoder gives what the format's library
// gives for the same bytes in one call.
#include <gtest/gtest.h>

#include <lzma.h>

#include <optional>
#include <string>
#include <vector>

#include "cleave/compression.h"
#include "cleave/error.h"
#include "cleave/input.h"
#include "features/compressed/decoder.h"
#include "forked.h"
#include "inputs.h"
#include "packed.h"
#include "pipe_input.h"
#include "temporary_directory.h"

namespace cleave::test::decoder_test {

using namespace std::string_literals;

struct Decoded {
    std::string text;
    bool is_whole = false;
    std::string error;

    std::optional<std::string> whole_text() const {
        return is_whole && error.empty() ? std::optional(text) : std::nullopt;
    }
};

// Gives the decoder `part` bytes at a time, and room for `room` bytes of output.
Decoded decode(Compression format, std::string_view stream, std::size_t part, std::size_t room, unsigned threads = 1) {
    const auto decoder = make_decoder(format);
    decoder->set_threads(threads);
    std::vector<std::uint8_t> into(room);
    Decoded decoded;
    const auto take = [&](std::size_t size) {
        decoded.text.append(into.begin(), into.begin() + static_cast<std::ptrdiff_t>(size));
    };
    try {
        while (!stream.empty()) {
            auto from = bytes_of(stream.substr(0, part));
            stream.remove_prefix(from.size());
            while (const std::size_t size = decoder->decode(from, into)) take(size);
            EXPECT_TRUE(from.empty());
        }
        while (const std::size_t size = decoder->finish(into)) take(size);
        EXPECT_EQ(decoder->finish(into), 0U);
        auto nothing = bytes_of("");
        EXPECT_EQ(decoder->decode(nothing, into), 0U);
        decoded.is_whole = decoder->is_whole();
    } catch (const InputError& error) {
        decoded.error = error.what();
    }
    return decoded;
}

std::string some_text(std::size_t size) {
    Random random(7);
    std::string text;
    while (text.size() < size) text += std::to_string(random.below(1000)) + ",\"a\nb\"\n";
    text.resize(size);
    return text;
}

class DecoderTest : public testing::TestWithParam<Compression> {
protected:
    static std::string stream_of(const std::string& text) { return packed(GetParam(), text); }
};

TEST_P(DecoderTest, HoweverAStreamIsPartedItsTextIsTheSame) {
    for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{1000}, std::size_t{300'000}}) {
        const std::string text = some_text(size);
        const std::string stream = stream_of(text);
        EXPECT_EQ(compression_of(bytes_of(stream)), GetParam());
        EXPECT_EQ(compression_of(bytes_of(stream.substr(0, kMagicSize))), GetParam());
        for (const std::size_t part : {std::size_t{1}, std::size_t{7}, std::size_t{65'536}, std::size_t{1} << 20}) {
            for (const std::size_t room : {std::size_t{1}, std::size_t{10'007}}) {
                if (room == 1 && size > 1000) continue;
                const Decoded decoded = decode(GetParam(), stream, part, room);
                EXPECT_TRUE(decoded.whole_text() == text) << size << ' ' << part << ' ' << decoded.error;
            }
        }
    }
}

TEST_P(DecoderTest, StreamsMayFollowEachOther) {
    const std::string streams = stream_of("h\n1\n") + stream_of("") + stream_of("2\n");
    for (const std::size_t part : {std::size_t{1}, std::size_t{1000}}) {
        EXPECT_EQ(decode(GetParam(), streams, part, 3).whole_text(), "h\n1\n2\n");
    }
}

TEST_P(DecoderTest, NoPartOfAStreamIsWhole) {
    const std::string stream = stream_of(some_text(2'000));
    for (std::size_t size = 0; size < stream.size(); ++size) {
        const Decoded decoded = decode(GetParam(), stream.substr(0, size), 100, 100);
        EXPECT_EQ(decoded.error, "") << size;
        EXPECT_FALSE(decoded.is_whole) << size;
        const Decoded second = decode(GetParam(), stream + stream.substr(0, size), 1000, 1000);
        EXPECT_EQ(second.whole_text().has_value(), size == 0) << size;
    }
}

TEST_P(DecoderTest, WhatHappensToADamagedStreamIsWhatTheLibrarySays) {
    const std::string text = some_text(300);
    const std::string stream = stream_of(text);
    std::size_t refused = 0;
    std::size_t tried = 0;
    for (std::size_t i = 0; i < stream.size() * 8; i += stride(3, 11), ++tried) {
        std::string changed = stream;
        changed[i / 8] = static_cast<char>(changed[i / 8] ^ 1 << i % 8);
        const auto wanted = decoded_at_once(GetParam(), changed);
        refused += wanted ? 0U : 1U;
        for (const std::size_t part : {std::size_t{1}, std::size_t{1000}}) {
            EXPECT_TRUE(decode(GetParam(), changed, part, 1000).whole_text() == wanted) << i;
        }
        EXPECT_EQ(wanted.value_or(text), text) << i;
    }
    EXPECT_GT(refused * 8, tried * 7);
}

TEST_P(DecoderTest, GarbageAfterTheEndIsAnError) {
    const std::string stream = stream_of("h\n1\n");
    for (const std::size_t part : {std::size_t{1}, std::size_t{1000}}) {
        const Decoded decoded = decode(GetParam(), stream + "garbage garbage", part, 1000);
        EXPECT_EQ(decoded.error, "corrupt " + std::string(compression_name(GetParam())) + " data");
        EXPECT_FALSE(decode(GetParam(), stream + "x", part, 1000).whole_text());
    }
}

TEST_P(DecoderTest, TheFormatIsOnlyRead) {
    EXPECT_FALSE(is_writable(GetParam()));
    EXPECT_EQ(least_level(GetParam()), 0);
    EXPECT_EQ(most_level(GetParam()), 0);
    EXPECT_EQ(default_level(GetParam()), 0);
    EXPECT_EQ(without_compression_suffix("a.tsv" + std::string(compression_suffix(GetParam()))), "a.tsv");
}

// Through Input, from a pipe and a file: errors have a place unless the decoder takes bytes ahead.
TEST_P(DecoderTest, InputReadsIt) {
    const std::string text = some_text(500'000);
    const std::string stream = stream_of(text);
    const TemporaryDirectory folder;
    Input input = Input::open(folder.write("in", stream));
    EXPECT_TRUE(input.is_stream());
    std::string found;
    for (auto bytes = input.read(); !bytes.empty(); bytes = input.read()) found.append(bytes.begin(), bytes.end());
    EXPECT_TRUE(found == text);
    EXPECT_EQ(input.compression(), GetParam());
    EXPECT_EQ(input.consumed(), stream.size());

    Input cut = Input::open(folder.write("cut", stream.substr(0, stream.size() - 1)));
    const std::string name(compression_name(GetParam()));
    try {
        cut.spool();
        ADD_FAILURE() << "not refused";
    } catch (const InputError& error) {
        const std::string place =
            GetParam() == Compression::kXz ? "" : " (compressed byte " + std::to_string(stream.size() - 1) + ")";
        EXPECT_EQ(error.what(), name + " data that ends too early" + place);
    }
}

INSTANTIATE_TEST_SUITE_P(Formats, DecoderTest,
                         testing::Values(Compression::kXz, Compression::kBzip2, Compression::kLz4),
                         [](const auto& format) { return std::string(compression_name(format.param)); });

constexpr unsigned kThreads[] = {1, 2, 3, 16};

TEST(XzDecoder, TheThreadsChangeNothing) {
    const std::string text = some_text(300'000);
    for (const std::string& stream : {blocks_of(text, 4096), blocks_of(text, 1 << 20), xz_of(text)}) {
        for (const unsigned threads : kThreads) {
            for (const std::size_t part : {std::size_t{997}, stream.size()}) {
                EXPECT_TRUE(decode(Compression::kXz, stream, part, 65'536, threads).whole_text() == text);
            }
        }
    }
}

TEST(XzDecoder, TheThreadsDoNotChangeTheEndOfADamagedStream) {
    const std::string stream = blocks_of(some_text(6'000), 1000);
    Random random(3);
    const auto expect_same = [](const std::string& changed, std::size_t i) {
        const Decoded wanted = decode(Compression::kXz, changed, 1000, 1000);
        EXPECT_EQ(wanted.whole_text(), decoded_at_once(Compression::kXz, changed)) << i;
        for (const unsigned threads : {2U, 16U}) {
            const Decoded found = decode(Compression::kXz, changed, 1 + i % 1000, 1000, threads);
            EXPECT_EQ(found.error, wanted.error) << i << ' ' << threads;
            EXPECT_EQ(found.is_whole, wanted.is_whole) << i << ' ' << threads;
        }
    };
    const std::size_t step = stride(5, 37);
    for (std::size_t i = 0; i < stream.size(); i += step) {
        std::string changed = stream;
        changed[i] = static_cast<char>(changed[i] ^ 1 << random.below(8));
        expect_same(changed, i);
    }
    for (std::size_t i = 1; i < stream.size(); i += 3 * step) expect_same(stream.substr(0, i), i);
}

TEST(XzDecoder, ZerosMayPadInFours) {
    const std::string stream = xz_of("h\n");
    for (const unsigned threads : kThreads) {
        const auto text_of = [&](const std::string& bytes) {
            return decode(Compression::kXz, bytes, 5, 100, threads).whole_text();
        };
        EXPECT_EQ(text_of(stream + std::string(8, '\0') + stream + std::string(4, '\0')), "h\nh\n");
        EXPECT_EQ(text_of(stream + std::string(3, '\0')), std::nullopt);
        EXPECT_EQ(text_of(stream + std::string(3, '\0') + stream), std::nullopt);
    }
}

TEST(XzDecoder, AnyChecksumMayProtectIt) {
    for (const lzma_check check : {LZMA_CHECK_NONE, LZMA_CHECK_CRC32, LZMA_CHECK_CRC64, LZMA_CHECK_SHA256})
        EXPECT_EQ(decode(Compression::kXz, xz_of("h\n", check), 100, 100).whole_text(), "h\n");
}

// A dictionary of 192 MiB, in the header of a block whose checksum is right.
TEST(XzDecoder, ALargeDictionaryIsRefused) {
    const std::string text = some_text(1000);
    lzma_options_lzma options;
    ASSERT_FALSE(::lzma_lzma_preset(&options, 1));
    lzma_filter filters[] = {{LZMA_FILTER_LZMA2, &options}, {LZMA_VLI_UNKNOWN, nullptr}};
    for (const auto& [size, is_read] : {std::pair(std::uint32_t{128} << 20, true), {std::uint32_t{192} << 20, false}}) {
        options.dict_size = size;
        options.mf = LZMA_MF_HC3;
        options.mode = LZMA_MODE_FAST;
        std::string stream(100'000, '\0');
        lzma_stream encoder = LZMA_STREAM_INIT;
        ASSERT_EQ(::lzma_stream_encoder(&encoder, filters, LZMA_CHECK_CRC32), LZMA_OK);
        encoder.next_in = bytes_of(text).data();
        encoder.avail_in = text.size();
        encoder.next_out = reinterpret_cast<std::uint8_t*>(stream.data());
        encoder.avail_out = stream.size();
        ASSERT_EQ(::lzma_code(&encoder, LZMA_FINISH), LZMA_STREAM_END);
        stream.resize(encoder.total_out);
        ::lzma_end(&encoder);
        for (const unsigned threads : kThreads) {
            const Decoded decoded = decode(Compression::kXz, stream, 100, 100, threads);
            EXPECT_EQ(decoded.whole_text().has_value(), is_read);
            EXPECT_EQ(decoded.error, is_read ? "" : "xz data with a dictionary of more than 128 MiB");
        }
    }
}

TEST(XzDecoder, AForkedProcessCannotGoOn) {
    const std::string stream = blocks_of(some_text(300'000), 4096);
    auto decoder = make_decoder(Compression::kXz);
    decoder->set_threads(3);
    std::vector<std::uint8_t> into(100);
    auto from = bytes_of(stream);
    ASSERT_GT(decoder->decode(from, into), 0U);
    const auto use = [&] {
        bool is_refused = false;
        try {
            decoder->decode(from, into);
        } catch (const LogicError&) {
            is_refused = true;
        }
        decoder.reset();
        return is_refused ? 0 : 1;
    };
    EXPECT_EQ(exit_status_of(use), 0);
}

TEST(Bzip2Decoder, ZerosMayFillUpATape) {
    const std::string stream = bzip2_of("h\n");
    for (const std::size_t part : {std::size_t{1}, std::size_t{1000}}) {
        EXPECT_EQ(decode(Compression::kBzip2, stream + std::string(500, '\0'), part, 100).whole_text(), "h\n");
        EXPECT_EQ(decode(Compression::kBzip2, stream + std::string(5, '\0') + stream, part, 100).whole_text(),
                  std::nullopt);
    }
}

TEST(Lz4Decoder, SkippableFramesAreSkipped) {
    const std::string skipped = "\x5A\x2A\x4D\x18\x03\0\0\0abc"s;
    for (const std::size_t part : {std::size_t{1}, std::size_t{1000}}) {
        EXPECT_EQ(decode(Compression::kLz4, lz4_of("h\n") + skipped + lz4_of("1\n") + skipped, part, 9).whole_text(),
                  "h\n1\n");
    }
}

TEST(Lz4Decoder, AFrameForADictionaryIsRefused) {
    for (const std::size_t part : {std::size_t{1}, std::size_t{1000}}) {
        const Decoded decoded = decode(Compression::kLz4, lz4_of("h\n") + lz4_of("h\n", 7), part, 100);
        EXPECT_EQ(decoded.error, "lz4 data that needs a dictionary");
    }
}

TEST(Lz4Decoder, TheLegacyFormatIsNotTaken) {
    EXPECT_EQ(compression_of(bytes_of("\x02\x21\x4C\x18\x64"s)), Compression::kNone);
    EXPECT_EQ(decode(Compression::kLz4, lz4_of("h\n") + "\x02\x21\x4C\x18\x64\0\0\0"s, 100, 100).error,
              "corrupt lz4 data");
}

TEST(DecoderMagic, TextIsNotCompressed) {
    for (const std::string_view text :
         {"BZh", "BZh9", "BZh9,a\n1,2\n", "BZh01AY&SY", "BZh91AY&S", "BZh:1AY&SY", "\xFD\x37zXZ"})
        EXPECT_EQ(compression_of(bytes_of(text)), Compression::kNone) << text;
}

}  // namespace cleave::test::decoder_test
