#include "features/stores/read_ahead_file.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "cleave/error.h"

namespace cleave::read_ahead_file_test {

std::uint8_t byte_at(std::uint64_t offset) { return static_cast<std::uint8_t>((offset * 2654435761U) >> 13U); }

// Counts what is read, and fails where it is told to.
class FakeFile final : public RemoteFile {
public:
    FakeFile(std::uint64_t size, const Cancellation& cancellation) : size_(size), cancellation_(cancellation) {}

    std::uint64_t size() const noexcept override { return size_; }
    std::string version() const override { return "1"; }

    void read(std::uint64_t offset, std::span<std::uint8_t> into) const override {
        ++reads;
        bytes += into.size();
        const unsigned running = ++running_;
        unsigned most = most_running;
        while (running > most && !most_running.compare_exchange_weak(most, running)) {
        }
        while (offset >= stuck_from && !cancellation_.requested())
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        std::this_thread::sleep_for(std::chrono::microseconds(wait_us));
        --running_;
        cancellation_.throw_if_requested();
        if (offset <= fails_at && fails_at < offset + into.size() && fails-- > 0) throw InputError("a fault");
        ASSERT_LE(offset + into.size(), size_);
        for (std::uint8_t& byte : into) byte = byte_at(offset++);
    }

    mutable std::atomic<std::uint64_t> reads = 0;
    mutable std::atomic<std::uint64_t> bytes = 0;
    mutable std::atomic<unsigned> most_running = 0;
    mutable std::atomic<int> fails = 0;
    std::atomic<std::uint64_t> fails_at = 0;
    std::atomic<std::uint64_t> stuck_from = UINT64_MAX;
    std::atomic<int> wait_us = 0;

private:
    std::uint64_t size_;
    const Cancellation& cancellation_;
    mutable std::atomic<unsigned> running_ = 0;
};

struct Fixture {
    explicit Fixture(std::uint64_t size, std::uint64_t part_size = 1000, unsigned threads = 4,
                     const Cancellation* cancellation = nullptr)
        : file(
              [&](const Cancellation& stop) {
                  auto made = std::make_unique<FakeFile>(size, stop);
                  fake = made.get();
                  return std::unique_ptr<const RemoteFile>(std::move(made));
              },
              cancellation, part_size, threads) {}

    void expect(std::uint64_t offset, std::size_t size) const {
        std::vector<std::uint8_t> bytes(size);
        file.read(offset, bytes);
        for (const std::uint8_t byte : bytes) ASSERT_EQ(byte, byte_at(offset++));
    }

