// The bytes of a mapped file are in the page cache before they are read, and nobody waits for what will not come.
#include "io/read_ahead.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "io/fd.h"
#include "io/file_blob.h"
#include "io/page_cache.h"
#include "temporary_directory.h"

namespace cleave {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr std::uint64_t kSize = 96 * kMiB + 17;

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
    // Pages that the disk is still reading are not dropped: reads the whole file first, which waits for them.
    void read_and_drop() {
        std::vector<std::uint8_t> part(kMiB);
        for (std::uint64_t offset = 0; offset < kSize; offset += part.size()) {
            ASSERT_GT(::pread(file_.get(), part.data(), part.size(), static_cast<off_t>(offset)), 0);
        }
        drop();
    }
    // Where files live in the page cache alone, there is nothing to drop.
    bool can_be_cold() { return !is_cached(file_.get(), kSize / 2); }

    test::TemporaryDirectory directory_;
    std::string path_;
    Fd file_;
    Source source_;
    std::unique_ptr<FileBlob> blob_;
};

TEST_F(ReadAheadTest, BytesOfAColdFileAreCachedWhenTheWaitEnds) {
    ASSERT_TRUE(blob_);
    if (!can_be_cold()) GTEST_SKIP() << "the page cache of this file system cannot be emptied";
    drop();
    ReadAhead ahead(*blob_, 0, kSize);
    for (std::uint64_t offset = 0; offset < kSize; offset += kMiB) {
        const std::uint64_t end = std::min(offset + kMiB, kSize);
        ahead.wait_for(end);
        EXPECT_TRUE(is_cached(file_.get(), offset)) << offset;
        EXPECT_TRUE(is_cached(file_.get(), end - 1)) << offset;
    }
}

TEST_F(ReadAheadTest, GoesNoFurtherThanAWindowAheadOfTheReaders) {
    ASSERT_TRUE(blob_);
    if (!can_be_cold()) GTEST_SKIP() << "the page cache of this file system cannot be emptied";
    drop();
    ReadAhead ahead(*blob_, 0, kSize);
    ahead.wait_for(kMiB);
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    EXPECT_FALSE(is_cached(file_.get(), 80 * kMiB));
}

// Many readers, which come in any order: the last to say where it is may be the one that is furthest behind.
TEST_F(ReadAheadTest, AReaderFarBehindTheOthersDoesNotHoldThemUp) {
    ASSERT_TRUE(blob_);
    drop();
    ReadAhead ahead(*blob_, 0, kSize);
    std::jthread first([&] { ahead.wait_for(kSize); });
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ahead.wait_for(kMiB);
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
    drop();
    if (!can_be_cold()) GTEST_SKIP() << "the files of this directory cannot be dropped from the page cache";
    ReadAhead ahead(*blob_, 0, kSize);
    EXPECT_EQ(ahead.readers(3), 2U);
    EXPECT_EQ(ahead.readers(1), 1U);
}

// To look at a page of a cold file starts the read of it. So the file is made cold again before each look.
TEST_F(ReadAheadTest, AColdFileIsBetterReadOnceByFewThreads) {
    ASSERT_TRUE(blob_);
    drop();
    if (!can_be_cold()) GTEST_SKIP() << "the files of this directory cannot be dropped from the page cache";
    read_and_drop();
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

}  // namespace
}  // namespace cleave
