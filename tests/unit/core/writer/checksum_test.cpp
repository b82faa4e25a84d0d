// Compares the CRC32C of pieces with one that is computed a bit at a time.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>

#include "base/crc32c.h"
#include "checksum_reference.h"
#include "inputs.h"
#include "jobs.h"
#include "pipe_input.h"
#include "temporary_directory.h"

namespace cleave::test::checksum_test {

std::uint32_t crc32c(std::string_view bytes) {
    Crc32c sum;
    sum.add(bytes_of(bytes));
    return sum.value();
}

TEST(Crc32c, HasTheCheckValue) {
    EXPECT_EQ(crc32c("123456789"), 0xE3069283);
    EXPECT_EQ(crc32c_by_bits("123456789"), 0xE3069283);
    EXPECT_EQ(crc32c(""), 0U);
}

TEST(Crc32c, DoesNotDependOnTheParts) {
    Random random(1);
    for (unsigned round = 0; round < 200; ++round) {
        const std::string text = random_noise(random,
                                              std::string("\0\n,\"\xFF"
                                                          "a",
                                                          6),
                                              random.below(300));
        Crc32c sum;
        for (std::size_t at = 0; at < text.size();) {
            const std::size_t size = 1 + random.below(text.size() - at);
            sum.add(bytes_of(std::string_view(text).substr(at, size)));
            at += size;
        }
        EXPECT_EQ(sum.value(), crc32c_by_bits(text)) << round;
        EXPECT_EQ(crc32c(text), crc32c_by_bits(text)) << round;
    }
}

// Splits files and streams with checksums, and compares these with the checksums of the files' contents.
class ChecksumTest : public testing::Test {
protected:
    ChecksumTest() {
        output_.checksum = true;
        watcher_.on_finished = [this](const Piece&, const std::string& path, const PieceResult& result) {
            sums_[std::filesystem::path(path).filename()] = result.crc32c.value();
        };
    }

    void split(const std::string& path, Job job) {
        job.execution.threads = 2;
        job.output = output_;
        job.output.names = directory_.path("{i:6}");
        Input input = Input::open(path);
        run_job(input, job, watcher_);
    }

    void split_file(const std::string& text, const Job& job) {
        const TemporaryDirectory elsewhere;
        split(elsewhere.write("in.csv", text), job);
    }

    void split_pipe(const std::string& text, const Job& job) {
        Pipe pipe(text, {4096});
        split(pipe.path(), job);
    }

    // Removes the plain files.
    void expect_sums_of_files(std::size_t count) {
        const auto files = directory_.files();
        EXPECT_EQ(files.size(), count);
        EXPECT_EQ(sums_.size(), count);
        for (const auto& [name, content] : files) {
            EXPECT_EQ(sums_[name], crc32c_by_bits(content)) << name;
            std::filesystem::remove(directory_.path(name));
        }
        sums_.clear();
    }

    TemporaryDirectory directory_;
    OutputOptions output_;
    Watcher watcher_;
    std::map<std::string, std::uint32_t> sums_;
};

std::string table(std::size_t size) {
    std::string text = "id,text\n";
    for (unsigned i = 0; text.size() < size; ++i) text += std::to_string(i) + ",\"a\n" + std::string(90, 'b') + "\"\n";
    return text;
}

TEST_F(ChecksumTest, IsThatOfTheFile) {
    const std::string text = table(300'000);
    for (const HeaderMode header : {HeaderMode::kRepeat, HeaderMode::kFirst, HeaderMode::kDrop, HeaderMode::kNone}) {
        split_file(text, by_pieces(7, header));
        expect_sums_of_files(7);
    }
    split_pipe(text, by_records(700));
    expect_sums_of_files(5);
}

// A long body is read and written in 16 MiB parts.
TEST_F(ChecksumTest, IsThatOfALongFile) {
    const std::string text = table(std::size_t{18} << 20);
    const std::uint32_t sum = crc32c_by_bits(text);
    for (const CloneMode clone : {CloneMode::kNever, CloneMode::kAuto}) {
        output_.clone = clone;
        Job job = by_pieces(1);
        job.policy.alignment = clone == CloneMode::kAuto ? kCloneAlignment : 0;
        split_file(text, job);
        EXPECT_TRUE(directory_.files().at("000001") == text);
        EXPECT_EQ(sums_.at("000001"), sum);
        std::filesystem::remove(directory_.path("000001"));
    }
}

TEST_F(ChecksumTest, IsMadeOfPiecesThatAreKept) {
    const std::string text = table(300'000);
    split_file(text, by_pieces(3));
    const auto made = sums_;
    sums_.clear();
    std::filesystem::remove(directory_.path("000002"));
    output_.resume = true;
    split_file(text, by_pieces(3));
    EXPECT_EQ(sums_, made);
    expect_sums_of_files(3);
}

TEST_F(ChecksumTest, IsThatOfThePlainBytesOfACompressedPiece) {
    const std::string text = table(300'000);
    output_.compression = {Compression::kZstd, 1};
    std::map<std::string, std::uint64_t> stored;
    watcher_.on_finished = [this, &stored](const Piece&, const std::string& path, const PieceResult& result) {
        sums_[std::filesystem::path(path).filename()] = result.crc32c.value();
        stored[std::filesystem::path(path).filename()] = result.stored.value();
    };
    split_file(text, by_pieces(1));
    EXPECT_EQ(sums_.at("000001"), crc32c_by_bits(text));
    EXPECT_EQ(stored.at("000001"), std::filesystem::file_size(directory_.path("000001")));
}

TEST_F(ChecksumTest, IsMadeOnlyIfAskedFor) {
    output_.checksum = false;
    unsigned count = 0;
    watcher_.on_finished = [&count](const Piece&, const std::string&, const PieceResult& result) {
        EXPECT_FALSE(result.crc32c || result.stored);
        ++count;
    };
    split_file(table(1000), by_pieces(3));
    EXPECT_EQ(count, 3U);
}

}  // namespace cleave::test::checksum_test
