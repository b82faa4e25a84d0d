// The index of a gzip file: what it says is compared with zlib and with the reference; what is read through it with the
// text, for damaged and stale indexes and files, too.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <iterator>
#include <optional>
#include <thread>

#include "cleave/index_file.h"
#include "cleave/mapping_guard.h"
#include "gzip_reference.h"
#include "inputs.h"
#include "reference.h"
#include "temporary_directory.h"

namespace cleave::test::gzip_index_test {

constexpr std::size_t kMostWindow = 32768;

std::string little_endian(std::uint64_t number, std::size_t size) {
    std::string bytes;
    for (std::size_t i = 0; i < size; ++i) bytes += static_cast<char>(number >> 8 * i);
    return bytes;
}

// Of a stream of deflate blocks with a head and a trailer, or without. `flush` after every `step` bytes, unless 0.
std::string compressed(std::string_view text, int level, int window_bits, std::size_t step = 0) {
    z_stream zlib{};
    EXPECT_EQ(::deflateInit2(&zlib, level, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY), Z_OK);
    std::string out(::deflateBound(&zlib, static_cast<uLong>(text.size())) + text.size() / 50 + 1000, '\0');
    zlib.next_out = reinterpret_cast<Bytef*>(out.data());
    zlib.avail_out = static_cast<uInt>(out.size());
    zlib.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));  // zlib only reads it
    for (std::size_t left = text.size(); step > 0 && left > step; left -= step) {
        zlib.avail_in = static_cast<uInt>(step);
        EXPECT_EQ(::deflate(&zlib, Z_SYNC_FLUSH), Z_OK);
    }
    zlib.avail_in = static_cast<uInt>(text.size() - zlib.total_in);
    EXPECT_EQ(::deflate(&zlib, Z_FINISH), Z_STREAM_END);
    out.resize(zlib.total_out);
    ::deflateEnd(&zlib);
    return out;
}

std::string gzip(std::string_view text, int level = 6, std::size_t step = 0) {
    return compressed(text, level, 16 + MAX_WBITS, step);
}

// A member of a BGZF file.
std::string bgzf(std::string_view text) {
    using namespace std::string_literals;
    const std::string data = compressed(text, 6, -MAX_WBITS);
    const auto bytes = bytes_of(text);
    return "\x1F\x8B\x08\4\0\0\0\0\0\xFF\6\0BC\2\0"s + little_endian(18 + data.size() + 8 - 1, 2) + data +
           little_endian(::crc32(0, bytes.data(), static_cast<uInt>(bytes.size())), 4) + little_endian(text.size(), 4);
}

std::string bgzf_file(std::string_view text) {
    std::string file;
    for (; !text.empty(); text.remove_prefix(std::min<std::size_t>(text.size(), 65280)))
        file += bgzf(text.substr(0, 65280));
    return file + bgzf("");
}

