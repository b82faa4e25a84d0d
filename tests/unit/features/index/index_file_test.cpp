// Index files: compared with the reference, damaged in every way, and next to files that have changed.
#include "cleave/index_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>

#include "base/crc32c.h"
#include "cleave/output.h"
#include "cleave/plan.h"
#include "core/scan/block_summariser.h"
#include "index_check.h"
#include "inputs.h"
#include "kernels_under_test.h"
#include "temporary_directory.h"

namespace cleave::test::index_file_test {

namespace fs = std::filesystem;

// The index of a text, computed by the reference alone.
IndexContents contents_of(const std::string& text, const Dialect& dialect, const Reading& reading, std::uint64_t step) {
    IndexContents contents;
    IndexHead& head = contents.head;
    head.dialect_digest = dialect_digest(dialect);
    head.size = text.size();
    head.header_records = header_records(text, dialect);
    head.header_size = reading.start_of(head.header_records).offset;
    head.records = reading.starts.size();
    head.step = step;
    for (std::uint64_t offset = 0; offset < text.size(); offset += step) {
        contents.entries.push_back(reading.at_or_after(offset));
    }
    return contents;
}

// Closes a quote that is open at the end of the text, because random_csv() cuts off anywhere.
std::string closed(std::string text) {
    if (read_by_rules(text, Dialect{}).open_at_end) text += '"';
    return text;
}

// A file and its index, on disk.
class IndexFileTest : public testing::Test {
protected:
    static constexpr char kOtherStatus[] =
        "the file has been copied or moved since (its inode or ctime differs); cleave index --verify can renew it";
    static constexpr char kText[] = "id,name\n1,ann\n2,\"b\nb\"\n3,c\n";

    std::string input() const { return folder_.path("in.csv"); }
    std::string index() const { return folder_.path("in.csv.cleave"); }
    void write_input(const std::string& text) const { folder_.write("in.csv", text); }
    void put(const std::vector<std::uint8_t>& bytes) const {
        std::ofstream(index(), std::ios::binary | std::ios::trunc)
            .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    }

    // Writes a file with this text, and its index as the library writes it.
    void make(const std::string& text) const {
        write_input(text);
        Input file = Input::open(input());
        write_index(file, Dialect{}, Execution{});
    }

    // Why the index is not trusted; empty if it is.
    std::string fault(const Dialect& dialect = {}) const {
        const Input file = Input::open(input());
        try {
            return IndexFile::open(file, dialect) ? "" : "missing";
        } catch (const IndexError& error) {
            return error.what();
        }
    }

    // Restores the mtime.
    void reset_mtime(const struct stat& before, const std::string& path) const {
        const std::array<timespec, 2> times{before.st_atim, before.st_mtim};
        ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times.data(), 0), 0);
    }

    struct stat status(const std::string& path) const {
        struct stat found {};
        EXPECT_EQ(::stat(path.c_str(), &found), 0);
        return found;
    }

    TemporaryDirectory folder_;
};

// The answers are the same as the reference's, whatever the text, the step and the block size of the scan.
TEST_F(IndexFileTest, AnswersAsTheReference) {
    for (std::uint64_t seed = 0; seed < rounds(12); ++seed) {
        Random random(seed);
        for (const Dialect& dialect : every_dialect_and_rule()) {
            const std::string mark = random.chance(25) ? "\xEF\xBB\xBF" : "";
            const std::string text = mark + random_text(random, dialect, 1 + random.below(400));
            const IndexCheck check(text, dialect);
            if (check.reading().open_at_end) continue;
            SCOPED_TRACE(testing::Message() << "seed " << seed << ", " << describe(dialect) << ", " << shown(text));
            write_input(text);
            Input file = Input::open(input());
            const FileIdentity identity = file.identity();
            for (const std::uint64_t step : {1U, 2U, 7U, 64U, 100U, 4096U}) {
                IndexContents contents = contents_of(text, dialect, check.reading(), step);
                contents.head.mtime_ns = identity.mtime_ns;
                contents.head.ctime_ns = identity.ctime_ns;
                contents.head.inode = identity.inode;
                contents.head.divergence = RecordIndex(bytes_of(text), dialect, Execution{}).findings().divergence;
                put(encode_index(contents));
                const auto there = IndexFile::open(file, dialect);
                ASSERT_TRUE(there);
                Execution execution{&default_kernel(), 1, 1U << 20};
                execution.index = there;
                check.expect_answers(index_records(file, dialect, execution));
                if (HasFailure()) return;
            }
        }
    }
}

