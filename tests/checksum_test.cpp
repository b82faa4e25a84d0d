// The CRC32C of pieces, judged by one that is made a bit at a time.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>

#include "cleave/split.h"
#include "inputs.h"
#include "pipe_input.h"
#include "temporary_directory.h"
#include "write/checksum.h"

namespace cleave::test {
namespace {

// RFC 3720, section 12.1: the polynomial 11EDC6F41, here with its bits the other way round.
std::uint32_t crc32c_by_bits(std::string_view bytes) {
    std::uint32_t remainder = 0xFFFFFFFF;
    for (const char c : bytes) {
        remainder ^= static_cast<unsigned char>(c);
        for (int bit = 0; bit < 8; ++bit) remainder = remainder >> 1 ^ ((remainder & 1) != 0 ? 0x82F63B78 : 0);
    }
    return ~remainder;
}

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

// Splits files and streams with checksums, and compares them with those of what the files hold.
class ChecksumTest : public testing::Test {
protected:
    ChecksumTest() {
        options_.checksum = true;
        options_.threads = 2;
        options_.finished = [this](const Piece&, const std::string& path, const PieceResult& result) {
            sums_[std::filesystem::path(path).filename()] = result.crc32c.value();
        };
    }

    void split_file(const std::string& text, const Policy& policy) {
        const TemporaryDirectory elsewhere;
        const std::string path = elsewhere.write("in.csv", text);
        Input input = Input::open(path);
        const RecordIndex index(input.bytes(), Dialect{}, Execution{});
        std::vector<Piece> pieces;
        const std::uint64_t header_size =
            plan_pieces(index, policy, [&](const Piece& piece) { pieces.push_back(piece); });
        const PieceNamer namer(directory_.path("{i:6}"), path, 1, pieces.size());
        split_mapped(input, pieces, policy.header, header_size, namer, options_);
    }

    void split_pipe(const std::string& text, const Policy& policy) {
        Pipe pipe(text, {4096});
        Input input = Input::open(pipe.path());
        const PieceNamer namer(directory_.path("{i:6}"), "-", 1, std::nullopt);
        split_stream(input, Dialect{}, Execution{}, policy, namer, options_, [](const Findings&) {});
    }

    // Takes the plain files away.
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
    SplitOptions options_;
    std::map<std::string, std::uint32_t> sums_;
};

Policy by_pieces(std::uint64_t count, HeaderMode header = HeaderMode::kRepeat) {
    Policy policy;
    policy.pieces = count;
    policy.header = header;
    return policy;
}

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
    Policy policy;
    policy.records = 700;
    split_pipe(text, policy);
    expect_sums_of_files(5);
}

// A long body is read and written in parts of 16 MiB.
TEST_F(ChecksumTest, IsThatOfALongFile) {
    const std::string text = table(std::size_t{18} << 20);
    const std::uint32_t sum = crc32c_by_bits(text);
    for (const CloneMode clone : {CloneMode::kNever, CloneMode::kAuto}) {
        options_.clone = clone;
        Policy policy = by_pieces(1);
        policy.alignment = clone == CloneMode::kAuto ? kCloneAlignment : 0;
        split_file(text, policy);
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
    options_.resume = true;
    split_file(text, by_pieces(3));
    EXPECT_EQ(sums_, made);
    expect_sums_of_files(3);
}

TEST_F(ChecksumTest, IsThatOfThePlainBytesOfACompressedPiece) {
    const std::string text = table(300'000);
    options_.compression = {Compression::kZstd, 1};
    std::map<std::string, std::uint64_t> stored;
    options_.finished = [this, &stored](const Piece&, const std::string& path, const PieceResult& result) {
        sums_[std::filesystem::path(path).filename()] = result.crc32c.value();
        stored[std::filesystem::path(path).filename()] = result.stored.value();
    };
    split_file(text, by_pieces(1));
    EXPECT_EQ(sums_.at("000001"), crc32c_by_bits(text));
    EXPECT_EQ(stored.at("000001"), std::filesystem::file_size(directory_.path("000001")));
}

TEST_F(ChecksumTest, IsMadeOnlyIfAskedFor) {
    options_.checksum = false;
    unsigned count = 0;
    options_.finished = [&count](const Piece&, const std::string&, const PieceResult& result) {
        EXPECT_FALSE(result.crc32c || result.stored);
        ++count;
    };
    split_file(table(1000), by_pieces(3));
    EXPECT_EQ(count, 3U);
}

}  // namespace
}  // namespace cleave::test
