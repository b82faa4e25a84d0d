// Files that a thread reads once from the front, a few parts ahead.
#include "core/reader/sequential_reader.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "cleave/cancel.h"
#include "cleave/error.h"
#include "inputs.h"
#include "temporary_directory.h"

namespace cleave::test::sequential_reader_test {

constexpr std::size_t kMiB = std::size_t{1} << 20;

class SequentialReaderTest : public testing::Test {
protected:
    std::string write(const std::string& text) {
        const std::string path = directory_.path("input");
        std::ofstream(path, std::ios::binary) << text;
        return path;
    }

    TemporaryDirectory directory_;
};

TEST_F(SequentialReaderTest, GivesAllBytesInOrder) {
    Random random(1);
    std::string block(10'007, '\0');  // a prime, so that no two blocks of a reader are the same
    for (char& byte : block) byte = static_cast<char>(random.below(256));
    std::string text;
    while (text.size() < 11 * kMiB) text += block;
    for (const std::size_t size : {std::size_t{0}, std::size_t{1}, kMiB - 1, kMiB, kMiB + 1, 9 * kMiB, text.size()}) {
        const std::string whole = text.substr(0, size);
        const std::string path = write(whole);
        for (const Access access : {Access::kMapped, Access::kRead}) {
            Input input = Input::open(path, nullptr, access);
            Meter meter;
            SequentialReader reader(input, &meter);
            std::string read;
            for (auto bytes = reader.read(); !bytes.empty(); bytes = reader.read()) {
                read.append(bytes.begin(), bytes.end());
                EXPECT_EQ(meter.scanned, read.size());
            }
            EXPECT_TRUE(read == whole) << size << " bytes";
            EXPECT_TRUE(reader.read().empty());
        }
    }
}

TEST_F(SequentialReaderTest, ATruncatedFileIsAnErrorAndNeverZeros) {
    const std::string path = write(std::string(40 * kMiB, 'x'));
    Input input = Input::open(path);
    SequentialReader reader(input, nullptr);
    EXPECT_FALSE(reader.read().empty());
    std::filesystem::resize_file(path, 20 * kMiB + 1);
    std::size_t size = kMiB;
    try {
        for (auto bytes = reader.read(); !bytes.empty(); bytes = reader.read()) {
            EXPECT_EQ(std::string(bytes.begin(), bytes.end()), std::string(bytes.size(), 'x'));
            size += bytes.size();
        }
        ADD_FAILURE() << "nothing was thrown after " << size << " bytes";
    } catch (const InputChangedError& error) {
        EXPECT_STREQ(error.what(), "input truncated while reading");
        EXPECT_EQ(size, 20 * kMiB);
    }
}

TEST_F(SequentialReaderTest, EndsWhenItIsCancelledOrLeft) {
    const std::string path = write(std::string(20 * kMiB, 'x'));
    Cancellation cancellation;
    Input input = Input::open(path, &cancellation);
    { const SequentialReader unused(input, nullptr); }
    SequentialReader reader(input, nullptr);
    EXPECT_FALSE(reader.read().empty());
    cancellation.request();
    EXPECT_THROW(reader.read(), Cancelled);
}

}  // namespace cleave::test::sequential_reader_test
