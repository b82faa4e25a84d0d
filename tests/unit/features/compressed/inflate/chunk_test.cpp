// Chunks decoded from guessed starts: nearly all guesses are right, and with the bytes before a chunk its symbols
// become the bytes that zlib finds there.
#include "features/compressed/inflate/chunk.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "features/compressed/inflate/gzip_reader.h"
#include "gzip_reference.h"
#include "inputs.h"

namespace cleave::test::chunk_test {

constexpr std::size_t kChunk = 5000;
constexpr std::size_t kOverlap = 40'000;

struct Boundary {
    std::size_t text;  // bytes before it
    bool is_in_member;
    std::size_t window;  // bytes before it, of the same member
};

// The bits at which the blocks and members of a stream begin. At a stored block, the last one that may be guessed.
std::map<std::uint64_t, Boundary> boundaries_of(const std::string& stream) {
    std::map<std::uint64_t, Boundary> boundaries;
    GzipReader reader;
    reader.stop_at_blocks();
    auto from = bytes_of(stream);
    std::size_t text = 0;
    for (;;) {
        const auto place = reader.place();
        const std::uint64_t bit = (stream.size() - from.size()) * 8 + (place ? place->bit : 0);
        if (place) {
            const auto start = place->is_in_member ? BlockFinder(bytes_of(stream)).at(bit) : std::nullopt;
            boundaries[start ? start->bit : bit] = {text, place->is_in_member, reader.window().size()};
        }
        const std::size_t left = from.size();
        const std::size_t size = reader.decode(from).size();
        text += size;
        if (size == 0 && left == from.size() && from.size() < 2) return boundaries;
    }
}

struct Tally {
    unsigned chunks = 0, right = 0;
};

void check_chunks(const std::string& stream, Tally& tally) {
    const std::string text = outcome_by_zlib(stream).text;
    const auto boundaries = boundaries_of(stream);
    ChunkRoom room;
    for (std::size_t at = 0; at < stream.size(); at += kChunk) {
        const auto bytes = bytes_of(stream).subspan(at, std::min(kChunk + kOverlap, stream.size() - at));
        const auto has_start = std::ranges::any_of(boundaries, [&](const auto& boundary) {
            return boundary.first >= at * 8 && boundary.first < (at + kChunk) * 8;
        });
        const auto chunk = decode_chunk(bytes, std::min(kChunk, bytes.size()), room);
        if (!chunk) continue;
        tally.chunks += has_start ? 1 : 0;
        const auto start = boundaries.find(at * 8 + chunk->start.bit);
        if (start == boundaries.end()) continue;
        ++tally.right;
        const Boundary& before = start->second;
        ASSERT_EQ(before.is_in_member, chunk->start.kind != BlockStart::Kind::kMember);
        const std::string_view window = std::string_view(text).substr(before.text - before.window, before.window);
        std::string decoded(chunk->size, '\0');
        if (before.is_in_member) {
            ASSERT_TRUE(SymbolTable(bytes_of(window))
                            .resolve(room.symbols(*chunk), reinterpret_cast<std::uint8_t*>(decoded.data())));
        } else {
            const auto plain = room.bytes(*chunk);
            decoded.assign(plain.begin(), plain.end());
        }
        ASSERT_TRUE(decoded == text.substr(before.text, chunk->size)) << at;
        const auto end = boundaries.find(at * 8 + chunk->end);
        ASSERT_NE(end, boundaries.end()) << at;
        ASSERT_EQ(end->second.text, before.text + chunk->size);
        ASSERT_EQ(end->second.is_in_member, chunk->is_in_member);
    }
}

TEST(ChunkTest, GuessesAreRightAndSymbolsBecomeTheBytes) {
    Random random(39);
    Tally tally;
    for (unsigned i = rounds(250); i > 0; --i) {
        std::string stream = some_gzip(random, 300'000);
        if (outcome_by_zlib(stream).verdict == GzipOutcome::Verdict::kWhole) check_chunks(stream, tally);
    }
    // Among the streams are some of noise and of fixed codes, in which few places can be guessed.
    EXPECT_GT(tally.right * 100, tally.chunks * 95) << tally.right << " of " << tally.chunks;
    EXPECT_GT(tally.right, rounds(250));
}

// The window is all there is before the chunk: what refers to more is refused.
TEST(ChunkTest, AReferenceBeforeTheMemberIsRefused) {
    const std::vector<std::uint16_t> symbols = {'a', 256 + kWindow - 3, 'b', 256 + kWindow - 1};
    const std::string window = "xyz";
    std::string bytes(symbols.size(), '\0');
    auto* const into = reinterpret_cast<std::uint8_t*>(bytes.data());
    EXPECT_TRUE(SymbolTable(bytes_of(window)).resolve(symbols, into));
    EXPECT_EQ(bytes, "axbz");
    EXPECT_FALSE(SymbolTable(bytes_of(window).subspan(1)).resolve(symbols, into));
}

}  // namespace cleave::test::chunk_test
