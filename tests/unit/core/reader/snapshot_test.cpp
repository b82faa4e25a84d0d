// Growing inputs, read as they were when they were opened.
#include <gtest/gtest.h>

#include <filesystem>

#include "changed_input.h"
#include "cleave/error.h"
#include "cleave/examine.h"
#include "cleave/plan_file.h"
#include "cleave/scan.h"
#include "inputs.h"
#include "mapped_input.h"
#include "pipe_input.h"

namespace cleave::test::snapshot_test {

namespace fs = std::filesystem;

using SnapshotTest = ChangedInputTest;
using SnapshotFaultTest = FaultTest;

TEST_F(SnapshotTest, ASnapshotMayGrowButNotShrink) {
    const std::string path = write("h\n1\nha");
    Input input = open_mapped_snapshot(path);
    EXPECT_TRUE(input.is_snapshot());
    overwrite(path, 6, "lf\n2\n");
    EXPECT_NO_THROW(input.throw_if_changed());
    EXPECT_EQ(input.bytes().size(), 6U);
    EXPECT_EQ(scan(input, Dialect{}, Execution{}).records, 2U);
    EXPECT_EQ(input.bytes().size(), 4U);
    EXPECT_EQ(input.left_out(), 2U);
    EXPECT_EQ(input.identity().size, 6U);
    fs::resize_file(path, 5);
    expect_throw<InputChangedError>(kTruncated, [&] { input.throw_if_changed(); });
}

TEST_F(SnapshotTest, EveryReaderOfASnapshotLeavesOutTheIncompleteRecord) {
    const std::string path = write("h\n1\n2\n\"3\n");
    const auto snapshot = [&] { return open_mapped_snapshot(path); };
    Input input = snapshot();
    EXPECT_EQ(index_records(input, Dialect{}, Execution{}).end(), (Boundary{6, 3}));
    EXPECT_EQ(index_records(input, Dialect{}, Execution{}).end(), (Boundary{6, 3}));
    EXPECT_EQ(input.left_out(), 3U);
    EXPECT_EQ(scan(input = snapshot(), Dialect{}, Execution{}).open_quote, std::nullopt);
    EXPECT_EQ(examine(input = snapshot(), Dialect{}, Execution{}).findings.size, 6U);
    Policy policy;
    policy.records = 1;
    EXPECT_EQ(plan(input = snapshot(), policy).pieces.size(), 2U);
}

// In a short input every record counts.
TEST_F(SnapshotTest, TheIncompleteRecordDoesNotDecideTheDelimiter) {
    const std::string path = write("a;b\n\"1,2,3,4,5,6,7\n,,,,,,\n,,,,,,\n");
    EXPECT_EQ(settle_dialect({}, bytes_of("a;b\n"), "").dialect.delimiter, ';');
    Input input = open_mapped_snapshot(path);
    EXPECT_EQ(settle_dialect({}, input).dialect.delimiter, ';');
    EXPECT_EQ(input.bytes().size(), 4U);
}

TEST_F(SnapshotTest, ASnapshotOfAnEmptyFileStaysEmpty) {
    const std::string path = write("");
    Input input = open_mapped_snapshot(path);
    overwrite(path, 0, "h\n1\n");
    EXPECT_TRUE(input.bytes().empty());
    EXPECT_EQ(scan(input, Dialect{}, Execution{}).records, 0U);
    EXPECT_EQ(examine(input, Dialect{}, Execution{}).findings.size, 0U);
}

TEST_F(SnapshotFaultTest, ASnapshotThatWasShorterMeanwhileIsAnError) {
    const std::string path = write();
    Input input = open_mapped_snapshot(path);
    fs::resize_file(path, 0);
    EXPECT_EQ(input.bytes()[kSize - 1], 0);
    overwrite(path, 0, rows(2 * kSize));
    expect_throw<InputChangedError>(kGrew, [&] { input.throw_if_changed(); });
}

TEST_F(SnapshotTest, WhatHasNoSizeOrIsCompressedHasNoSnapshot) {
    const auto refused = [](const std::string& why, const std::string& path) {
        expect_throw<SnapshotError>(why, [&] { (void)open_mapped_snapshot(path); });
    };
    const Pipe pipe("h\n1\n", {4});
    refused("it is not a file", pipe.path());
    refused("it is not a file", "/dev/null");
    refused("its size is unknown", "/proc/self/status");
    refused("it is compressed", write("\x1f\x8b\x08 and so on"));
}

}  // namespace cleave::test::snapshot_test
