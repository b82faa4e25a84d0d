// Gzip read in order: the bytes, the verdict and its place are those of zlib, however the stream arrives, whatever is
// wrong with it, and from wherever reading starts.
#include "features/compressed/inflate/gzip_reader.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "cleave/error.h"
#include "gzip_outcomes.h"
#include "gzip_reference.h"
#include "inputs.h"

namespace cleave::test::gzip_reader_test {

constexpr std::size_t kMostText = 200'000;

std::size_t some_step(Random& random, std::size_t size) {
    constexpr std::array<std::size_t, 6> kSteps = {1, 7, 64, 1000, 65'536, std::size_t{1} << 30};
    const std::size_t step = kSteps.at(random.below(kSteps.size()));
    return size > 20'000 ? std::max<std::size_t>(step, 1000) : step;  // each step may read the head of a block again
}

// CLEAVE_GZIP_STREAMS is set by `./dev prove gzip`; each stream is damaged ten times.
TEST(GzipReaderTest, RandomStreamsAreReadAsByZlib) {
    Random random(35);
    for (unsigned i = gzip_streams(600); i > 0; --i) {
        const std::string stream = some_gzip(random, kMostText);
        ASSERT_EQ(outcome_in_order(stream, some_step(random, stream.size())), outcome_by_zlib(stream)) << i;
        for (unsigned damages = 10; damages > 0; --damages) {
            std::string damaged = stream;
            damage_gzip(random, damaged);
            ASSERT_EQ(outcome_in_order(damaged, some_step(random, stream.size())), outcome_by_zlib(damaged)) << i;
        }
    }
}

TEST(GzipReaderTest, EveryTruncationAndEveryFlippedBitIsReadAsByZlib) {
    Random random(36);
    for (unsigned i = rounds(20); i > 0; --i) {
        const std::string stream = some_gzip(random, 400);
        for (std::size_t size = 0; size <= stream.size(); size += stride(3, 7)) {
            const std::string cut = stream.substr(0, size);
            ASSERT_EQ(outcome_in_order(cut, some_step(random, size)), outcome_by_zlib(cut)) << i << ' ' << size;
        }
        for (std::size_t bit = 0; bit < stream.size() * 8; bit += stride(3, 7)) {
            std::string damaged = stream;
            damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ 1 << bit % 8);
            ASSERT_EQ(outcome_in_order(damaged, some_step(random, stream.size())), outcome_by_zlib(damaged))
                << i << ' ' << bit;
        }
    }
}

// A stream is read up to some block, and the rest by a second reader from there.
TEST(GzipReaderTest, AnotherReaderContinuesAtABlock) {
    Random random(37);
    for (unsigned i = rounds(300); i > 0; --i) {
        const std::string stream = some_gzip(random, kMostText);
        std::string text;
        auto from = bytes_of(stream);
        const auto read = [&](GzipReader& reader, bool stops) {
            for (std::size_t left = 0; left != from.size() || !stops;) {
                left = from.size();
                const auto bytes = reader.decode(from);
                text.append(bytes.begin(), bytes.end());
                if (bytes.empty() && left == from.size()) return;
                if (stops && reader.place() && random.chance(20)) return;
            }
        };
        try {
            GzipReader first;
            first.stop_at_blocks();
            read(first, true);
            if (const auto place = first.place()) {
                const std::vector<std::uint8_t> window(first.window().begin(), first.window().end());
                GzipReader second(*place, window);
                read(second, false);
            } else {
                read(first, false);
            }
        } catch (const InputError&) {  // garbage after the last member
        }
        ASSERT_EQ(text, outcome_by_zlib(stream).text) << i;
    }
}

// Every place that the reader reports leads to the rest of the stream, with the size, the checksum and the window of
// the text before it. Between two members the text of the member is not known, so its beginning is taken from the
// places.
TEST(GzipReaderTest, PlacesLeadToTheRest) {
    Random random(40);
    for (unsigned i = rounds(60); i > 0; --i) {
        const std::string stream = some_gzip(random, kMostText);
        const GzipOutcome outcome = outcome_by_zlib(stream);
        std::vector<PassedPlace> places;  // of the stream
        std::size_t given = 0;
        std::size_t decoded = 0;
        const std::size_t step = some_step(random, stream.size());
        try {
            GzipReader reader;
            for (std::size_t taken = 0;;) {
                auto from = bytes_of(stream).subspan(taken, given - taken);
                const std::uint64_t first = std::uint64_t{taken} * 8;
                const std::size_t size = reader.decode(from).size();
                for (const PassedPlace& place : reader.places()) {
                    ASSERT_LE(place.at, size);
                    places.push_back({decoded + place.at, first + place.bit, place.is_in_member});
                }
                decoded += size;
                taken = given - from.size();
                if (size > 0) continue;
                if (given == stream.size()) break;
                given = std::min(stream.size(), given + step);
            }
        } catch (const InputError&) {  // garbage after the last member
        }
        ASSERT_FALSE(places.empty());
        ASSERT_FALSE(places.back().is_in_member);
        ASSERT_EQ(places.back().at, outcome.text.size());
        std::size_t member = 0;
        for (const PassedPlace& place : places) {
            if (!place.is_in_member) member = place.at;
            const auto before = bytes_of(outcome.text).subspan(member, place.at - member);
            const auto checksum =
                static_cast<std::uint32_t>(::crc32(0, before.data(), static_cast<uInt>(before.size())));
            GzipReader second(
                {static_cast<unsigned>(place.bit % 8), place.is_in_member, false, before.size(), checksum},
                before.last(std::min<std::size_t>(before.size(), 32768)));
            auto from = bytes_of(stream).subspan(static_cast<std::size_t>(place.bit / 8));
            std::string rest;
            try {
                for (auto bytes = second.decode(from); !bytes.empty(); bytes = second.decode(from))
                    rest.append(bytes.begin(), bytes.end());
            } catch (const InputError&) {  // the stream may be damaged; zlib refuses it at the same place
                ASSERT_EQ(outcome.verdict, GzipOutcome::Verdict::kCorrupt);
            }
            ASSERT_EQ(rest, outcome.text.substr(place.at)) << i << ' ' << place.bit;
        }
    }
}

}  // namespace cleave::test::gzip_reader_test