TEST_F(IndexFileTest, IsReadBackAsItWasWritten) {
    for (std::uint64_t seed = 0; seed < rounds(100); ++seed) {
        Random random(seed);
        const std::string text = random_text(random, Dialect{}, 1 + random.below(400));
        const Reading reading = read_by_rules(text, Dialect{});
        IndexContents contents = contents_of(text, Dialect{}, reading, 1 + random.below(100));
        contents.head.mtime_ns = -5;
        contents.head.ctime_ns = INT64_MAX;
        contents.head.inode = UINT64_MAX;
        if (seed % 2 == 0) contents.head.divergence = Place{random.below(text.size()), 0};
        const std::vector<std::uint8_t> bytes = encode_index(contents);
        ASSERT_EQ(bytes.size(), 144 + 16 * contents.entries.size());
        const IndexView view(bytes);
        EXPECT_EQ(view.head(), contents.head);
        ASSERT_EQ(view.entry_count(), contents.entries.size());
        for (std::size_t i = 0; i < contents.entries.size(); ++i) EXPECT_EQ(view.entry(i), contents.entries[i]);
    }
}

// Reads the bytes as an outsider would, following doc/guide/index.md.
TEST_F(IndexFileTest, HasTheDocumentedLayout) {
    const std::string text = kText;
    IndexContents contents = contents_of(text, Dialect{}, read_by_rules(text, Dialect{}), 10);
    contents.head.dialect_digest = 0x1122334455667788;
    contents.head.mtime_ns = 0x0102030405060708;
    contents.head.ctime_ns = -2;
    contents.head.inode = 77;
    const std::vector<std::uint8_t> bytes = encode_index(contents);
    const auto at = [&](std::size_t offset, std::size_t size) {
        std::uint64_t number = 0;
        for (std::size_t i = 0; i < size; ++i) number |= std::uint64_t{bytes[offset + i]} << (8 * i);
        return number;
    };
    EXPECT_EQ(std::string(bytes.begin(), bytes.begin() + 8),
              "\x89"
              "CLV\r\n\x1A\n");
    EXPECT_EQ(at(8, 4), 1U);
    EXPECT_EQ(at(12, 4), 128U);
    const std::uint64_t none = UINT64_MAX;
    const std::array<std::uint64_t, 14> numbers = {
        0x1122334455667788, 26, 0x0102030405060708, none - 1, 77, 8, 1, 4, 10, none, none, 0, 3, 0};
    for (std::size_t i = 0; i < numbers.size(); ++i) EXPECT_EQ(at(16 + 8 * i, 8), numbers[i]) << "number " << i;
    const std::array<std::uint64_t, 6> entries = {0, 0, 14, 2, 22, 3};
    for (std::size_t i = 0; i < entries.size(); ++i) EXPECT_EQ(at(128 + 8 * i, 8), entries[i]) << "entry " << i;
    EXPECT_EQ(at(176, 8), bytes.size());
    EXPECT_EQ(at(184, 4), 0U);
}

// Files store the digest, so it must never change.
TEST(IndexFormat, HasAStableDigest) {
    Dialect dialect;
    EXPECT_EQ(dialect_digest(dialect), 0x5612FF1C8C2D9E90U);
    const std::vector<Dialect> dialects = every_dialect_and_rule();
    std::set<std::uint64_t> digests;
    std::size_t alike = 0;  // without a quote, both quote modes have the same digest
    for (const Dialect& each : dialects) {
        digests.insert(dialect_digest(each));
        if (!each.quote && each.quoting == Quoting::kAnywhere) ++alike;
    }
    dialect.header = HeaderRecord::kFirst;
    digests.insert(dialect_digest(dialect));
    EXPECT_EQ(digests.size(), dialects.size() + 1 - alike);
}

std::string view_fault(std::span<const std::uint8_t> bytes) {
    try {
        const IndexView view(bytes);
        return "";
    } catch (const IndexError& error) {
        return error.what();
    }
}

// Sets each byte to every other value.
TEST_F(IndexFileTest, EveryDamagedByteIsNoticed) {
    const std::string text = kText;
    std::vector<std::uint8_t> bytes = encode_index(contents_of(text, Dialect{}, read_by_rules(text, Dialect{}), 10));
    ASSERT_EQ(view_fault(bytes), "");
    for (std::uint8_t& byte : bytes) {
        for (unsigned change = 1; change < 256; change += kSanitized && !is_thorough() ? change : 1) {
            byte = static_cast<std::uint8_t>(byte ^ change);
            ASSERT_NE(view_fault(bytes), "") << "byte " << &byte - bytes.data() << " xor " << change;
            byte = static_cast<std::uint8_t>(byte ^ change);
        }
    }
}

