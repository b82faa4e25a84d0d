// Streams of several gzip members, each of several blocks, with every optional header field, plain or as BGZF blocks:
// the decoders, with one thread or several, find what a reader that follows the RFC finds, however the stream is
// divided.
#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <array>

#include "choices.h"
#include "cleave/error.h"
#include "features/compressed/parallel_decoder.h"
#include "gzip_members.h"
#include "inputs.h"
#include "packed.h"

namespace cleave::test {
namespace {

constexpr std::size_t kMaxStreamSize = 280;

// How the decoders receive the stream.
struct Parts {
    std::size_t size;  // bytes at a time
    unsigned threads;
    bool are_ready;  // see Following
};

struct Case {
    Parts parts;
    // If true, the stream is built from members that the choices describe, with one byte changed; otherwise the rest of
    // the input is the stream.
    bool is_made;
    std::size_t place;
    std::uint8_t change;
};

Case make_case(Choices& choices) {
    Case made;
    made.parts = {1 + choices.below(300), 1 + choices.byte() % 3U, choices.one_in(2)};
    made.is_made = choices.one_in(2);
    made.place = choices.below(2000);
    made.change = choices.one_in(2) ? choices.byte() : 0;
    return made;
}

// A member whose text is deflated according to the choices, with each part of the text in separate blocks.
std::string make_member(Choices& choices) {
    constexpr std::array kStrategies = {Z_DEFAULT_STRATEGY, Z_FIXED, Z_HUFFMAN_ONLY, Z_RLE};
    constexpr std::array kFlushes = {Z_NO_FLUSH, Z_BLOCK, Z_SYNC_FLUSH, Z_FULL_FLUSH};
    z_stream stream{};
    const int level = static_cast<int>(choices.below(3)) * 3;  // 0: stored
    const int strategy = kStrategies[choices.below(kStrategies.size())];
    if (::deflateInit2(&stream, level, Z_DEFLATED, MAX_WBITS + 16, 8, strategy) != Z_OK) throw std::bad_alloc();
    const bool is_block = choices.one_in(2);
    std::string extra = is_block ? std::string("BC\2\0\0\0", 6) : choices.text(choices.below(8));
    if (is_block && choices.one_in(4)) extra.insert(0, std::string("XY\1\0z", 5));
    std::string name = is_block ? "" : choices.text(choices.below(4)) + '\0';
    gz_header header{};
    if (!extra.empty()) header.extra = reinterpret_cast<Bytef*>(extra.data());
    header.extra_len = static_cast<uInt>(extra.size());
    if (!is_block && choices.one_in(2)) header.name = reinterpret_cast<Bytef*>(name.data());
    header.hcrc = !is_block && choices.one_in(2) ? 1 : 0;
    ::deflateSetHeader(&stream, &header);

    std::string out(70'000, '\0');
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    for (std::size_t left = choices.below(4); left > 0; --left) {
        std::string text = choices.text(choices.below(40));
        if (choices.one_in(16)) text = repeated(text, 1 + choices.below(20'000));
        const int flush = kFlushes[choices.below(kFlushes.size())];
        stream.next_in = reinterpret_cast<Bytef*>(text.data());
        stream.avail_in = static_cast<uInt>(text.size());
        ::deflate(&stream, flush);
    }
    EXPECT_EQ(::deflate(&stream, Z_FINISH), Z_STREAM_END);
    out.resize(stream.total_out);
    ::deflateEnd(&stream);
    mend_members({reinterpret_cast<std::uint8_t*>(out.data()), out.size()}, out.size());  // the block size
    return out;
}

std::string make_stream(const Case& made, Choices& choices) {
    if (!made.is_made) return choices.text(kMaxStreamSize);
    std::string stream;
    for (std::size_t left = 1 + choices.below(6); left > 0; --left) stream += make_member(choices);
    if (choices.one_in(4)) stream += std::string(choices.below(600), '\0');
    if (made.place < stream.size()) stream[made.place] = static_cast<char>(stream[made.place] ^ made.change);
    return stream;
}

struct Decoded {
    std::string text;
    bool is_whole = false;
};

Decoded decode_in_order(const std::string& stream, const Parts& parts) {
    auto decoded = decoded_in_order(stream, Compression::kGzip, parts.size, 0);
    return {std::move(decoded.text), decoded.is_whole};
}

Decoded decode_by_threads(const std::string& stream, const Parts& parts) {
    ParallelDecoder decoder(Compression::kGzip);
    decoder.set_threads(parts.threads);
    Decoded decoded;
    std::size_t given = 0;
    auto from = bytes_of(stream).first(0);
    try {
        for (bool is_end = false; !is_end;) {
            const std::size_t size = std::min(parts.size, stream.size() - given);
            given += size;
            is_end = size == 0;
            from = bytes_of(stream).subspan(given - size - from.size(), from.size() + size);
            const Following following = is_end            ? Following::kNothing
                                        : parts.are_ready ? Following::kReady
                                                          : Following::kLater;
            for (auto bytes = decoder.decode(from, following); !bytes.empty();
                 bytes = decoder.decode(from, following)) {
                decoded.text.append(bytes.begin(), bytes.end());
            }
        }
        decoded.is_whole = decoder.is_whole();
        EXPECT_TRUE(from.empty() || !decoded.is_whole);
    } catch (const InputError&) {
        return decoded;
    }
    return decoded;
}

void fuzz(Choices choices) {
    const Case made = make_case(choices);
    const std::string stream = make_stream(made, choices);
    const std::optional<std::string> expected = gunzip(stream);
    if (made.is_made && made.change == 0) {
        EXPECT_TRUE(expected);
    }
    if (!expected) {
        EXPECT_FALSE(decode_in_order(stream, made.parts).is_whole);
        // libdeflate accepts a few blocks that zlib refuses; in that case the number of threads changes nothing.
        Parts alone = made.parts;
        alone.threads = 1;
        const Decoded by_threads = decode_by_threads(stream, made.parts);
        const Decoded by_one = decode_by_threads(stream, alone);
        EXPECT_EQ(by_threads.is_whole, by_one.is_whole);
        if (by_one.is_whole) {
            EXPECT_TRUE(by_threads.text == by_one.text);
        }
        return;
    }
    for (const Decoded& decoded : {decode_in_order(stream, made.parts), decode_by_threads(stream, made.parts)}) {
        EXPECT_TRUE(decoded.is_whole);
        EXPECT_TRUE(decoded.text == *expected);
    }
}

}  // namespace
}  // namespace cleave::test

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
    cleave::test::Choices choices({data, size});
    const cleave::test::Case made = cleave::test::make_case(choices);
    return cleave::test::mutate_gzip({data, max_size}, size, seed, made.is_made ? max_size : choices.taken());
}

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    cleave::test::fuzz(cleave::test::Choices({data, size}));
    return 0;
}