// Records, in stretches that shrink well and badly, so that checkpoints are at both distances.
std::string some_records(Random& random, std::size_t size) {
    std::string text = "id,name,note\n";
    while (text.size() < size) {
        const bool is_noise = random.chance(30);
        const std::size_t end = std::min(size, text.size() + 10'000 + random.below(3'000'000));
        while (text.size() < end) {
            text += std::to_string(random.below(1'000'000)) + ",\"a\nb\",";
            if (is_noise) {
                for (unsigned i = 0; i < 60; ++i) text += static_cast<char>('#' + random.below(90));
            }
            text += '\n';
        }
    }
    return text;
}

class GzipIndexTest : public testing::Test {
protected:
    std::string input() const { return folder_.path("in.csv.gz"); }
    std::string index() const { return folder_.path("in.csv.gz.cleave"); }

    void make(const std::string& file, unsigned threads = 1) const {
        folder_.write("in.csv.gz", file);
        make_again(threads);
    }
    void make_again(unsigned threads) const {
        Input opened = Input::open(input());
        Execution execution;
        execution.threads = threads;
        write_index(opened, Dialect{}, execution);
    }
    void put(const std::string& bytes) const { folder_.write("in.csv.gz.cleave", bytes); }

    // The input as a blob, and its index.
    struct Opened {
        Input input;
        std::shared_ptr<const IndexFile> index;
    };
    Opened open() const {
        Input opened = Input::open(input());
        opened.peek(1);
        auto index = IndexFile::open(opened, Dialect{});
        if (index) read_by_index(opened, index);
        return {std::move(opened), std::move(index)};
    }

    // Why the index is not used; empty if it is.
    std::string fault() const {
        try {
            return open().index ? "" : "missing";
        } catch (const IndexError& error) {
            return error.what();
        }
    }

    TemporaryDirectory folder_;
};

std::string text_of(std::span<const std::uint8_t> bytes) { return {bytes.begin(), bytes.end()}; }

std::uint32_t crc_of(std::string_view text) {
    const auto bytes = bytes_of(text);
    return static_cast<std::uint32_t>(::crc32(0, bytes.data(), static_cast<uInt>(bytes.size())));
}

// What zlib makes of raw deflate data.
std::string inflated(std::string_view data, std::size_t most, unsigned bit = 0, std::string_view window = {}) {
    z_stream zlib{};
    EXPECT_EQ(::inflateInit2(&zlib, -MAX_WBITS), Z_OK);
    if (!window.empty()) {
        EXPECT_EQ(::inflateSetDictionary(&zlib, bytes_of(window).data(), static_cast<uInt>(window.size())), Z_OK);
    }
    if (bit > 0) {
        ::inflatePrime(&zlib, static_cast<int>(8 - bit), static_cast<unsigned char>(data.front()) >> bit);
        data.remove_prefix(1);
    }
    std::string text(most, '\0');
    zlib.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data.data()));  // zlib only reads it
    zlib.avail_in = static_cast<uInt>(data.size());
    zlib.next_out = reinterpret_cast<Bytef*>(text.data());
    zlib.avail_out = static_cast<uInt>(text.size());
    const int result = ::inflate(&zlib, Z_SYNC_FLUSH);
    EXPECT_TRUE(result == Z_OK || result == Z_STREAM_END || result == Z_BUF_ERROR) << result;
    text.resize(zlib.total_out);
    ::inflateEnd(&zlib);
    return text;
}