    FakeFile* fake = nullptr;
    ReadAheadFile file;
};

TEST(ReadAheadFile, FetchesOnceWhatIsReadInOrder) {
    for (const std::uint64_t size : {1U, 999U, 1000U, 1001U, 123456U}) {
        for (const std::size_t step : {1U, 7U, 1000U, 2500U, 200000U}) {
            const Fixture fixture(size);
            for (std::uint64_t at = 0; at < size; at += step) {
                fixture.expect(at, std::min<std::uint64_t>(step, size - at));
            }
            EXPECT_EQ(fixture.fake->bytes, size) << size << " in steps of " << step;
        }
    }
}

TEST(ReadAheadFile, FetchesManyPartsAtATime) {
    const Fixture fixture(100000);
    fixture.fake->wait_us = 2000;
    for (std::uint64_t at = 0; at < 100000; at += 500) fixture.expect(at, 500);
    EXPECT_GT(fixture.fake->most_running, 1U);
    EXPECT_LE(fixture.fake->most_running, 5U);  // the reader and four threads
}

TEST(ReadAheadFile, FetchesOnlyWhatIsSearchedForHereAndThere) {
    const Fixture fixture(1000000);
    for (std::uint64_t at = 990000; at > 10000; at -= 10007) fixture.expect(at, 64);
    EXPECT_EQ(fixture.fake->bytes, fixture.fake->reads * 64);
}

TEST(ReadAheadFile, FetchesLittleAheadOfShortStretches) {
    const Fixture fixture(1000000);
    fixture.expect(0, 100);
    fixture.expect(100, 200);
    fixture.expect(0, 400);
    EXPECT_EQ(fixture.fake->bytes, 400U);
    std::uint64_t read = 400;
    for (std::uint64_t at = 990000; at > 10000; at -= 20011) {
        fixture.expect(at, 64);
        fixture.expect(at + 64, 300);
        fixture.expect(at + 400, 136);
        read += 500;
        EXPECT_LE(fixture.fake->bytes, 2 * read);
    }
    const std::uint64_t before = fixture.fake->bytes;
    fixture.expect(500000, 3000);  // at once
    EXPECT_EQ(fixture.fake->bytes, before + 3000);
}

TEST(ReadAheadFile, FetchesWhatWasAnnouncedAndNoMore) {
    for (const std::uint64_t step : {1U, 7U, 700U, 1000U, 2500U, 60000U}) {
        const Fixture fixture(100000);
        fixture.file.will_read(12345, 50000);
        for (std::uint64_t at = 12345; at < 62345; at += step) {
            fixture.expect(at, std::min<std::uint64_t>(step, 62345 - at));
        }
        EXPECT_EQ(fixture.fake->bytes, 50000U) << step;
        EXPECT_EQ(fixture.fake->reads, 50U) << step;
    }
}

TEST(ReadAheadFile, RangesThatWereAnnouncedShareNoByte) {
    const Fixture fixture(20000);
    fixture.file.will_read(1500, 300);  // as for a search
    fixture.expect(1600, 50);
    fixture.file.will_read(1700, 4000);
    fixture.file.will_read(5700, 2000);
    for (std::uint64_t at = 1700; at < 7700; at += 100) fixture.expect(at, 100);
    EXPECT_EQ(fixture.fake->bytes, 6200U);
}

TEST(ReadAheadFile, WhatWasAnnouncedAndReadIsForgotten) {
    const Fixture fixture(1000000);
    fixture.file.will_read(0, 1000000);
    for (std::uint64_t at = 0; at < 1000000; at += 500) fixture.expect(at, 500);
    EXPECT_EQ(fixture.fake->bytes, 1000000U);
    for (std::uint64_t at = 900000; at > 10000; at -= 10007) fixture.expect(at, 64);
    EXPECT_LE(fixture.fake->bytes, 1000000U + 89 * 64);
}

TEST(ReadAheadFile, ManyRangesAtOnce) {
    const Fixture fixture(600000);
    std::vector<std::jthread> threads;
    threads.reserve(40);
    for (std::uint64_t i = 0; i < 40; ++i) {
        threads.emplace_back([&, i] {
            fixture.file.will_read(i * 15000, 15000);
            for (std::uint64_t at = i * 15000; at < (i + 1) * 15000; at += 300) fixture.expect(at, 300);
        });
    }
    threads.clear();
}

TEST(ReadAheadFile, ReadsWithoutThreads) {
    const Fixture fixture(50000, 1000, 0);
    fixture.file.will_read(0, 30000);
    for (std::uint64_t at = 0; at < 50000; at += 700) fixture.expect(at, std::min<std::uint64_t>(700, 50000 - at));
    EXPECT_EQ(fixture.fake->bytes, 50000U);
    EXPECT_EQ(fixture.fake->most_running, 1U);
}

TEST(ReadAheadFile, WhatWasAnnouncedAndNotReadDoesNotHoldUpOthers) {
    const Fixture fixture(1000000);
    for (std::uint64_t at = 0; at < 60000; at += 1000) {  // readers who stop early
        fixture.file.will_read(at, 900000);
        fixture.expect(at, 10);
    }
    fixture.file.will_read(0, 1000000);
    fixture.fake->wait_us = 300;
    fixture.fake->most_running = 0;
    for (std::uint64_t at = 0; at < 1000000; at += 1000) fixture.expect(at, 1000);
    EXPECT_GT(fixture.fake->most_running, 2U);
}

TEST(ReadAheadFile, RangesEndWithTheFile) {
    const Fixture fixture(5500);
    fixture.file.will_read(3000, UINT64_MAX);
    fixture.file.will_read(7000, 10);
    for (std::uint64_t at = 3000; at < 5500; at += 250) fixture.expect(at, 250);
    EXPECT_EQ(fixture.fake->bytes, 2500U);
}

TEST(ReadAheadFile, ThreadsShareAStretch) {
    const Fixture fixture(300000);
    std::atomic<std::uint64_t> next = 0;
    std::vector<std::jthread> threads;
    threads.reserve(6);
    for (int i = 0; i < 6; ++i) {
        threads.emplace_back([&] {
            for (std::uint64_t at = next.fetch_add(700); at < 300000; at = next.fetch_add(700)) {
                fixture.expect(at, std::min<std::uint64_t>(700, 300000 - at));
            }
        });
    }
    threads.clear();
}

TEST(ReadAheadFile, ManyStretchesAtOnce) {
    const Fixture fixture(600000, 1000, 4);
    std::vector<std::jthread> threads;
    threads.reserve(40);
    for (std::uint64_t i = 0; i < 40; ++i) {
        threads.emplace_back([&, i] {
            for (std::uint64_t at = i * 15000; at < (i + 1) * 15000; at += 300) fixture.expect(at, 300);
        });
    }
    threads.clear();
}

TEST(ReadAheadFile, RandomReads) {
    const Fixture fixture(50000, 777, 3);
    std::vector<std::jthread> threads;
    threads.reserve(5);
    for (unsigned seed = 0; seed < 5; ++seed) {
        threads.emplace_back([&, seed] {
            std::mt19937 random(seed);
            std::uint64_t at = 0;
            for (int i = 0; i < 400; ++i) {
                if (random() % 3 == 0) at = random() % 50000;
                const std::uint64_t size = std::min<std::uint64_t>(random() % 3000, 50000 - at);
                fixture.expect(at, size);
                at += size;
            }
        });
    }
}

TEST(ReadAheadFile, AFailureReachesWhoeverReadsThere) {
    const Fixture fixture(20000);
    fixture.fake->fails_at = 5500;
    fixture.fake->fails = 1000;
    for (std::uint64_t at = 0; at < 5000; at += 500) fixture.expect(at, 500);
    std::vector<std::uint8_t> bytes(500);
    EXPECT_THROW(fixture.file.read(5000, bytes), InputError);
    fixture.fake->fails = 0;
    fixture.expect(5000, 500);  // the next reader has it fetched anew
    for (std::uint64_t at = 5500; at < 20000; at += 500) fixture.expect(at, 500);
}

TEST(ReadAheadFile, IsDestroyedAtOnceWhileItWaitsForAServer) {
    const Fixture fixture(100000);
    fixture.fake->stuck_from = 1000;
    fixture.file.will_read(0, 100000);
    fixture.expect(0, 10);
    fixture.expect(10, 10);
}

TEST(ReadAheadFile, CancelledWhileItWaits) {
    Cancellation cancellation;
    const Fixture fixture(100000, 1000, 4, &cancellation);
    fixture.fake->stuck_from = 0;
    const std::jthread thread([&] {
        while (fixture.fake->reads == 0) std::this_thread::yield();
        cancellation.request();
    });
    std::vector<std::uint8_t> bytes(10);
    EXPECT_THROW(fixture.file.read(0, bytes), Cancelled);
}

TEST(ReadAheadFile, AnEmptyFile) {
    const Fixture fixture(0);
    EXPECT_EQ(fixture.file.size(), 0U);
    std::vector<std::uint8_t> none;
    fixture.file.read(0, none);
    EXPECT_EQ(fixture.fake->reads, 0U);
}

}  // namespace cleave::read_ahead_file_test
