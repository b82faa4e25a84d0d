// The parts of an object, as the stub of a store notes them, and what is taken back.
#include "features/stores/store_output.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cleave/error.h"
#include "features/stores/store_target.h"

namespace cleave::store_output_test {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr std::uint64_t kLeast = StoreUpload::kLeastPart;

const std::vector<std::string> kPaths{PLUGINS "/stub_store.so"};

class StoreOutputTest : public testing::Test {
protected:
    // What the parts of a piece are. `write` gives it to the output.
    template <class Write>
    std::string parts(const std::string& source, const Write& write) {
        const Input input = store_.open("s3://bucket/" + source, nullptr, Encoding::kBytes);
        StoreCopies copies(input);
        // The first copy is awaited out of turn, so it is made here.
        StoreUpload other(store_, "s3://bucket/key", nullptr);
        if (copies.may_work()) copies.copy(other, 1, {0, 1});
        ObjectUpload object(store_, "s3://bucket/notes", Present::kNone, nullptr);
        RequestQueue queue([] {}, 1);
        StoreOutput output(queue, object, input, copies, {}, helpers_, nullptr);
        write(output, input);
        output.finish({});
        queue.wait();
        try {
            object.complete();
        } catch (const StoreError& error) {
            return std::string(error.what()).substr(std::string("s3://bucket/notes: ").size());
        }
        return "nothing";
    }

    // The same for a header of this size and a body of the input.
    std::string piece(std::uint64_t header, std::uint64_t start, std::uint64_t length) {
        return parts("size-1000000000", [&](StoreOutput& output, const Input& input) {
            if (header > 0) output.write(std::vector<std::uint8_t>(header));
            output.write_body(input, body(start, length), header, nullptr);
        });
    }

    static Piece body(std::uint64_t start, std::uint64_t length) {
        Piece piece;
        piece.start = start;
        piece.length = length;
        return piece;
    }

