// Compressed streams: encoded data decodes to the original, a stream that is accepted as complete is accepted however
// it is divided, and several threads find the same text and the same fault as one.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "choices.h"
#include "cleave/error.h"
#include "core/writer/encoder.h"
#include "features/compressed/decoder.h"
#include "features/compressed/parallel_decoder.h"
#include "gzip_members.h"
#include "inputs.h"
#include "packed.h"

namespace cleave::test {
namespace {

constexpr std::size_t kMaxTextSize = 250;
constexpr std::size_t kMaxDecoded = 100'000;  // a few bytes may expand to a great many
constexpr std::size_t kRoomInOrder = 65'536;  // the same as in ParallelDecoder, if data is not divided into parts

// What counts is the text, or its first kMaxDecoded bytes, and whether it is whole.
struct Decoded {
    std::string text;
    bool is_whole = false;

    bool operator==(const Decoded&) const = default;
};

Decoded decode(const std::string& stream, Compression format, std::size_t part, std::size_t room) {
    auto decoded = decoded_in_order(stream, format, part, room, kMaxDecoded);
    return {std::move(decoded.text), decoded.is_whole};
}

// Decodes on several threads where the stream has parts for them, adding `part` bytes at a time.
Decoded decode_parts(const std::string& stream, Compression format, unsigned threads, std::size_t part) {
    ParallelDecoder decoder(format);
    decoder.set_threads(threads);
    Decoded decoded;
    auto from = bytes_of(stream).first(0);
    std::size_t given = 0;
    try {
        for (bool is_end = false; !is_end && decoded.text.size() < kMaxDecoded;) {
            const std::size_t size = std::min(part, stream.size() - given);
            given += size;
            is_end = size == 0;
            from = bytes_of(stream).subspan(given - size - from.size(), from.size() + size);
            for (;;) {
                const auto bytes = decoder.decode(from, is_end ? Following::kNothing : Following::kLater);
                if (bytes.empty() || decoded.text.size() >= kMaxDecoded) break;
                decoded.text.append(bytes.begin(), bytes.end());
            }
        }
        decoded.is_whole = decoder.is_whole();
    } catch (const InputError&) {
        return decoded;
    }
    EXPECT_TRUE(decoded.text.size() >= kMaxDecoded || from.empty() || !decoded.is_whole);
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

struct Case {
    Compression format;
    std::size_t part;
    std::size_t room;
    bool encodes;
    std::size_t position;
    std::uint8_t change;
    std::size_t text_at;
    std::string text;
};

Case make_case(Choices& choices) {
    Case made;
    made.format = choices.one_in(2) ? Compression::kGzip : Compression::kZstd;
    made.part = 1 + choices.below(100);
    made.room = 1 + choices.below(100);
    made.encodes = choices.one_in(2);
    made.position = choices.below(300);
    made.change = choices.byte();
    made.text_at = choices.taken();
    made.text = choices.text(kMaxTextSize);
    return made;
}

void fuzz(Choices choices) {
    auto [format, part, room, encodes, position, change, text_at, stream] = make_case(choices);
    if (encodes) {
        const std::string text = stream;
        stream = encode(text, {format, 1});
        EXPECT_EQ(decode(stream, format, part, room), (Decoded{text, true}));
        if (position < stream.size()) stream[position] = static_cast<char>(stream[position] ^ change);
    }
    const Decoded at_once = decode(stream, format, stream.size() + 1, kMaxDecoded);
    if (at_once.text.size() >= kMaxDecoded) return;
    const Decoded by_threads = decode_parts(stream, format, 2, stream.size() + 1);
    const Decoded in_order = decode(stream, format, stream.size() + 1, kRoomInOrder);
    // libdeflate accepts a few damaged parts that zlib refuses.
    if (in_order.is_whole || !by_threads.is_whole) {
        EXPECT_EQ(by_threads, in_order);
    }
    if (format == Compression::kGzip) {
        const Decoded by_one = decode_parts(stream, format, 1, part);
        EXPECT_EQ(by_one.is_whole, by_threads.is_whole);
        if (by_one.is_whole) {
            EXPECT_EQ(by_one, by_threads);
        }
    }
    const Decoded in_parts = decode(stream, format, part, room);
    // A fault may show in only one of the two cases: libzstd compares a frame's stated size with its actual size only
    // if it gets the whole frame at once.
    if (in_parts.is_whole && at_once.is_whole) {
        EXPECT_EQ(in_parts.text, at_once.text);
    }
}

}  // namespace
}  // namespace cleave::test

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
    cleave::test::Choices choices({data, size});
    const cleave::test::Case made = cleave::test::make_case(choices);
    const bool is_gzip = made.format == cleave::Compression::kGzip && !made.encodes;
    return cleave::test::mutate_gzip({data, max_size}, size, seed, is_gzip ? made.text_at : max_size);
}

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    cleave::test::fuzz(cleave::test::Choices({data, size}));
    return 0;
}
