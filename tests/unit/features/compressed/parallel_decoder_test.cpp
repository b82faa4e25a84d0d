// Compressed streams of many parts, decoded by several threads: the bytes and the errors are the same as with one
// thread, whatever is wrong with the stream and however it arrives.
#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "cleave/error.h"
#include "cleave/input.h"
#include "features/compressed/decoder.h"
#include "features/compressed/parallel_decoder.h"
#include "inputs.h"
#include "packed.h"
#include "pipe_input.h"
#include "temporary_directory.h"

namespace cleave::test::parallel_decoder_test {

constexpr std::size_t kInOrder = std::size_t{64} << 10;  // the room for what is decoded in order

std::string little_endian(std::uint64_t number, std::size_t size) {
    std::string bytes;
    for (std::size_t i = 0; i < size; ++i) bytes += static_cast<char>(number >> 8 * i);
    return bytes;
}

std::string deflated(std::string_view text, int level) {
    z_stream stream{};
    EXPECT_EQ(::deflateInit2(&stream, level, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
    std::string out(::deflateBound(&stream, static_cast<uLong>(text.size())), '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));  // zlib only reads it
    stream.avail_in = static_cast<uInt>(text.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    EXPECT_EQ(::deflate(&stream, Z_FINISH), Z_STREAM_END);
    out.resize(stream.total_out);
    ::deflateEnd(&stream);
    return out;
}

// A gzip member with `data`, which decompresses to the text. If `before` is given, the member is a BGZF member with
// these extra fields before the size.
std::string member_of(const std::string& data, std::string_view text, const std::optional<std::string>& before) {
    using namespace std::string_literals;
    const auto bytes = bytes_of(text);
    const std::string end =
        little_endian(::crc32(0, bytes.data(), static_cast<uInt>(bytes.size())), 4) + little_endian(text.size(), 4);
    if (!before) return "\x1F\x8B\x08\0\0\0\0\0\0\xFF"s + data + end;
    const std::size_t extra = before->size() + 6;
    const std::size_t size = 12 + extra + data.size() + end.size();
    return "\x1F\x8B\x08\4\0\0\0\0\0\xFF"s + little_endian(extra, 2) + *before + "BC\2\0"s +
           little_endian(size - 1, 2) + data + end;
}

std::string member(std::string_view text, const std::optional<std::string>& before, int level = 1) {
    return member_of(deflated(text, level), text, before);
}

std::string block(std::string_view text, int level = 1) { return member(text, "", level); }

std::string frame(std::string_view text, bool has_size, bool has_checksum = true, int level = 1) {
    ZSTD_CCtx* const context = ::ZSTD_createCCtx();
    ::ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, has_size ? 1 : 0);
    ::ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, has_checksum ? 1 : 0);
    ::ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level);
    std::string out(::ZSTD_compressBound(text.size()), '\0');
    const std::size_t size = ::ZSTD_compress2(context, out.data(), out.size(), text.data(), text.size());
    EXPECT_FALSE(::ZSTD_isError(size));
    ::ZSTD_freeCCtx(context);
    out.resize(size);
    return out;
}

std::string skippable(std::size_t size) { return "\x5A\x2A\x4D\x18" + little_endian(size, 4) + std::string(size, 'x'); }

std::string some_text(Random& random, std::size_t size) {
    std::string text;
    while (text.size() < size) text += std::to_string(random.below(100'000)) + ",\"a\nb\"\n";
    text.resize(size);
    return text;
}

struct Stream {
    std::string text;
    std::string bytes;
};

void append_part(Stream& stream, Random& random, Compression format) {
    const std::size_t largest = random.chance(20) ? 65'000 : 300;
    const std::string text = random.chance(20) ? "" : some_text(random, random.below(largest));
    const int level = static_cast<int>(random.below(4));
    stream.text += text;
    if (format == Compression::kGzip) {
        using namespace std::string_literals;
        const std::string before = random.chance(20) ? "XY\3\0abc"s : ""s;
        stream.bytes += random.chance(15) ? member(text, std::nullopt, level) : member(text, before, level);
    } else {
        if (random.chance(20)) stream.bytes += skippable(random.below(20));
        stream.bytes += frame(text, random.chance(60), random.chance(60), level + 1);
    }
}

Stream some_stream(Random& random, Compression format) {
    Stream stream;
    for (std::size_t count = 1 + random.below(random.chance(30) ? 60 : 6); count > 0; --count)
        append_part(stream, random, format);
    if (format == Compression::kGzip && random.chance(30)) stream.bytes += std::string(random.below(600), '\0');
    return stream;
}

// Changes, cuts off, removes or inserts some bytes, often in the first or last bytes of a part.
void damage(std::string& bytes, Random& random) {
    std::size_t place = random.below(bytes.size());
    const std::size_t begin = bytes.find("\x1F\x8B", place);
    if (random.chance(50) && begin != std::string::npos) place = (begin + random.below(40)) % bytes.size();
    if (random.chance(20) && begin != std::string::npos && begin > 12) place = begin - 1 - random.below(12);
    switch (random.below(5)) {
        case 0: bytes.resize(place); break;
        case 1: bytes.erase(place, 1 + random.below(9)); break;
        case 2: bytes.insert(place, random_noise(random, "\x1F\x8B BCab", 1 + random.below(9))); break;
        case 3: bytes[place] = static_cast<char>(random.below(256)); break;
        default: bytes[place] = static_cast<char>(bytes[place] ^ 1 << random.below(8)); break;
    }
}

using Result = DecodedInOrder;

// Adds `step()` bytes at a time to those that the decoder has not consumed. Every call but the last passes `more`.
template <class Step>
Result decoded_by(unsigned threads, const std::string& bytes, Compression format, Following more, Step step) {
    ParallelDecoder decoder(format);
    decoder.set_threads(threads);
    Result result;
    std::size_t given = 0;
    auto from = bytes_of(bytes).first(0);
    try {
        for (bool is_end = bytes.empty(); !is_end;) {
            is_end = given == bytes.size();
            const std::size_t size = std::min<std::size_t>(step(), bytes.size() - given);
            given += size;
            from = bytes_of(bytes).subspan(given - size - from.size(), from.size() + size);
            const Following following = is_end ? Following::kNothing : more;
            for (auto text = decoder.decode(from, following); !text.empty(); text = decoder.decode(from, following)) {
                result.text.append(text.begin(), text.end());
            }
        }
        result.is_whole = decoder.is_whole();
        EXPECT_TRUE(from.empty() || !result.is_whole);
    } catch (const InputError& error) {
        result.error = error.what();
    }
    result.left = bytes.size() - given + from.size();
    return result;
}

class ParallelDecoderTest : public testing::TestWithParam<Compression> {};

TEST_P(ParallelDecoderTest, GivesWhatWasEncoded) {
    for (std::uint64_t seed = 0; seed < rounds(60); ++seed) {
        Random random(seed);
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        const Stream stream = some_stream(random, GetParam());
        for (const unsigned threads : {1U, 2U, 5U}) {
            for (const Following more : {Following::kLater, Following::kReady}) {
                const Result result = decoded_by(threads, stream.bytes, GetParam(), more,
                                                 [&] { return 1 + random.below(random.chance(50) ? 40 : 90'000); });
                EXPECT_EQ(result.error, "");
                EXPECT_TRUE(result.is_whole);
                EXPECT_TRUE(result.text == stream.text);
            }
        }
    }
}

TEST_P(ParallelDecoderTest, FindsTheSameFaultsAsOneThread) {
    unsigned faults = 0;
    for (std::uint64_t seed = 0; seed < rounds(1500); ++seed) {
        Random random(seed);
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        std::string bytes = some_stream(random, GetParam()).bytes;
        damage(bytes, random);
        if (random.chance(30)) damage(bytes, random);
        const Result at_once = decoded_in_order(bytes, GetParam(), kAll, kInOrder);
        EXPECT_TRUE(decoded_by(3, bytes, GetParam(), Following::kLater, [&] { return bytes.size(); }) == at_once);

        const Following more = random.chance(50) ? Following::kLater : Following::kReady;
        const auto threads = static_cast<unsigned>(1 + random.below(2));
        const Result result = decoded_by(threads, bytes, GetParam(), more, [&] { return 1 + random.below(3000); });
        EXPECT_EQ(result.error, at_once.error);
        EXPECT_EQ(result.is_whole, at_once.is_whole);
        if (GetParam() == Compression::kGzip) {
            EXPECT_TRUE(result.text == at_once.text);
        } else {
            // If the stream comes in parts, fewer of the bytes before a fault may have been returned by the time the
            // fault is noticed.
            const std::string all =
                decoded_in_order(bytes, GetParam(), kAll, 1).text;  // all but one byte of what there is
            EXPECT_TRUE(all.starts_with(result.text.substr(0, all.size())));
            EXPECT_LE(result.text.size(), all.size() + (result.error.empty() ? 0 : 1));
            EXPECT_GE(result.text.size() + (result.error.empty() ? 0 : kInOrder), all.size());
        }
        faults += at_once.error.empty() && at_once.is_whole ? 0U : 1U;
    }
    EXPECT_GT(faults, rounds(1500) / 2);
}

INSTANTIATE_TEST_SUITE_P(Formats, ParallelDecoderTest, testing::Values(Compression::kGzip, Compression::kZstd));

TEST(ParallelDecoder, TakesManyPartsTogether) {
    Random random(1);
    Stream stream;
    for (int i = 0; i < 40; ++i) {
        const std::string text = some_text(random, 65'000);
        stream.text += text;
        stream.bytes += block(text);
    }
    ParallelDecoder decoder(Compression::kGzip);
    const std::size_t small = decoder.read_size();
    decoder.set_threads(4);
    auto from = bytes_of(stream.bytes);
    const auto bytes = decoder.decode(from, Following::kNothing);
    EXPECT_TRUE(std::string(bytes.begin(), bytes.end()) == stream.text);
    EXPECT_TRUE(from.empty());
    EXPECT_TRUE(decoder.is_whole());
    EXPECT_GT(decoder.read_size(), 4 * small);
    decoder.set_threads(0);  // like 1
    EXPECT_GT(decoder.read_size(), 0U);
}

TEST(ParallelDecoder, WaitsForMoreOnlyWhereThereIsMore) {
    const std::string part = block("") + block("h\n1\n");  // empty parts are not work for a thread
    ParallelDecoder decoder(Compression::kGzip);
    decoder.set_threads(2);
    const std::string bytes = part + part;
    auto from = bytes_of(bytes).first(bytes.size() - 1);
    EXPECT_TRUE(decoder.decode(from, Following::kReady).empty());
    EXPECT_EQ(from.size(), bytes.size() - 1);
    EXPECT_EQ(decoder.decode(from, Following::kNothing).size(), 4U);
    EXPECT_FALSE(decoder.decode(from, Following::kNothing).empty());
    EXPECT_TRUE(decoder.decode(from, Following::kNothing).empty());
    EXPECT_FALSE(decoder.is_whole());
}

// "aaa" as a deflate block with codes for 287 literals and lengths, one more than exist (RFC 1951, section 3.2.7).
// libdeflate accepts it, zlib does not.
std::string deflated_with_too_many_codes() {
    std::string bytes;
    unsigned used = 0;  // in bits
    const auto put = [&](unsigned number, unsigned bits) {
        for (; bits > 0; --bits, number >>= 1, ++used) {
            if (used % 8 == 0) bytes += '\0';
            bytes.back() = static_cast<char>(bytes.back() | static_cast<char>((number & 1) << used % 8));
        }
    };
    const auto put_zeros = [&](unsigned count) {  // code lengths: 11 to 138 zeros
        put(1, 1);
        put(count - 11, 7);
    };
    put(1, 1);   // the last block
    put(2, 2);   // with its own codes
    put(30, 5);  // for 287 literals and lengths
    put(0, 5);   // one distance
    put(14, 4);  // the lengths have codes, for 18 lengths: 1 bit for a run of zeros, and 1 bit for 1
    for (unsigned i = 0; i < 18; ++i) put(i == 2 || i == 17 ? 1 : 0, 3);
    put_zeros('a');
    put(0, 1);  // 'a' has a code of 1 bit
    put_zeros(138);
    put_zeros(256 - 'a' - 1 - 138);
    put(0, 1);  // and so has the end of the block
    put_zeros(30);
    put(0, 1);  // and so has the distance
    put(0, 3);  // "aaa"
    put(1, 1);
    return bytes;
}

TEST(ParallelDecoder, JudgesAPartAloneWhateverComesWithIt) {
    const std::string odd = member_of(deflated_with_too_many_codes(), "aaa", "");
    EXPECT_NE(decoded_in_order(odd, Compression::kGzip, kAll, kInOrder).error, "");
    const std::string stream = block("a,b\n") + block("") + odd + block("c,d\n") + odd;
    const Result expected = decoded_by(1, stream, Compression::kGzip, Following::kLater, [&] { return stream.size(); });
    EXPECT_EQ(expected.error, "");
    for (const unsigned threads : {1U, 3U}) {
        for (const Following more : {Following::kLater, Following::kReady}) {
            for (std::size_t step = 1; step < stream.size(); ++step) {
                EXPECT_TRUE(decoded_by(threads, stream, Compression::kGzip, more, [&] { return step; }) == expected);
            }
        }
    }
}

TEST(StreamParts, NeedRoom) {
    Random random(1);
    const std::string text = some_text(random, 50'000);
    const std::string part = block(text);
    for (std::size_t size = 0; size < part.size(); ++size) {
        EXPECT_EQ(find_part(bytes_of(part).first(size)).kind, StreamPart::Kind::kCut) << size;
    }
    const StreamPart found = find_part(bytes_of(part + "more"));
    EXPECT_EQ(found.kind, StreamPart::Kind::kWhole);
    EXPECT_EQ(found.size, part.size());
    EXPECT_EQ(found.room, text.size());
    PartDecoder decoder;
    for (const std::size_t room : {text.size() - 1, std::size_t{0}, std::size_t{1}, text.size() / 2, text.size()}) {
        std::vector<std::uint8_t> into(text.size() + 1000, 0xEE);
        EXPECT_EQ(decoder.decode(bytes_of(part), std::span(into).first(room)), room == text.size()) << room;
        EXPECT_TRUE(std::all_of(into.begin() + static_cast<std::ptrdiff_t>(room), into.end(),
                                [](std::uint8_t byte) { return byte == 0xEE; }));
    }
}

TEST(StreamParts, AMemberThatSaysLessOrMoreThanItHasIsNoPart) {
    const std::string text(1000, 'a');
    for (const std::uint64_t said : {0U, 1U, 999U, 1001U, 65'536U, 65'537U, 0xFFFFFFFFU}) {
        std::string bytes = block(text);
        bytes.replace(bytes.size() - 4, 4, little_endian(said, 4));
        const StreamPart found = find_part(bytes_of(bytes));
        EXPECT_EQ(found.kind, said > 65'536 ? StreamPart::Kind::kNone : StreamPart::Kind::kWhole) << said;
        if (found.kind == StreamPart::Kind::kNone) continue;
        std::vector<std::uint8_t> into(std::size_t{1} << 17);
        EXPECT_FALSE(PartDecoder().decode(bytes_of(bytes), std::span(into).first(said)));
    }
}

TEST(StreamParts, AMemberThatSaysItIsTwoIsOne) {
    std::string bytes = block("a,b\n") + block("c,d\n");
    bytes.replace(16, 2, little_endian(bytes.size() - 1, 2));
    EXPECT_EQ(find_part(bytes_of(bytes)).size, bytes.size());
    std::vector<std::uint8_t> into(4);
    EXPECT_FALSE(PartDecoder().decode(bytes_of(bytes), into));
    EXPECT_EQ(decoded_by(2, bytes + bytes, Compression::kGzip, Following::kLater, [] { return 1000; }).text,
              "a,b\nc,d\na,b\nc,d\n");
}

TEST(StreamParts, OtherMembersAreNoParts) {
    EXPECT_EQ(find_part(bytes_of(member("a", std::nullopt))).kind, StreamPart::Kind::kNone);
    EXPECT_EQ(find_part(bytes_of("text")).kind, StreamPart::Kind::kNone);
}

struct FileResult {
    std::string text;
    std::string error;
    std::uint64_t consumed = 0;
};

FileResult read_all(Input input, unsigned threads) {
    input.set_threads(threads);
    FileResult result;
    try {
        const auto head = input.peek(1000);
        const std::string peeked(head.begin(), head.end());
        for (auto bytes = input.read(); !bytes.empty(); bytes = input.read()) {
            result.text.append(bytes.begin(), bytes.end());
        }
        EXPECT_TRUE(result.text.starts_with(peeked));
        EXPECT_TRUE(input.read().empty());
    } catch (const InputError& error) {
        result.error = error.what();
    }
    result.consumed = input.consumed();
    return result;
}

TEST(DecodedInput, OfManyPartsIsReadBySeveralThreads) {
    const TemporaryDirectory directory;
    for (const Compression format : {Compression::kGzip, Compression::kZstd}) {
        Random random(3);
        Stream stream;
        for (unsigned i = 0; i < rounds(300); ++i) {
            const std::string text = some_text(random, random.below(65'000));
            stream.text += text;
            stream.bytes += format == Compression::kGzip ? block(text) : frame(text, i % 3 == 0);
        }
        const std::string path = directory.write("in", stream.bytes);
        for (const unsigned threads : {0U, 1U, 2U, 4U, 1000U}) {
            const FileResult result = read_all(Input::open(path), threads);
            EXPECT_EQ(result.error, "");
            EXPECT_TRUE(result.text == stream.text) << threads;
            EXPECT_EQ(result.consumed, stream.bytes.size());
        }
        Pipe pipe(stream.bytes, {4096});
        EXPECT_TRUE(read_all(Input::open(pipe.path()), 4).text == stream.text);
        // The same fault is reported whatever the number of threads. The position that libzstd reports depends on how
        // much input it is given.
        const auto error_of = [&](const std::string& damaged, unsigned threads) {
            const std::string error = read_all(Input::open(damaged), threads).error;
            return format == Compression::kGzip ? error : error.substr(0, error.find(" (compressed byte"));
        };
        unsigned faults = 0;
        for (unsigned round = 0; round < rounds(20); ++round) {
            std::string bytes = stream.bytes;
            damage(bytes, random);
            const std::string damaged = directory.write("damaged", bytes);
            EXPECT_EQ(error_of(damaged, 3), error_of(damaged, 1)) << round;
            faults += error_of(damaged, 1).empty() ? 0U : 1U;
        }
        EXPECT_GT(faults, 0U);
    }
}

}  // namespace cleave::test::parallel_decoder_test