    const Store store_{kPaths, "s3://bucket/key"};
    Helpers helpers_{1};
};

TEST_F(StoreOutputTest, BytesAreSentInParts) {
    const auto written = [&](std::uint64_t size) {
        return parts("any", [&](StoreOutput& output, const Input&) {
            const std::vector<std::uint8_t> bytes(kMiB);
            for (; size > kMiB; size -= kMiB) output.write(bytes);
            output.write(std::span(bytes).first(size));
        });
    };
    EXPECT_EQ(written(0), "0");
    EXPECT_EQ(written(1), "1");
    EXPECT_EQ(written(StoreOutput::kPartSize - 1), "8388607");
    EXPECT_EQ(written(StoreOutput::kPartSize), "8388608");
    EXPECT_EQ(written(StoreOutput::kPartSize + 1), "8388608, 1");
    EXPECT_EQ(written(3 * StoreOutput::kPartSize + kMiB), "8388608 x 3, 1048576");
}

// As many parts as an object can have are not enough, unless they become larger. Copied parts count, and move no bytes.
TEST_F(StoreOutputTest, PartsGrow) {
    const auto written = [&](std::uint64_t copied, std::uint64_t size) {
        return parts("size-1000000000000", [&](StoreOutput& output, const Input& input) {
            output.write_body(input, body(100, copied * StoreOutput::kCopySize), 0, nullptr);
            output.write(std::vector<std::uint8_t>(size));
        });
    };
    constexpr std::uint64_t kPart = StoreOutput::kPartSize;
    EXPECT_EQ(written(999, 6 * kPart), "copied 67108864 x 999, 8388608, 16777216 x 2, 8388608");
    EXPECT_EQ(written(1999, 7 * kPart), "copied 67108864 x 1999, 16777216, 33554432, 8388608");
}

TEST_F(StoreOutputTest, ABodyWithoutAHeaderIsCopied) {
    EXPECT_EQ(piece(0, 100, 1), "copied 1");
    EXPECT_EQ(piece(0, 100, kLeast), "copied 5242880");
    EXPECT_EQ(piece(0, 100, StoreOutput::kCopySize), "copied 67108864");
    EXPECT_EQ(piece(0, 100, StoreOutput::kCopySize + 2), "copied 33554433 x 2");
    EXPECT_EQ(piece(0, 100, 3 * StoreOutput::kCopySize), "copied 67108864 x 3");
}

TEST_F(StoreOutputTest, AHeaderIsSentWithTheBeginningOfTheBody) {
    EXPECT_EQ(piece(10, 100, 0), "10");
    EXPECT_EQ(piece(10, 100, 1), "11");
    EXPECT_EQ(piece(10, 100, kLeast - 10), "5242880");
    EXPECT_EQ(piece(10, 100, kLeast - 9), "5242880, copied 1");
    EXPECT_EQ(piece(10, 100, 20 * kMiB), "5242880, copied 15728650");
    EXPECT_EQ(piece(kLeast, 100, 20 * kMiB), "5242880, copied 20971520");
    EXPECT_EQ(piece(kLeast + 1, 100, 20 * kMiB), "5242881, copied 20971520");
    EXPECT_EQ(piece(StoreOutput::kPartSize + 1, 100, 20 * kMiB), "8388608, 5242880, copied 15728641");
}

TEST_F(StoreOutputTest, AHeaderThatIsRightBeforeTheBodyIsCopiedWithIt) {
    EXPECT_EQ(piece(10, 10, 90), "copied 100");
    EXPECT_EQ(piece(10, 10, 0), "copied 10");
    EXPECT_EQ(piece(10, 10, 20 * kMiB), "copied 20971530");
}

TEST_F(StoreOutputTest, SeveralBodies) {
    const auto two = [&](std::uint64_t first, std::uint64_t second, bool are_apart) {
        return parts("size-1000000000", [&](StoreOutput& output, const Input& input) {
            output.write_body(input, body(100, first), 0, nullptr);
            output.write_body(input, body(100 + first + (are_apart ? 1 : 0), second), 0, nullptr);
        });
    };
    EXPECT_EQ(two(1, 2, false), "copied 3");
    EXPECT_EQ(two(6 * kMiB, 7 * kMiB, false), "copied 13631488");
    EXPECT_EQ(two(6 * kMiB, 7 * kMiB, true), "copied 6291456, copied 7340032");
    EXPECT_EQ(two(1, 2, true), "3");  // the first is too small to be a part, and goes with the other
    EXPECT_EQ(two(1, 7 * kMiB, true), "5242880, copied 2097153");
    EXPECT_EQ(two(6 * kMiB, 1, true), "copied 6291456, copied 1");
}

TEST_F(StoreOutputTest, WhatIsNotCopiedIsSent) {
    const Input input = store_.open("s3://bucket/size-20971520-uncopied", nullptr, Encoding::kBytes);
    StoreCopies copies(input);
    EXPECT_TRUE(copies.may_work());
    const auto sent = parts("size-20971520-uncopied", [&](StoreOutput& output, const Input& source) {
        output.write_body(source, body(0, 20 * kMiB), 0, nullptr);
    });
    EXPECT_EQ(sent, "8388608 x 2, 4194304");
}

TEST_F(StoreOutputTest, CompressedPiecesAreSent) {
    const Input input = store_.open("s3://bucket/size-1000", nullptr, Encoding::kBytes);
    StoreCopies copies(input);
    ObjectUpload object(store_, "s3://bucket/notes", Present::kNone, nullptr);
    RequestQueue queue([] {}, 1);
    CompressionOptions gzip;
    gzip.format = Compression::kGzip;
    StoreOutput output(queue, object, input, copies, gzip, helpers_, nullptr);
    output.write_body(input, body(0, 1000), 0, nullptr);
    const PieceResult result = output.finish({});
    ASSERT_TRUE(result.stored.has_value());
    queue.wait();
    try {
        object.complete();
        FAIL();
    } catch (const StoreError& error) {
        EXPECT_EQ(std::string(error.what()), "s3://bucket/notes: " + std::to_string(*result.stored));
    }
}

// The stub begins this upload, and can neither send a part nor abort it.
TEST_F(StoreOutputTest, ACommittedRunTakesNothingBack) {
    const std::string url = "s3://bucket/breaks-6";
    const Input input = store_.open("s3://bucket/any", nullptr, Encoding::kBytes);
    OutputOptions options;
    options.names = url;
    options.replace = true;
    for (const bool is_committed : {false, true}) {
        StoreTarget target(&store_, input, options, 1);
        target.open(body(0, 1), url)->finish({});
        EXPECT_THROW(target.wait(), StoreError);
        if (is_committed) target.commit();
        EXPECT_EQ(target.take_back(), is_committed ? std::vector<std::string>() : std::vector<std::string>{url});
    }
}

}  // namespace cleave::store_output_test
