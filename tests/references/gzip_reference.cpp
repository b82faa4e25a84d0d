#include "gzip_reference.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <vector>

namespace cleave::test {
namespace {

constexpr int kGzip = 16;  // added to the bits of the window: zlib.h

// Appends the text of the member at the front. Returns what inflate() returned last, and sets how many bytes were used.
int inflate_member(std::string_view stream, std::string& text, std::size_t& used) {
    z_stream zlib{};
    EXPECT_EQ(::inflateInit2(&zlib, MAX_WBITS + kGzip), Z_OK);
    zlib.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(stream.data()));  // zlib only reads it
    zlib.avail_in = static_cast<uInt>(stream.size());
    std::vector<char> room(std::size_t{1} << 20);
    int result = Z_OK;
    while (result == Z_OK) {
        zlib.next_out = reinterpret_cast<Bytef*>(room.data());
        zlib.avail_out = static_cast<uInt>(room.size());
        result = ::inflate(&zlib, Z_NO_FLUSH);
        text.append(room.data(), room.size() - zlib.avail_out);
    }
    // zlib.h: the lowest six bits of data_type are how many bits are taken, but not used.
    used = zlib.total_in - (static_cast<unsigned>(zlib.data_type) & 63U) / 8;
    ::inflateEnd(&zlib);
    return result;
}

std::string deflate_member(Random& random, const std::string& text) {
    constexpr std::array kStrategies = {Z_DEFAULT_STRATEGY, Z_FILTERED, Z_HUFFMAN_ONLY, Z_RLE, Z_FIXED};
    constexpr std::array kFlushes = {Z_NO_FLUSH, Z_PARTIAL_FLUSH, Z_SYNC_FLUSH, Z_FULL_FLUSH, Z_BLOCK};
    z_stream zlib{};
    const int window = 9 + static_cast<int>(random.below(7));
    EXPECT_EQ(::deflateInit2(&zlib, static_cast<int>(random.below(10)), Z_DEFLATED, kGzip + window,
                             1 + static_cast<int>(random.below(9)), kStrategies.at(random.below(kStrategies.size()))),
              Z_OK);
    std::array<Bytef, 10> name{"name.csv"};
    std::array<Bytef, 10> comment{"a comment"};
    std::array<Bytef, 6> extra{'X', 'X', 2, 0, 'y', 'z'};
    gz_header header{};
    if (random.chance(25)) {
        if (random.chance(50)) header.name = name.data();
        if (random.chance(50)) header.comment = comment.data();
        if (random.chance(50)) header.extra = extra.data();
        header.extra_len = static_cast<uInt>(extra.size());
        header.hcrc = random.chance(50) ? 1 : 0;
        ::deflateSetHeader(&zlib, &header);
    }
    std::string out(::deflateBound(&zlib, static_cast<uLong>(text.size())) + text.size() / 8 + 2000, '\0');
    zlib.next_out = reinterpret_cast<Bytef*>(out.data());
    zlib.avail_out = static_cast<uInt>(out.size());
    zlib.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));  // zlib only reads it
    std::size_t left = text.size();
    for (std::size_t flushes = random.chance(30) ? random.below(6) : 0; flushes > 0; --flushes) {
        zlib.avail_in = static_cast<uInt>(random.below(left + 1));
        left -= zlib.avail_in;
        ::deflate(&zlib, kFlushes.at(random.below(kFlushes.size())));
        left += zlib.avail_in;
    }
    zlib.avail_in = static_cast<uInt>(left);
    EXPECT_EQ(::deflate(&zlib, Z_FINISH), Z_STREAM_END);
    out.resize(zlib.total_out);
    ::deflateEnd(&zlib);
    return out;
}

}  // namespace

GzipOutcome outcome_by_zlib(std::string_view stream) {
    using Verdict = GzipOutcome::Verdict;
    GzipOutcome outcome;
    std::size_t at = 0;
    for (bool is_first = true; at < stream.size() || is_first; is_first = false) {
        if (!is_first && stream[at] != '\x1F') {
            const std::size_t other = stream.find_first_not_of('\0', at);
            if (other == std::string_view::npos) return outcome;
            outcome.verdict = Verdict::kCorrupt;
            outcome.place = other;
            return outcome;
        }
        std::size_t used = 0;
        const int result = inflate_member(stream.substr(at), outcome.text, used);
        at += used;
        if (result == Z_STREAM_END) continue;
        outcome.verdict = result == Z_BUF_ERROR ? Verdict::kTooShort : Verdict::kCorrupt;
        outcome.place = result == Z_BUF_ERROR ? stream.size() : at;
        return outcome;
    }
    return outcome;
}

std::string text_to_compress(Random& random, std::size_t most) {
    constexpr std::array<std::size_t, 4> kSizes = {4, 300, 5000, 70'000};
    const std::size_t kind = random.below(kSizes.size() + 1);
    const std::size_t size = random.below(std::min(kind < kSizes.size() ? kSizes.at(kind) : most, most) + 1);
    std::string text;
    switch (random.below(5)) {
        case 0:
            while (text.size() < size) text += static_cast<char>(random.below(256));
            break;
        case 1: {
            const std::size_t period = 1 + random.below(20);
            while (text.size() < size) {
                const bool is_new = text.size() < period || random.chance(2);
                text += is_new ? static_cast<char>(random.below(256)) : text[text.size() - period];
            }
            break;
        }
        case 2:
            while (text.size() < size) {
                text += std::to_string(random.below(100'000)) + ",\"name " + std::to_string(random.below(50)) + "\"," +
                        std::string(random.below(5), 'x') + '\n';
            }
            break;
        case 3: text = random_noise(random, "abcdefgh\n,", size); break;
        default:
            while (text.size() < size) {
                const std::size_t distance = 30'000 + random.below(2769);
                if (text.size() > distance && random.chance(1)) {
                    text += text.substr(text.size() - distance, 3 + random.below(300));
                } else {
                    text += random.one_of("0123456789,");
                }
            }
            break;
    }
    text.resize(size);
    return text;
}

std::string some_gzip(Random& random, std::size_t most) {
    std::string stream;
    for (std::size_t members = random.chance(25) ? 1 + random.below(4) : 1; members > 0; --members)
        stream += deflate_member(random, text_to_compress(random, most));
    if (random.chance(10)) stream += std::string(random.below(600), '\0');
    if (random.chance(5)) stream += random_noise(random, "\x1F\x8B\x08 abc", random.below(20));
    return stream;
}

unsigned gzip_streams(unsigned usual) {
    const char* const wanted = std::getenv("CLEAVE_GZIP_STREAMS");  // NOLINT(concurrency-mt-unsafe): one thread
    return wanted == nullptr ? rounds(usual) : static_cast<unsigned>(std::stoul(wanted));
}

void damage_gzip(Random& random, std::string& stream) {
    constexpr std::size_t kHeads = 100;
    const std::size_t reach = random.chance(40) ? std::min(stream.size(), kHeads) : stream.size();
    if (random.chance(25)) {
        stream.resize(random.below(reach));
        return;
    }
    for (std::size_t flips = random.chance(25) ? 1 + random.below(5) : 1; flips > 0; --flips) {
        char& byte = stream[random.below(reach)];
        byte = static_cast<char>(byte ^ 1 << random.below(8));
    }
}

}  // namespace cleave::test