// Everything in the index, against the text, the reference and zlib.
void expect_index(const IndexView& view, const std::string& file, const std::string& text) {
    const Reading reading = read_by_rules(text, Dialect{});
    const IndexHead& head = view.head();
    ASSERT_TRUE(view.is_of_gzip());
    EXPECT_EQ(view.file_size(), file.size());
    EXPECT_EQ(head.size, text.size());
    EXPECT_EQ(head.records, reading.starts.size());
    EXPECT_EQ(head.header_records, header_records(text, Dialect{}));
    EXPECT_EQ(head.header_size, reading.start_of(head.header_records).offset);
    ASSERT_EQ(view.entry_count(), (text.size() + kIndexStep - 1) / kIndexStep);
    for (std::size_t i = 0; i < view.entry_count(); ++i) EXPECT_EQ(view.entry(i), reading.at_or_after(i * kIndexStep));
    for (std::size_t at = 0; at < text.size(); at += kGzipPart)
        EXPECT_EQ(view.checksum(at / kGzipPart), crc_of(std::string_view(text).substr(at, kGzipPart)));
    std::uint64_t before = 0;
    for (std::size_t i = 0; i < view.checkpoint_count(); ++i) {
        const GzipCheckpoint here = view.checkpoint(i);
        SCOPED_TRACE(here.offset);
        EXPECT_GE(here.offset - before, kGzipDistance / 2);
        before = here.offset;
        ASSERT_LE(here.offset, text.size());
        const std::string_view rest = std::string_view(file).substr(static_cast<std::size_t>(here.bit / 8));
        const std::string_view wanted = std::string_view(text).substr(static_cast<std::size_t>(here.offset), 100'000);
        if (!here.is_in_member) {
            EXPECT_EQ(outcome_by_zlib(rest).text, text.substr(static_cast<std::size_t>(here.offset)));
            continue;
        }
        const std::string_view member = std::string_view(text).substr(
            static_cast<std::size_t>(here.offset - here.member_size), static_cast<std::size_t>(here.member_size));
        EXPECT_EQ(here.member_checksum, crc_of(member));
        const std::string_view window = member.substr(member.size() - std::min(member.size(), kMostWindow));
        EXPECT_EQ(inflated(text_of(here.window), kMostWindow + 1), window);
        EXPECT_TRUE(wanted.starts_with(inflated(rest, wanted.size(), static_cast<unsigned>(here.bit % 8), window)));
    }
}

TEST_F(GzipIndexTest, IsRightForEveryKindOfFile) {
    Random random(1);
    const std::string text = some_records(random, 14'000'000);
    const std::string_view half = std::string_view(text).substr(0, text.size() / 2);
    const std::string rest = text.substr(half.size());
    const std::array<std::function<std::string()>, 7> makers = {
        [&] { return gzip(text); },
        [&] { return bgzf_file(text); },
        [&] { return gzip(text, 1); },
        [&] { return gzip(half) + gzip("") + gzip(rest, 9) + std::string(5000, '\0'); },
        [&] { return gzip(text, 0); },
        [&] { return gzip(text, 6, 50'000); },
        [&] { return bgzf_file(half) + gzip(rest); },
    };
    for (std::size_t i = 0; i < makers.size(); i += stride(3, 6)) {
        SCOPED_TRACE(i);
        const std::string file = makers[i]();
        make(file);
        ASSERT_EQ(fault(), "");
        const std::string bytes = slurp(index());
        expect_index(IndexView(bytes_of(bytes)), file, text);
        EXPECT_GE(IndexView(bytes_of(bytes)).checkpoint_count(), 3U);
        EXPECT_LE(bytes.size(), text.size() / 100);
        for (const unsigned threads : {2U, 5U, 16U}) {
            if (!is_thorough() && threads != 5) continue;
            make_again(threads);
            EXPECT_EQ(slurp(index()), bytes) << threads << " threads";
        }
    }
}

// Texts too short for a checkpoint, and shorter than every buffer.
TEST_F(GzipIndexTest, IsRightForShortTexts) {
    for (const std::string text : {"", "id\n", "id", "id\n1\n", "\n\n\n", "\xEF\xBB\xBFid\n1\n", "id,\"x\ny\"\n1,2"}) {
        SCOPED_TRACE(shown(text));
        make(gzip(text));
        const std::string bytes = slurp(index());
        expect_index(IndexView(bytes_of(bytes)), slurp(input()), text);
        const Opened opened = open();
        std::vector<std::uint8_t> buffer;
        EXPECT_EQ(text_of(opened.input.blob().lend(0, text.size(), buffer)), text);
    }
}

TEST_F(GzipIndexTest, EveryRangeIsReadAsItIs) {
    Random random(2);
    const std::string text = some_records(random, 7'000'000);
    make(gzip(text));
    for (const unsigned threads : {1U, 4U}) {
        std::optional<MappingGuard> guard;  // with one, the index is mapped
        if (threads > 1) guard.emplace();
        Opened opened = open();
        opened.input.set_threads(threads);
        const Blob& blob = opened.input.blob();
        ASSERT_EQ(blob.size(), text.size());
        EXPECT_EQ(opened.input.compression(), Compression::kGzip);
        std::array<unsigned, 4> wrong{};
        const auto read = [&](unsigned worker) {
            Random own(worker);
            std::vector<std::uint8_t> buffer;
            for (unsigned i = 0; i < rounds(160); ++i) {
                const std::size_t offset = own.below(text.size() + 1);
                const std::size_t size = std::min(text.size() - offset, own.below(own.chance(30) ? 3'000'000 : 3000));
                const auto bytes = blob.lend(offset, size, buffer);
                if (!std::equal(bytes.begin(), bytes.end(),
                                bytes_of(text).begin() + static_cast<std::ptrdiff_t>(offset)))
                    ++wrong.at(worker);
            }
        };
        {
            std::vector<std::jthread> workers;
            workers.reserve(threads);
            for (unsigned i = 0; i < threads; ++i) workers.emplace_back(read, i);
        }
        EXPECT_EQ(wrong, (std::array<unsigned, 4>{}));
        // Long ranges are read on several threads.
        for (unsigned i = 0; i < 10; ++i) {
            const std::size_t offset = i == 0 ? 0 : random.below(text.size());
            const std::size_t size = i == 0 ? text.size() : random.below(text.size() - offset + 1);
            std::vector<std::uint8_t> buffer;
            EXPECT_TRUE(text_of(blob.lend(offset, size, buffer)) == text.substr(offset, size));
        }
        std::vector<std::uint8_t> buffer;
        EXPECT_THROW(blob.lend(text.size(), 1, buffer), ArgumentError);
    }
}

// The windows of an index that is not mapped are read when they are needed.
TEST_F(GzipIndexTest, ThatHasBecomeShorterIsNoticed) {
    Random random(6);
    const std::string text = some_records(random, 9'000'000);
    make(gzip(text));
    const std::string bytes = slurp(index());
    const Opened opened = open();
    std::vector<std::uint8_t> buffer;
    std::filesystem::resize_file(index(), bytes.size() - 20);  // in place
    EXPECT_TRUE(text_of(opened.input.blob().lend(0, 1000, buffer)) == text.substr(0, 1000));
    EXPECT_THROW(opened.input.blob().lend(text.size() - 10, 10, buffer), IndexError);
    EXPECT_THROW(opened.index->view().checkpoint(0), ArgumentError);
    EXPECT_GT(opened.index->checkpoint(0).window.size(), 0U);
}

TEST_F(GzipIndexTest, IsOfUseWithEveryDialect) {
    Random random(7);
    const std::string text = some_records(random, 5'000'000);
    make(gzip(text));
    Input input = Input::open(this->input());
    input.peek(1);
    EXPECT_THROW(IndexFile::open(input, Dialect{.delimiter = ';'}), IndexError);
    EXPECT_TRUE(read_by_index(input));
    std::vector<std::uint8_t> buffer;
    EXPECT_TRUE(text_of(input.blob().lend(4'500'000, 1000, buffer)) == text.substr(4'500'000, 1000));
    EXPECT_TRUE(read_by_index(input));  // a blob already
    Input pipe = Input::open("/dev/null");
    EXPECT_FALSE(read_by_index(pipe));
    std::filesystem::remove(index());
    Input without = Input::open(this->input());
    without.peek(1);
    EXPECT_FALSE(read_by_index(without));
    EXPECT_TRUE(without.is_stream());
}

TEST_F(GzipIndexTest, AnswersAsAScanOfTheText) {
    Random random(3);
    const std::string text = some_records(random, 6'000'000);
    make(gzip(text));
    Opened opened = open();
    Execution execution;
    execution.index = opened.index;
    const RecordIndex by_index = index_records(opened.input, Dialect{}, execution);
    const RecordIndex by_scan(bytes_of(text), Dialect{}, Execution{});
    EXPECT_EQ(by_index.findings(), by_scan.findings());
    Locator here(by_index);
    Locator there(by_scan);
    for (unsigned i = 0; i < 200; ++i) {
        const std::uint64_t record = random.below(by_scan.findings().records + 1);
        ASSERT_EQ(here.start_of(record), there.start_of(record));
    }
}

// Whatever happens to the index, the bytes are right or there is an error.
TEST_F(GzipIndexTest, EveryDamagedByteIsNoticed) {
    Random random(4);
    const std::string text = some_records(random, 5'000'000);
    make(gzip(text));
    const std::string good = slurp(index());
    ASSERT_GE(IndexView(bytes_of(good)).checkpoint_count(), 1U);
    const std::uint64_t begin = IndexView(bytes_of(good)).checkpoint_offset(0);
    const auto outcome = [&] {
        try {
            const Opened opened = open();
            std::vector<std::uint8_t> buffer;
            const auto bytes = opened.input.blob().lend(begin + 1'000, 300'000, buffer);
            return text_of(bytes) == text.substr(static_cast<std::size_t>(begin) + 1'000, 300'000) ? 'r' : 'w';
        } catch (const IndexError&) {
            return 'i';
        }
    };
    ASSERT_EQ(outcome(), 'r');
    std::string bad = good;
    std::size_t windows = good.size() - 16;
    for (std::size_t i = 0; i < IndexView(bytes_of(good)).checkpoint_count(); ++i)
        windows -= IndexView(bytes_of(good)).checkpoint(i).window.size();
    for (std::size_t i = 0; i < good.size(); i += i < 300 || i + 20 > good.size() ? 1U
                                                  : i < windows                   ? 13U
                                                  : kSanitized                    ? 4'999U
                                                                                  : 499U) {
        bad[i] = static_cast<char>(bad[i] ^ 1 << random.below(8));
        put(bad);
        const bool is_in_window = i >= windows && i < good.size() - 16;  // perhaps one that is not needed here
        const char seen = outcome();
        ASSERT_TRUE(seen == 'i' || (seen == 'r' && is_in_window)) << "byte " << i << ": " << seen;
        bad[i] = good[i];
    }
    for (std::size_t size = good.size(); size > 0;
         size -= std::min<std::size_t>(size, 1 + random.below(kSanitized ? 5000 : 500))) {
        put(good.substr(0, size - 1));
        ASSERT_EQ(outcome(), 'i') << size;
    }
    put(good + "x");
    EXPECT_EQ(outcome(), 'i');
}

// The compressed file is damaged after it was indexed, and given its old time again. Only the index of the times of its
// status shows that; IndexMatch::kSameTime leaves that out, as if the index had been forged.
TEST_F(GzipIndexTest, DamagedFilesGiveNoOtherBytes) {
    Random random(5);
    const std::string text = some_records(random, 6'000'000);
    const std::string file = gzip(text);
    make(file);
    struct stat before {};
    ASSERT_EQ(::stat(input().c_str(), &before), 0);
    unsigned errors = 0;
    for (unsigned i = 0; i < rounds(120); ++i) {
        std::string bad = file;
        const std::size_t at = random.below(bad.size());
        bad[at] = static_cast<char>(bad[at] ^ 1 << random.below(8));
        folder_.write("in.csv.gz", bad);
        const std::array<timespec, 2> times{before.st_atim, before.st_mtim};
        ASSERT_EQ(::utimensat(AT_FDCWD, input().c_str(), times.data(), 0), 0);
        EXPECT_NE(fault(), "");
        try {
            Input opened = Input::open(input());
            opened.peek(1);
            const auto index = IndexFile::open(opened, Dialect{}, IndexMatch::kSameTime);
            read_by_index(opened, index);
            std::vector<std::uint8_t> buffer;
            for (std::size_t offset = 0; offset < text.size(); offset += 1'000'000) {
                const std::size_t size = std::min<std::size_t>(text.size() - offset, 1'000'000);
                ASSERT_EQ(text_of(opened.blob().lend(offset, size, buffer)), text.substr(offset, size));
            }
        } catch (const InputError& error) {
            EXPECT_TRUE(std::string(error.what()).find("damaged") != std::string::npos ||
                        std::string(error.what()).find("gzip") != std::string::npos)
                << error.what();
            ++errors;
        } catch (const ArgumentError&) {  // it is not gzip any more
            ++errors;
        } catch (const IndexError&) {
            ++errors;
        }
    }
    EXPECT_GT(errors, rounds(120) / 2);
}

TEST_F(GzipIndexTest, OnlyTheUserMayReadIt) {
    const mode_t mask = ::umask(0);
    folder_.write("in.csv.gz", gzip("id\n1\n"));
    for (const mode_t mode : {0666U, 0644U, 0444U, 0400U}) {
        ASSERT_EQ(::chmod(input().c_str(), mode), 0);
        make_again(1);
        struct stat status {};
        ASSERT_EQ(::stat(index().c_str(), &status), 0);
        EXPECT_EQ(status.st_mode & 07777U, 0600U);
    }
    ::umask(mask);
}

TEST_F(GzipIndexTest, OfAnotherFileIsNotUsed) {
    const std::string changed = "the file has changed since";
    make(gzip("id\n1\n2\n"));
    const std::string of_gzip = slurp(index());
    EXPECT_EQ(fault(), "");
    folder_.write("in.csv.gz", gzip("id\n1\n2\n3\n"));
    EXPECT_EQ(fault(), changed);
    // A plain file and its index under the names of a gzip file, and the other way round.
    make("id\n1\n2\n");
    const std::string of_plain = slurp(index());
    EXPECT_EQ(IndexView(bytes_of(of_plain)).is_of_gzip(), false);
    put(of_gzip);
    EXPECT_THROW(IndexFile::open(Input::open(input()), Dialect{}), IndexError);
    folder_.write("in.csv.gz", gzip("id\n1\n2\n"));
    put(of_plain);
    EXPECT_EQ(fault(), changed);
}

TEST_F(GzipIndexTest, OtherStreamsHaveNone) {
    folder_.write("in.csv.gz", "\x28\xB5\x2F\xFD");
    Input zstd = Input::open(input());
    EXPECT_THROW(IndexFile::open(zstd, Dialect{}), ArgumentError);
    EXPECT_THROW(make_index(zstd, Dialect{}, Execution{}), std::exception);
    make(gzip("id\n1\n"));
    Input read = Input::open(input());
    while (!read.read().empty()) {
    }
    const auto index = IndexFile::open(read, Dialect{});
    EXPECT_THROW(read_by_index(read, index), ArgumentError);
    EXPECT_THROW(make_index(read, Dialect{}, Execution{}), ArgumentError);
    Input unread = Input::open(input());
    unread.peek(1);
    EXPECT_THROW(read_by_index(unread, nullptr), ArgumentError);
}

TEST(GzipIndexFormat, NonsenseIsRefused) {
    IndexContents good;
    good.head.size = 10'000'000;
    good.head.records = 1;
    good.head.header_records = 1;
    good.entries.assign(10, Boundary{10'000'000, 1});
    good.entries[0] = {};
    good.gzip.emplace();
    good.gzip->file_size = 1000;
    good.gzip->checksums.assign(39, 0);
    good.gzip->checkpoints = {{4'000'000, 800, false, 0, 0, {}}, {9'000'000, 1601, true, 5'000'000, 1, {1, 2}}};
    const std::vector<std::uint8_t> bytes = encode_index(good);
    const IndexView view(bytes);
    ASSERT_EQ(view.checkpoint_count(), 2U);
    EXPECT_EQ(view.checkpoint(0), good.gzip->checkpoints[0]);
    EXPECT_EQ(view.checkpoint(1), good.gzip->checkpoints[1]);
    const auto expect_refused = [&](const auto& change, const char* what) {
        IndexContents bad = good;
        change(*bad.gzip);
        EXPECT_THROW(encode_index(bad), ArgumentError) << what;
    };
    expect_refused([](GzipIndex& gzip) { gzip.checksums.pop_back(); }, "a checksum too few");
    expect_refused([](GzipIndex& gzip) { gzip.checkpoints[1].offset = 10'000'001; }, "beyond the end");
    expect_refused([](GzipIndex& gzip) { gzip.checkpoints[1].offset = 4'000'000; }, "twice the same offset");
    expect_refused([](GzipIndex& gzip) { gzip.checkpoints[1].bit = 800; }, "twice the same bit");
    expect_refused([](GzipIndex& gzip) { gzip.checkpoints[1].bit = 8008; }, "beyond the end of the file");
    expect_refused([](GzipIndex& gzip) { gzip.checkpoints[0].bit = 801; }, "a member within a byte");
    expect_refused([](GzipIndex& gzip) { gzip.checkpoints[0].member_size = 1; }, "between members, but in one");
    expect_refused([](GzipIndex& gzip) { gzip.checkpoints[1].window.clear(); }, "no window");
    expect_refused([](GzipIndex& gzip) { gzip.checkpoints[1].member_size = 9'000'001; },
                   "a member longer than the text");
}

}  // namespace cleave::test::gzip_index_test
