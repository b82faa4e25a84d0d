// Compares the C interface with the C++ one. examples/plan.c uses it from C, system/c_interface_test.py from Python.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "cleave/cleave_c.h"
#include "cleave/plan_file.h"
#include "cleave/version.h"
#include "packed.h"
#include "temporary_directory.h"

namespace cleave::test::c_interface_test {

class File {
public:
    explicit File(const std::string& path, const cleave_options* options = nullptr)
        : status_(cleave_open(path.c_str(), options, &file_, &error_)) {}
    ~File() { cleave_close(file_); }
    File(const File&) = delete;
    File& operator=(const File&) = delete;

    cleave_file* get() const { return file_; }
    std::int32_t status() const { return status_; }
    const cleave_error& error() const { return error_; }

private:
    cleave_file* file_ = nullptr;
    cleave_error error_ = {};
    std::int32_t status_;  // declared last, because the call above sets the other members
};

std::vector<Piece> pieces_of(cleave_plan* plan) {
    std::vector<Piece> pieces;
    pieces.reserve(cleave_plan_size(plan));
    for (std::uint64_t i = 0; i < cleave_plan_size(plan); ++i) {
        pieces.push_back({i + 1, cleave_plan_starts(plan)[i], cleave_plan_lengths(plan)[i],
                          cleave_plan_first_records(plan)[i], cleave_plan_records(plan)[i]});
    }
    return pieces;
}

const std::string kTable = "id,note\n1,\"a\nb\"\n2,c\n3,d\n4,\"e,\n\"\n";

TEST(CInterface, PlansAsTheLibraryDoes) {
    const TemporaryDirectory folder;
    const std::string path = folder.write("in.csv", kTable);
    const File file(path);
    ASSERT_EQ(file.status(), CLEAVE_OK) << file.error().message;
    for (const std::uint64_t limit : {1U, 2U, 3U, 5U, 20U}) {
        for (const int kind : {0, 1, 2, 3}) {
            cleave_limits limits = CLEAVE_LIMITS_INIT;
            Policy policy;
            if (kind == 0) policy.pieces = limits.pieces = limit;
            if (kind == 1 || kind == 3) policy.records = limits.records = limit;
            if (kind >= 2) policy.max_bytes = limits.max_bytes = limit + 20;
            cleave_plan* plan = nullptr;
            cleave_error error = {};
            ASSERT_EQ(cleave_plan_make(file.get(), &limits, &plan, &error), CLEAVE_OK) << error.message;
            const cleave::Plan wanted = cleave::plan(path, policy);
            EXPECT_EQ(pieces_of(plan), wanted.pieces);
            EXPECT_EQ(cleave_plan_header_size(plan), wanted.header_size);
            cleave_plan_free(plan);
        }
    }
    std::uint64_t records = 0;
    EXPECT_EQ(cleave_count(file.get(), &records, nullptr), CLEAVE_OK);
    EXPECT_EQ(records, 4U);
}

TEST(CInterface, OptionsAreHeeded) {
    const TemporaryDirectory folder;
    const std::string path = folder.write("in.csv", "a;b\n1,2;3\n\"4\n");
    cleave_options options = CLEAVE_OPTIONS_INIT;
    options.has_header = 0;
    options.allow_open_quote = 1;
    options.threads = 1;
    std::uint64_t records = 0;
    EXPECT_EQ(cleave_count(File(path, &options).get(), &records, nullptr), CLEAVE_OK);
    EXPECT_EQ(records, 3U);
    options.dialect = "postgres";
    options.delimiter = ';';
    EXPECT_EQ(File(path, &options).status(), CLEAVE_OK);
    cleave_limits limits = CLEAVE_LIMITS_INIT;
    limits.records = 1;
    cleave_plan* plan = nullptr;
    EXPECT_EQ(cleave_plan_make(File(path, &options).get(), &limits, &plan, nullptr), CLEAVE_OK);
    EXPECT_EQ(cleave_plan_header_size(plan), 0U);
    cleave_plan_free(plan);
}

TEST(CInterface, AnEmptyFileAndAHeaderAloneHaveNoRecords) {
    const TemporaryDirectory folder;
    for (const char* text : {"", "id,note\n", "id"}) {
        const File file(folder.write("in.csv", text));
        std::uint64_t records = 1;
        EXPECT_EQ(cleave_count(file.get(), &records, nullptr), CLEAVE_OK);
        EXPECT_EQ(records, 0U);
        cleave_limits limits = CLEAVE_LIMITS_INIT;
        limits.records = 1;
        cleave_plan* plan = nullptr;
        EXPECT_EQ(cleave_plan_make(file.get(), &limits, &plan, nullptr), CLEAVE_OK);
        EXPECT_EQ(cleave_plan_size(plan), *text == '\0' ? 0U : 1U);  // one piece with only a header
        EXPECT_EQ(cleave_plan_header_size(plan), std::strlen(text));
        cleave_plan_free(plan);
    }
}

TEST(CInterface, ReadsTheBytesOfPieces) {
    const TemporaryDirectory folder;
    std::string text = "id\n";
    while (text.size() < 3 * kMaxBlockSize) text += "0123456789abcdef\n";
    for (const std::string& path : {folder.write("in.csv", text), folder.write("in.csv.gz", gzipped(text))}) {
        const File file(path);
        std::string read(text.size() - 1, '?');
        EXPECT_EQ(cleave_read(file.get(), 1, read.data(), read.size(), nullptr), CLEAVE_OK);
        EXPECT_TRUE(read == text.substr(1));
        EXPECT_EQ(cleave_read(file.get(), text.size(), nullptr, 0, nullptr), CLEAVE_OK);
        cleave_error error = {};
        for (const std::uint64_t offset : {std::uint64_t{2}, std::uint64_t{text.size()}, UINT64_MAX}) {
            EXPECT_EQ(cleave_read(file.get(), offset, read.data(), read.size(), &error), CLEAVE_ARGUMENT);
        }
        EXPECT_EQ(std::string(error.message), "offset: the file has " + std::to_string(text.size()) + " bytes");
        EXPECT_EQ(cleave_read(file.get(), 0, nullptr, 1, &error), CLEAVE_ARGUMENT);
        EXPECT_EQ(cleave_read(nullptr, 0, read.data(), 1, &error), CLEAVE_ARGUMENT);
    }
}

TEST(CInterface, FailuresHaveAStatusAMessageAndAPlace) {
    const TemporaryDirectory folder;
    const File missing(folder.path("missing.csv"));
    EXPECT_EQ(missing.status(), CLEAVE_SYSTEM);
    EXPECT_EQ(missing.error().status, CLEAVE_SYSTEM);
    EXPECT_EQ(missing.get(), nullptr);
    EXPECT_NE(std::string(missing.error().message).find("No such file"), std::string::npos);

    const File archive(folder.write("in.zip", std::string("PK\3\4", 4) + std::string(100, '\0')));
    EXPECT_EQ(archive.status(), CLEAVE_INPUT);

    const File open_quote(folder.write("open.csv", "a\n1\n\"2\n"));
    cleave_error error = {};
    std::uint64_t records = 0;
    EXPECT_EQ(cleave_count(open_quote.get(), &records, &error), CLEAVE_INPUT);
    EXPECT_EQ(error.has_place, 1);
    EXPECT_EQ(error.byte, 4U);
    EXPECT_EQ(error.record, 2U);
}

TEST(CInterface, ArgumentsAreChecked) {
    const TemporaryDirectory folder;
    const std::string path = folder.write("in.csv", kTable);
    cleave_error error = {};
    cleave_file* opened = nullptr;
    EXPECT_EQ(cleave_open(nullptr, nullptr, &opened, &error), CLEAVE_ARGUMENT);
    EXPECT_STREQ(error.message, "path: NULL");
    EXPECT_EQ(cleave_open(path.c_str(), nullptr, nullptr, &error), CLEAVE_ARGUMENT);

    cleave_options options = CLEAVE_OPTIONS_INIT;
    options.struct_size -= 1;
    EXPECT_EQ(File(path, &options).status(), CLEAVE_ARGUMENT);
    options = CLEAVE_OPTIONS_INIT;
    options.dialect = "oracle";
    EXPECT_EQ(File(path, &options).status(), CLEAVE_ARGUMENT);
    for (const std::int32_t delimiter : {-2, 256, int{'\n'}}) {
        options = CLEAVE_OPTIONS_INIT;
        options.delimiter = delimiter;
        EXPECT_EQ(File(path, &options).status(), CLEAVE_ARGUMENT) << delimiter;
    }

    const File file(path);
    cleave_limits limits = CLEAVE_LIMITS_INIT;
    cleave_plan* plan = nullptr;
    EXPECT_EQ(cleave_plan_make(file.get(), &limits, &plan, &error), CLEAVE_ARGUMENT);  // no limit
    EXPECT_EQ(cleave_plan_make(file.get(), nullptr, &plan, &error), CLEAVE_ARGUMENT);
    EXPECT_EQ(cleave_plan_make(nullptr, &limits, &plan, &error), CLEAVE_ARGUMENT);
    EXPECT_EQ(cleave_plan_make(file.get(), &limits, nullptr, &error), CLEAVE_ARGUMENT);
    limits.records = limits.pieces = 1;
    EXPECT_EQ(cleave_plan_make(file.get(), &limits, &plan, &error), CLEAVE_ARGUMENT);
    limits = CLEAVE_LIMITS_INIT;
    limits.max_bytes = 7;  // less than the header
    EXPECT_EQ(cleave_plan_make(file.get(), &limits, &plan, &error), CLEAVE_ARGUMENT);
    EXPECT_EQ(cleave_count(file.get(), nullptr, &error), CLEAVE_ARGUMENT);
    EXPECT_EQ(plan, nullptr);
    cleave_close(nullptr);
    cleave_plan_free(nullptr);
}

TEST(CInterface, AFileThatChangesIsSaidToHaveChanged) {
    const TemporaryDirectory folder;
    const std::string path = folder.write("in.csv", kTable);
    const File file(path);
    std::uint64_t records = 0;
    EXPECT_EQ(cleave_count(file.get(), &records, nullptr), CLEAVE_OK);
    folder.write("in.csv", "id\n");
    cleave_error error = {};
    EXPECT_EQ(cleave_count(file.get(), &records, &error), CLEAVE_CHANGED);
    EXPECT_EQ(error.has_place, 0);
}

TEST(CInterface, ALongMessageIsCut) {
    const std::string path = "/nowhere/" + std::string(std::size_t{2} * CLEAVE_MESSAGE_SIZE, 'x');
    const File file(path);
    EXPECT_EQ(file.status(), CLEAVE_SYSTEM);
    EXPECT_EQ(std::strlen(file.error().message), std::size_t{CLEAVE_MESSAGE_SIZE - 1});
}

TEST(CInterface, TheVersionIsTheLibrarys) { EXPECT_STREQ(cleave_version(), CLEAVE_VERSION); }

}  // namespace cleave::test::c_interface_test
