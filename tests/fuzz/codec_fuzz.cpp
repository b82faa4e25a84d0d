// Compressed streams: what was encoded is decoded, what passes for whole is the same however it is parted, and several
// threads find the text and the fault that one finds.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "choices.h"
#include "cleave/error.h"
#include "inputs.h"
#include "io/decoder.h"
#include "io/encoder.h"
#include "io/parallel_decoder.h"

namespace cleave::test {
namespace {

constexpr std::size_t kMaxTextSize = 250;
constexpr std::size_t kMaxDecoded = 100'000;  // a few bytes may stand for very many
constexpr std::size_t kRoomInOrder = 65'536;  // of ParallelDecoder, for what is no part

struct Decoded {
    std::string text;
    bool is_whole = false;

    bool operator==(const Decoded&) const = default;
};

// The text, up to kMaxDecoded bytes; what follows is not looked at.
Decoded decode(const std::string& stream, Compression format, std::size_t part, std::size_t room) {
    const auto decoder = make_decoder(format);
    std::vector<std::uint8_t> into(room);
    Decoded decoded;
    try {
        for (std::size_t i = 0; i <= stream.size() + part && decoded.text.size() < kMaxDecoded; i += part) {
            auto from = bytes_of(stream).subspan(std::min(i, stream.size()));
            from = from.first(std::min(from.size(), part));
            while (const std::size_t size = decoder->decode(from, into)) {
                decoded.text.append(into.begin(), into.begin() + static_cast<std::ptrdiff_t>(size));
            }
            EXPECT_TRUE(from.empty());
        }
        decoded.is_whole = decoder->is_whole();
    } catch (const InputError&) {
        return decoded;
    }
    return decoded;
}

// All at once, by several threads where there are parts for them.
Decoded decode_parts(const std::string& stream, Compression format) {
    ParallelDecoder decoder(format);
    decoder.set_threads(2);
    Decoded decoded;
    auto from = bytes_of(stream);
    try {
        while (decoded.text.size() < kMaxDecoded) {
            const auto bytes = decoder.decode(from, false);
            if (bytes.empty()) break;
            decoded.text.append(bytes.begin(), bytes.end());
        }
        decoded.is_whole = decoder.is_whole();
    } catch (const InputError&) {
        return decoded;
    }
    EXPECT_TRUE(decoded.text.size() >= kMaxDecoded || from.empty());
    return decoded;
}

std::string encode(const std::string& text, const CompressionOptions& wanted) {
    std::string stream;
    const auto take = [&](std::span<const std::uint8_t> bytes) { stream.append(bytes.begin(), bytes.end()); };
    const auto encoder = make_encoder(wanted);
    encoder->encode(bytes_of(text), take);
    encoder->finish(take);
    return stream;
}

void fuzz(Choices choices) {
    const Compression format = choices.one_in(2) ? Compression::kGzip : Compression::kZstd;
    const std::size_t part = 1 + choices.below(100);
    const std::size_t room = 1 + choices.below(100);
    const bool encodes = choices.one_in(2);
    const std::size_t position = choices.below(300);
    const std::uint8_t change = choices.byte();
    std::string stream = choices.text(kMaxTextSize);
    if (encodes) {
        const std::string text = stream;
        stream = encode(text, {format, 1});
        EXPECT_EQ(decode(stream, format, part, room), (Decoded{text, true}));
        if (position < stream.size()) stream[position] = static_cast<char>(stream[position] ^ change);
    }
    const Decoded at_once = decode(stream, format, stream.size() + 1, kMaxDecoded);
    if (at_once.text.size() >= kMaxDecoded) return;
    EXPECT_EQ(decode_parts(stream, format), decode(stream, format, stream.size() + 1, kRoomInOrder));
    const Decoded in_parts = decode(stream, format, part, room);
    // What is wrong may be seen in one way only: libzstd compares the size that a frame says it has with what it has
    // only if it gets the frame in one part.
    if (in_parts.is_whole && at_once.is_whole) {
        EXPECT_EQ(in_parts.text, at_once.text);
    }
}

}  // namespace
}  // namespace cleave::test

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    cleave::test::fuzz(cleave::test::Choices({data, size}));
    return 0;
}