TEST_F(IndexFileTest, EveryMissingAndEveryFurtherByteIsNoticed) {
    const std::string text = kText;
    const std::vector<std::uint8_t> bytes =
        encode_index(contents_of(text, Dialect{}, read_by_rules(text, Dialect{}), 10));
    const std::span<const std::uint8_t> all(bytes);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        EXPECT_NE(view_fault(all.first(size)), "") << size << " bytes";
        EXPECT_NE(view_fault(all.last(size)), "") << "the last " << size << " bytes";
    }
    for (const std::size_t more : {1U, 15U, 16U, 4096U}) {
        std::vector<std::uint8_t> longer = bytes;
        longer.resize(bytes.size() + more);
        EXPECT_NE(view_fault(longer), "") << more << " bytes more";
    }
}

// An index that is truncated and given a valid end, as someone might do on purpose. Nothing past that end is read.
TEST_F(IndexFileTest, EveryMissingByteIsNoticedBehindARightEnd) {
    const std::string text = kText;
    const std::vector<std::uint8_t> whole =
        encode_index(contents_of(text, Dialect{}, read_by_rules(text, Dialect{}), 10));
    constexpr std::size_t kEndSize = 16;
    const auto sealed = [&](std::size_t size) {
        std::vector<std::uint8_t> bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
        const auto put = [&](std::uint64_t number, std::size_t width) {
            for (std::size_t i = 0; i < width; ++i) bytes.push_back(static_cast<std::uint8_t>(number >> (8 * i)));
        };
        put(size + kEndSize, 8);
        put(0, 4);
        Crc32c crc;
        crc.add(bytes);
        put(crc.value(), 4);
        bytes.shrink_to_fit();
        return bytes;
    };
    const std::size_t body = whole.size() - kEndSize;
    ASSERT_EQ(sealed(body), whole);
    for (std::size_t size = 0; size < body; ++size) EXPECT_NE(view_fault(sealed(size)), "") << size << " bytes";
}

// The same through IndexFile: opening a damaged file fails.
TEST_F(IndexFileTest, DamagedFilesAreNotUsed) {
    make(kText);
    ASSERT_EQ(fault(), "");
    std::vector<std::uint8_t> bytes(fs::file_size(index()));
    std::ifstream(index(), std::ios::binary)
        .read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        bytes[i] ^= 0x10;
        put(bytes);
        EXPECT_NE(fault(), "") << "byte " << i;
        bytes[i] ^= 0x10;
    }
    put(bytes);
    EXPECT_EQ(fault(), "");
    for (std::size_t size = bytes.size(); size-- > 0;) {
        fs::resize_file(index(), size);
        EXPECT_NE(fault(), "") << size << " bytes";
    }
    fs::remove(index());
    EXPECT_EQ(fault(), "missing");
}

TEST_F(IndexFileTest, AnEmptyFileHasAnIndexWithoutEntries) {
    const std::vector<std::uint8_t> bytes = encode_index(contents_of("", Dialect{}, read_by_rules("", Dialect{}), 10));
    EXPECT_EQ(view_fault(bytes), "");
    EXPECT_EQ(IndexView(bytes).head().size, 0U);
}

// Contents that no file can have are refused even if their CRC is right.
TEST_F(IndexFileTest, NonsenseIsRefused) {
    const std::string text = kText;
    const IndexContents good = contents_of(text, Dialect{}, read_by_rules(text, Dialect{}), 10);
    const auto expect_refused = [&](const std::function<void(IndexContents&)>& change, const char* what) {
        IndexContents bad = good;
        change(bad);
        EXPECT_THROW(encode_index(bad), std::invalid_argument) << what;
    };
    expect_refused([](IndexContents& c) { c.head.step = 0; }, "no step");
    expect_refused([](IndexContents& c) { c.head.step = kMaxBlockSize + 1; }, "a step too long");
    expect_refused([](IndexContents& c) { c.head.step = 5; }, "another number of entries");
    expect_refused([](IndexContents& c) { c.entries.pop_back(); }, "an entry too few");
    expect_refused([](IndexContents& c) { c.head.records = 27; }, "more records than bytes");
    expect_refused([](IndexContents& c) { c.head.header_records = 5; }, "a header beyond the end");
    expect_refused([](IndexContents& c) { c.head.header_size = 27; }, "a header larger than the file");
    expect_refused([](IndexContents& c) { c.head.divergence = Place{26, 0}; }, "a place beyond the end");
    expect_refused([](IndexContents& c) { c.entries[0] = {1, 0}; }, "no record at the start");
    expect_refused([](IndexContents& c) { c.entries[1] = {9, 2}; }, "an entry before its step");
    expect_refused([](IndexContents& c) { c.entries[1] = {14, 0}; }, "no record in between");
    expect_refused([](IndexContents& c) { c.entries[2] = {22, 4}; }, "the end in the middle");
    expect_refused([](IndexContents& c) { c.entries[1] = {21, 2}; }, "an entry that the next one should have");
}

