// Streams of the formats that are only read: a decoder gives what the format's library gives in one call, and for a zip
// archive what its directory says, however the stream is divided and whatever the number of threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "choices.h"
#include "cleave/compression.h"
#include "cleave/error.h"
#include "features/compressed/decoder.h"
#include "inputs.h"
#include "packed.h"

namespace cleave::test {
namespace {

constexpr std::size_t kMaxStreamSize = 2000;

// How a decoder receives the stream.
struct Parts {
    std::size_t size;  // bytes at a time
    std::size_t room;  // for the decompressed bytes
    unsigned threads;
};

struct Decoded {
    std::string text;
    std::string error;
    bool is_whole = false;
};

Decoded decode(Compression format, const std::string& stream, const Parts& parts) {
    const auto decoder = make_decoder(format);
    decoder->set_threads(parts.threads);
    std::vector<std::uint8_t> into(parts.room);
    Decoded decoded;
    const auto take = [&](std::size_t size) {
        decoded.text.append(into.begin(), into.begin() + static_cast<std::ptrdiff_t>(size));
    };
    try {
        for (std::size_t i = 0; i < stream.size(); i += parts.size) {
            auto from = bytes_of(stream).subspan(i, std::min(parts.size, stream.size() - i));
            while (const std::size_t size = decoder->decode(from, into)) take(size);
            EXPECT_TRUE(from.empty());
        }
        while (const std::size_t size = decoder->finish(into)) take(size);
        decoded.is_whole = decoder->is_whole();
    } catch (const InputError& error) {
        decoded.error = error.what();
    }
    return decoded;
}

void fuzz(Choices choices) {
    constexpr std::array kFormats = {Compression::kXz, Compression::kBzip2, Compression::kLz4, Compression::kZip};
    const Compression format = kFormats[choices.below(kFormats.size())];
    const Parts parts{1 + choices.below(300), 1 + choices.below(300), 1 + choices.byte() % 3U};
    // If true, the stream is made of the rest of the input, with one byte changed; otherwise the rest is the stream.
    const bool is_made = choices.one_in(2) && format != Compression::kZip;
    const std::size_t place = choices.below(2000);
    const std::uint8_t change = choices.one_in(2) ? choices.byte() : 0;
    const bool has_blocks = choices.one_in(2);
    std::string stream = choices.text(kMaxStreamSize);
    if (is_made) stream = format == Compression::kXz && has_blocks ? blocks_of(stream, 100) : packed(format, stream);
    if (is_made && place < stream.size()) stream[place] = static_cast<char>(stream[place] ^ change);

    const Decoded whole = decode(format, stream, {kMaxStreamSize * 10, 65'536, 1});
    const Decoded divided = decode(format, stream, parts);
    EXPECT_EQ(divided.is_whole, whole.is_whole);
    EXPECT_EQ(divided.error, whole.error);
    EXPECT_TRUE(!whole.is_whole || divided.text == whole.text);
    if (is_made) {
        const auto wanted = decoded_at_once(format, stream);
        EXPECT_EQ(wanted.has_value(), whole.is_whole && whole.error.empty());
        EXPECT_TRUE(!wanted || whole.text == *wanted);
        EXPECT_TRUE(change != 0 || wanted);
    }
    if (format == Compression::kZip && whole.is_whole) {
        EXPECT_EQ(unzipped(stream).value_or(whole.text), whole.text);
    }
}

}  // namespace
}  // namespace cleave::test

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    cleave::test::fuzz(cleave::test::Choices({data, size}));
    return 0;
}
