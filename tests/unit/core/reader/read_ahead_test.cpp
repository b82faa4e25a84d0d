// The bytes of a mapped file are in the page cache before they are read, and no reader waits for bytes that never come.
#include "core/reader/read_ahead.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "cleave/mapping_guard.h"
#include "core/reader/fd.h"
#include "core/reader/file_blob.h"
#include "core/reader/page_cache.h"
#include "temporary_directory.h"

namespace cleave::read_ahead_test {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr std::uint64_t kSize = 96 * kMiB + 17;
// A limit for cold files: on a busy machine, a read that is started by the search for cached pages may finish before
// the search does.
constexpr std::uint64_t kMostFound = 2 * ReadAhead::kChunk;
constexpr char kStaysWarm[] = "the files of this directory cannot be dropped from the page cache";

void wait_until_idle(const ReadAhead& ahead) {
    while (!ahead.is_idle()) ::usleep(100);
}

class ReadAheadTest : public testing::Test {
protected:
    ReadAheadTest() : path_(directory_.path("input")), file_(::open(path_.c_str(), O_RDWR | O_CREAT, 0600)) {
        const std::vector<std::uint8_t> part(kMiB, 'x');
        for (std::uint64_t offset = 0; offset < kSize; offset += part.size()) {
            const std::span bytes(part.data(), std::min<std::uint64_t>(part.size(), kSize - offset));
            write_all(file_.get(), bytes, path_);
        }
        ::fsync(file_.get());
        drop();
        source_.file = Fd(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
        source_.name = path_;
        source_.status = stat_of(source_.file.get(), path_);
        blob_ = make_file_blob(source_, Access::kMapped);
    }

    void drop() { ::posix_fadvise(file_.get(), 0, 0, POSIX_FADV_DONTNEED); }
    // Pages that the disk is still reading are not dropped, so this reads the whole file first, which waits for them.
    void read_and_drop() {
        std::vector<std::uint8_t> part(kMiB);
        for (std::uint64_t offset = 0; offset < kSize; offset += part.size()) {
            ASSERT_GT(::pread(file_.get(), part.data(), part.size(), static_cast<off_t>(offset)), 0);
        }
        drop();
    }

    // Makes the file cold. Returns false where that is impossible because files live only in the page cache. A page
    // that the system is about to move to a different list is not dropped at the first attempt.
    bool make_cold() {
        constexpr int kTries = 10;
        read_and_drop();
        for (int i = 0; cached_pages() > 0; ++i) {
            if (i == kTries) return false;
            drop();
        }
        return true;
    }

    // Unlike is_cached(), mincore() starts no read.
    std::ptrdiff_t cached_pages() const {
        void* const bytes = ::mmap(nullptr, kSize, PROT_READ, MAP_SHARED, file_.get(), 0);
        if (bytes == MAP_FAILED) throw_errno(path_);
        const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
        std::vector<unsigned char> states((kSize + page - 1) / page);
        const bool is_known = ::mincore(bytes, kSize, states.data()) == 0;
        ::munmap(bytes, kSize);
        if (!is_known) throw_errno(path_);
        return std::ranges::count_if(states, [](unsigned char state) { return (state & 1) != 0; });
    }

    // Expects that this process has read at least `size` bytes with system calls since `before`, and less than 1 MiB
    // more, because asking for the number also reads a few bytes. Does nothing where the system does not count them.
    static void expect_read(std::optional<std::uint64_t> before, std::uint64_t size) {
        const std::optional<std::uint64_t> now = bytes_read();
        if (!before || !now) return;
        EXPECT_GE(*now - *before, size);
        EXPECT_LT(*now - *before, size + kMiB);
    }
    static std::optional<std::uint64_t> bytes_read() {
        std::ifstream file("/proc/self/io");
        std::string name;
        std::uint64_t size = 0;
        if (file >> name >> size && name == "rchar:") return size;
        return std::nullopt;
    }

    test::TemporaryDirectory directory_;
    std::string path_;
    Fd file_;
    Source source_;
    std::unique_ptr<FileBlob> blob_;
    MappingGuard guard_;
};

TEST_F(ReadAheadTest, BytesOfAColdFileAreReadWhenTheWaitEnds) {
    ASSERT_TRUE(blob_);
    if (!make_cold()) GTEST_SKIP() << kStaysWarm;
    const std::optional<std::uint64_t> before = bytes_read();
    ReadAhead ahead(*blob_, 0, kSize);
    ASSERT_LE(ahead.found(), kMostFound);
    for (std::uint64_t offset = 0; offset < kSize; offset += kMiB) {
        const std::uint64_t end = std::min(offset + kMiB, kSize);
        ahead.wait_for(end);
        const std::optional<std::uint64_t> now = bytes_read();
        if (before && now) {
            EXPECT_GE(*now - *before + ahead.found(), end);
        }
    }
    expect_read(before, kSize - ahead.found());
}

TEST_F(ReadAheadTest, GoesNoFurtherThanAWindowAheadOfTheReaders) {
    ASSERT_TRUE(blob_);
    if (!make_cold()) GTEST_SKIP() << kStaysWarm;
    const std::optional<std::uint64_t> before = bytes_read();
    ReadAhead ahead(*blob_, 0, kSize);
    ASSERT_LE(ahead.found(), kMostFound);
    for (const std::uint64_t reached : {0 * kMiB, 1 * kMiB, 16 * kMiB, 17 * kMiB, 40 * kMiB}) {
        if (reached > 0) ahead.wait_for(reached);
        wait_until_idle(ahead);
        const std::uint64_t chunks = (reached + ReadAhead::kWindow + ReadAhead::kChunk - 1) / ReadAhead::kChunk;
        EXPECT_EQ(ahead.there(), chunks * ReadAhead::kChunk) << reached;
        expect_read(before, ahead.there() - ahead.found());
    }
    ahead.wait_for(kSize - ReadAhead::kWindow);
    wait_until_idle(ahead);
    EXPECT_EQ(ahead.there(), kSize);
}

// Many readers arrive in any order: the last to report its position may be the one furthest behind.
TEST_F(ReadAheadTest, AReaderFarBehindTheOthersDoesNotHoldThemUp) {
    ASSERT_TRUE(blob_);
    if (!make_cold()) GTEST_SKIP() << kStaysWarm;
    ReadAhead ahead(*blob_, 0, kSize);
    std::jthread first([&] { ahead.wait_for(kSize); });
    while (ahead.there() <= ReadAhead::kWindow) ::usleep(100);  // reads this far without a reader
    bool is_held_up = false;
    while (ahead.there() < kSize && !is_held_up) {
        ahead.wait_for(kMiB);
        is_held_up = ahead.is_idle() && ahead.there() < kSize;
    }
    EXPECT_FALSE(is_held_up);
    ahead.wait_for(kSize);
}

TEST_F(ReadAheadTest, ATruncatedFileEndsTheWait) {
    ASSERT_TRUE(blob_);
    drop();
    ASSERT_EQ(::ftruncate(file_.get(), static_cast<off_t>(2 * kMiB)), 0);
    ReadAhead(*blob_, 0, kSize).wait_for(kSize);
}

TEST_F(ReadAheadTest, CanBeGivenUpAtAnyTime) {
    ASSERT_TRUE(blob_);
    for (int i = 0; i < 50; ++i) {
        drop();
        ReadAhead ahead(*blob_, 0, kSize);
        if (i % 2 == 0) ahead.wait_for(static_cast<std::uint64_t>(i) * kMiB);
    }
}

TEST_F(ReadAheadTest, OneThreadOfThoseAskedForReadsAColdFile) {
    ASSERT_TRUE(blob_);
    ReadAhead warm(*blob_, 0, kMiB);
    EXPECT_EQ(warm.readers(3), 3U);
    if (!make_cold()) GTEST_SKIP() << kStaysWarm;
    ReadAhead ahead(*blob_, 0, kSize);
    EXPECT_EQ(ahead.readers(3), 2U);
    EXPECT_EQ(ahead.readers(1), 1U);
}

// Looking at a page of a cold file starts to read it, so the file is made cold again before each look.
TEST_F(ReadAheadTest, AColdFileIsBetterReadOnceByFewThreads) {
    ASSERT_TRUE(blob_);
    if (!make_cold()) GTEST_SKIP() << kStaysWarm;
    if (available_memory() < 8 * kSize) GTEST_SKIP() << "too little memory: any cold file is better read once";
    EXPECT_TRUE(is_better_read_once(*blob_, 1));
    read_and_drop();
    EXPECT_TRUE(is_better_read_once(*blob_, 4));
    read_and_drop();
    EXPECT_FALSE(is_better_read_once(*blob_, 5));
    ReadAhead(*blob_, 0, kSize).wait_for(kSize);
    EXPECT_FALSE(is_better_read_once(*blob_, 1));
}

TEST(ReadAhead, BytesOfNoFileAreNotWaitedFor) {
    const std::vector<std::uint8_t> bytes(20 * kMiB, 'x');
    ReadAhead(MemoryBlob(bytes), 0, bytes.size()).wait_for(bytes.size());
    ReadAhead(MemoryBlob({}), 0, 0).wait_for(0);
}

}  // namespace cleave::read_ahead_test