TEST_F(IndexFileTest, AnotherDialectAndAnotherVersionAreNotUsed) {
    make(kText);
    Dialect semicolon;
    semicolon.delimiter = ';';
    EXPECT_EQ(fault(semicolon),
              "it was made for a different dialect; cleave index with the options of this run makes it again");
    std::fstream file(index(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(8).put(3);
    file.close();
    EXPECT_EQ(fault(), "it is of version 3 of the format");
}

TEST_F(IndexFileTest, ChangedFilesAreNoticed) {
    const std::string text = kText;
    const std::string changed = "the file has changed since";
    make(text);
    write_input(text + "4,d\n");
    EXPECT_EQ(fault(), changed) << "grown";
    write_input(text.substr(0, 20));
    EXPECT_EQ(fault(), changed) << "shortened";
    make(text);
    std::string other = text;
    other[9] = '2';
    write_input(other);
    EXPECT_EQ(fault(), changed) << "rewritten";

    make(text);
    const struct stat before = status(input());
    write_input(other);
    reset_mtime(before, input());
    EXPECT_EQ(fault(), kOtherStatus) << "rewritten, with the old time";

    make(text);
    const struct stat first = status(input());
    fs::copy_file(input(), folder_.path("copy"));
    reset_mtime(first, folder_.path("copy"));
    fs::rename(folder_.path("copy"), input());
    EXPECT_NE(status(input()).st_ino, first.st_ino);
    EXPECT_EQ(fault(), kOtherStatus) << "a copy";

    make(text);
    std::array<timespec, 2> times{};
    times[1].tv_sec = 1'000'000'000;
    ASSERT_EQ(::utimensat(AT_FDCWD, input().c_str(), times.data(), 0), 0);
    EXPECT_EQ(fault(), changed) << "re-dated";
}

// Adding a link or changing the mode or owner changes only the ctime. So does an edit whose author restores the mtime.
TEST_F(IndexFileTest, AnotherStatusAloneIsEnough) {
    make(kText);
    fs::create_hard_link(input(), folder_.path("link"));
    EXPECT_EQ(fault(), kOtherStatus);
    make(kText);
    ASSERT_EQ(::chmod(input().c_str(), 0640), 0);
    EXPECT_EQ(fault(), kOtherStatus);
}

// An archive could contain a file, its times, and an index that was forged to match everything in the archive.
TEST_F(IndexFileTest, AnIndexOfAnotherInodeOrStatusTimeIsNotBelieved) {
    const std::string text = kText;
    write_input(text);
    Input file = Input::open(input());
    const IndexContents good = make_index(file, Dialect{}, Execution{});
    for (const bool is_inode : {false, true}) {
        IndexContents contents = good;
        is_inode ? ++contents.head.inode : static_cast<std::uint64_t>(++contents.head.ctime_ns);
        put(encode_index(contents));
        EXPECT_EQ(fault(), kOtherStatus);
        EXPECT_TRUE(IndexFile::open(file, Dialect{}, IndexMatch::kSameTime)) << "--verify reads it";
    }
    put(encode_index(good));
    EXPECT_EQ(fault(), "");
}

// An index entry with a wrong offset is caught when it is used, if no record can start there.
TEST_F(IndexFileTest, AnEntryThatFollowsNoTerminatorIsRefused) {
    struct Case {
        std::string text;
        Terminator terminator;
        std::uint64_t offset;  // of the entry
        bool is_good;
    };
    const Case cases[] = {
        {"id\n1\n22\n333\n", Terminator::kLf, 8, true},    {"id\n1\n22\n333\n", Terminator::kLf, 9, false},
        {"id\r1\r22\r333\r", Terminator::kCr, 8, true},    {"id\n1\n22\n333\r", Terminator::kCr, 8, false},
        {"id\r1\r22\r333\n", Terminator::kLf, 8, false},   {"id\n1\n22\n333\n", Terminator::kAny, 8, true},
        {"id\r1\r22\r333\r", Terminator::kAny, 8, true},   {"id\r\n1\r\n22\r\n", Terminator::kAny, 7, true},
        {"id\r\n1\r\n22\r\n", Terminator::kAny, 6, false},
    };
    for (const Case& each : cases) {
        SCOPED_TRACE(testing::Message() << shown(each.text) << ", byte " << each.offset);
        Dialect dialect;
        dialect.terminator = each.terminator;
        write_input(each.text);
        Input file = Input::open(input());
        IndexContents contents;
        contents.head.dialect_digest = dialect_digest(dialect);
        contents.head.size = each.text.size();
        contents.head.mtime_ns = file.identity().mtime_ns;
        contents.head.ctime_ns = file.identity().ctime_ns;
        contents.head.inode = file.identity().inode;
        contents.head.records = 4;
        contents.head.step = 6;
        contents.entries = {{0, 0}, {each.offset, 2}};
        for (std::uint64_t at = 12; at < each.text.size(); at += 6) contents.entries.push_back({each.text.size(), 4});
        put(encode_index(contents));
        const auto there = IndexFile::open(file, dialect);
        ASSERT_TRUE(there);
        Execution execution;
        execution.index = there;
        const RecordIndex index = index_records(file, dialect, execution);
        Locator locator(index);
        if (each.is_good) {
            EXPECT_EQ(locator.start_of(2).offset, each.offset);
        } else {
            EXPECT_THROW(locator.start_of(2), IndexError);
        }
    }
}

// Right after an edit, a second edit may leave the file's times unchanged. Writing an index therefore waits until that
// is no longer possible.
TEST_F(IndexFileTest, AnEditRightAfterTheScanIsNoticed) {
    const std::string text = kText;
    std::string other = text;
    other[9] = '2';
    for (unsigned i = 0; i < rounds(60); ++i) {
        make(i % 2 == 0 ? text : other);
        {
            std::fstream file(input(), std::ios::in | std::ios::out | std::ios::binary);
            file.seekp(9).put(i % 2 == 0 ? '2' : '1');
        }
        ASSERT_NE(fault(), "") << "round " << i;
    }
}

TEST_F(IndexFileTest, WhatOthersMayWriteIsNotUsed) {
    make(kText);
    EXPECT_EQ(status(index()).st_mode & 0777U, status(input()).st_mode & 0644U);
    for (const mode_t mode : {0664U, 0646U, 0666U, 0777U}) {
        ASSERT_EQ(::chmod(index().c_str(), mode), 0);
        EXPECT_EQ(fault(), "other users may write to it") << std::oct << mode;
    }
    ASSERT_EQ(::chmod(index().c_str(), 0600), 0);
    EXPECT_EQ(fault(), "");
    if (::geteuid() != 0) return;
    constexpr uid_t kSomebody = 12345;
    ASSERT_EQ(::chown(index().c_str(), kSomebody, 0), 0);
    EXPECT_EQ(fault(), "other users may write to it");
    ASSERT_EQ(::chown(input().c_str(), kSomebody, 0), 0);
    make(kText);
    ASSERT_EQ(::chown(index().c_str(), kSomebody, 0), 0);
    EXPECT_EQ(fault(), "") << "the owner of the file has written it";
}

TEST_F(IndexFileTest, LinksAndOtherThingsAreNotUsed) {
    make(kText);
    fs::rename(index(), folder_.path("real"));
    fs::create_symlink(folder_.path("real"), index());
    EXPECT_EQ(fault(), "it is a symbolic link");
    fs::remove(index());
    fs::create_directory(index());
    EXPECT_EQ(fault(), "it is not a regular file");
    fs::remove(index());
    ASSERT_EQ(::mkfifo(index().c_str(), 0600), 0);
    EXPECT_EQ(fault(), "it is not a regular file");
}

TEST_F(IndexFileTest, OnlyAnIndexIsReplaced) {
    write_input(kText);
    const auto write = [&] {
        Input file = Input::open(input());
        write_index(file, Dialect{}, Execution{});
    };
    folder_.write("in.csv.cleave", "my notes");
    EXPECT_THROW(write(), OutputError);
    folder_.write("in.csv.cleave", "");
    EXPECT_THROW(write(), OutputError);
    fs::remove(index());
    folder_.write("real",
                  "\x89"
                  "CLV\r\n\x1A\n");
    fs::create_symlink(folder_.path("real"), index());
    EXPECT_THROW(write(), OutputError);
    fs::remove(index());
    folder_.write("in.csv.cleave",
                  "\x89"
                  "CLV\r\n\x1A\n");
    write();
    EXPECT_EQ(fault(), "");
    write();
    EXPECT_EQ(fault(), "");
    EXPECT_EQ(folder_.files().size(), 3U) << "nothing else is left";
}

TEST_F(IndexFileTest, AMalformedFileGetsNone) {
    write_input("id\n\"never closed\n");
    Input file = Input::open(input());
    EXPECT_THROW(write_index(file, Dialect{}, Execution{}), OpenQuoteError);
    EXPECT_FALSE(fs::exists(index()));
}

// For a file of several steps the library writes the same index as the reference, even if records are longer than a
// step.
TEST_F(IndexFileTest, IsMadeAsTheReferenceMakesIt) {
    for (const std::size_t long_record : {0U, 2'500'000U}) {
        Random random(3);
        std::string text = random_csv(random, Dialect{}, 1'200'000, 0) + '"' + std::string(long_record, '\n') + "\"\n";
        text = closed(text + random_csv(random, Dialect{}, 1'200'000, 0));
        write_input(text);
        Input file = Input::open(input());
        const IndexContents made = make_index(file, Dialect{}, Execution{nullptr, 2, 4096});
        IndexContents wanted = contents_of(text, Dialect{}, read_by_rules(text, Dialect{}), kIndexStep);
        wanted.head.mtime_ns = file.identity().mtime_ns;
        wanted.head.ctime_ns = file.identity().ctime_ns;
        wanted.head.inode = file.identity().inode;
        wanted.head.divergence = RecordIndex(bytes_of(text), Dialect{}, Execution{}).findings().divergence;
        EXPECT_EQ(made.head, wanted.head);
        EXPECT_EQ(made.entries, wanted.entries);
        EXPECT_NO_THROW(encode_index(made));
    }
}

// In plain files nearly all boundaries are found during the scan.
TEST_F(IndexFileTest, IsMadeInOnePass) {
    Random random(4);
    const std::string text = random_csv(random, Dialect{}, 500'000, 0);
    FirstStarts starts;
    Execution execution{nullptr, 2, 4096};
    execution.summariser = &starts;
    const RecordIndex index(bytes_of(text), Dialect{}, execution);
    const std::vector<Boundary> boundaries = index.first_boundaries();
    std::size_t found = 0;
    for (std::size_t i = 0; i < boundaries.size(); ++i) {
        for (const State state :
             {State::kRecordStart, State::kFieldStart, State::kUnquoted, State::kQuoted, State::kQuoteInQuoted}) {
            const auto start = starts.find(i, state);
            if (start && i * 4096 + *start == boundaries[i].offset) {
                ++found;
                break;
            }
        }
    }
    EXPECT_GT(found, boundaries.size() * 9 / 10);
}

// A plan made from an index is the same as one made from a scan, whatever the policy.
TEST_F(IndexFileTest, GivesTheSamePlans) {
    Random random(9);
    make(closed(random_csv(random, Dialect{}, 3'300'000, 0)));
    const Input file = Input::open(input());
    Input again = Input::open(input());
    const auto there = IndexFile::open(file, Dialect{});
    ASSERT_TRUE(there);
    Execution by_file;
    by_file.index = there;
    const RecordIndex scanned = index_records(again, Dialect{}, Execution{});
    const RecordIndex read = index_records(again, Dialect{}, by_file);
    EXPECT_TRUE(read.has_same_records(scanned));
    EXPECT_TRUE(scanned.has_same_records(read));
    const auto pieces_of = [](const RecordIndex& index, const Policy& policy) {
        std::vector<Piece> pieces;
        plan_pieces(index, policy, [&](const Piece& piece) { pieces.push_back(piece); });
        return pieces;
    };
    for (unsigned i = 0; i < 60; ++i) {
        Policy policy;
        if (i % 3 == 0) policy.pieces = 1 + random.below(200);
        if (i % 3 == 1) policy.records = 1 + random.below(20000);
        if (i % 3 == 2) policy.max_bytes = 2000 + random.below(400'000);
        if (i % 3 != 1 && random.chance(50)) policy.alignment = kCloneAlignment;
        EXPECT_EQ(pieces_of(read, policy), pieces_of(scanned, policy)) << "round " << i;
    }
}

}  // namespace cleave::test::index_file_test
