// For a file, a compressed file and a pipe, a single call of plan() gives the same result as calling the underlying
// functions on the bytes.
#include "cleave/plan_file.h"

#include <gtest/gtest.h>

#include <fstream>
#include <span>
#include <string>
#include <system_error>
#include <utility>

#include "cleave/cleave.h"
#include "cleave/experimental/range_plan.h"
#include "cleave/experimental/range_summary.h"
#include "inputs.h"
#include "packed.h"
#include "pipe_input.h"
#include "plan_check.h"
#include "temporary_directory.h"

namespace cleave::test::plan_file_test {

std::vector<Policy> policies() {
    std::vector<Policy> all(4);
    all[0].pieces = 7;
    all[1].records = 3;
    all[2].max_bytes = 1000;
    all[3].max_bytes = 5000;
    all[3].alignment = 64;
    for (const HeaderMode mode : {HeaderMode::kFirst, HeaderMode::kDrop, HeaderMode::kNone}) {
        Policy policy = all[0];
        policy.header = mode;
        all.push_back(policy);
        policy = all[2];
        policy.header = mode;
        all.push_back(policy);
    }
    return all;
}

void expect_plan(const cleave::Plan& plan, const std::string& text, const Policy& policy) {
    EXPECT_EQ(plan.sniffed.dialect.delimiter, ';');
    EXPECT_EQ(plan.header, policy.header);
    EXPECT_EQ(plan.findings.size, text.size());
    expect_same({plan.header_size, plan.pieces}, plan_of_bytes(text, plan.sniffed.dialect, Execution{}, policy));
}

TEST(PlanFile, PlansAFileACompressedOneAndAPipeAlike) {
    const TemporaryDirectory directory;
    std::string text = "id;name\n";
    for (int i = 0; i < 3000; ++i) text += std::to_string(i) + ";\"a\nb\"\n";
    const std::string plain = directory.write("in.csv", text);
    const std::string packed = directory.write("in.csv.gz", gzipped(text));
    for (const Policy& policy : policies()) {
        SCOPED_TRACE(describe(policy));
        const cleave::Plan of_file = cleave::plan(plain, policy);
        expect_plan(of_file, text, policy);
        EXPECT_EQ(of_file.path, plain);
        EXPECT_EQ(of_file.identity.size, text.size());
        EXPECT_EQ(of_file.compression, Compression::kNone);
        const cleave::Plan of_packed = cleave::plan(packed, policy);
        expect_plan(of_packed, text, policy);
        EXPECT_EQ(of_packed.compression, Compression::kGzip);
        const Pipe pipe(text, {4096});
        expect_plan(cleave::plan(pipe.path(), policy), text, policy);
    }
}

TEST(PlanFile, KnowsTheDelimiterOfACompressedTsvByItsName) {
    const TemporaryDirectory directory;
    const std::string path = directory.write("in.tsv.gz", gzipped("a,b\n"));
    Policy policy;
    policy.records = 1;
    EXPECT_EQ(cleave::plan(path, policy).sniffed.dialect.delimiter, '\t');
}

TEST(PlanFile, RefusesAFaultyPolicyBeforeItOpensTheInput) {
    EXPECT_THROW(cleave::plan("/no/such/file", Policy{}), std::invalid_argument);
    Policy policy;
    policy.records = 0;
    EXPECT_THROW(cleave::plan("/no/such/file", policy), std::invalid_argument);
    policy.records = 1;
    EXPECT_THROW(cleave::plan("/no/such/file", policy), std::system_error);
    PlanOptions options;
    options.execution.block_size = 0;
    EXPECT_THROW(cleave::plan("/no/such/file", policy, options), std::invalid_argument);
    options = {};
    options.dialect.dialect.quote = '\n';
    EXPECT_THROW(cleave::plan("/no/such/file", policy, options), std::invalid_argument);
}

TEST(PlanFile, AnOpenQuoteIsAnErrorUnlessItIsAccepted) {
    const TemporaryDirectory directory;
    const std::string text = "a,b\n1,\"x\n2,y\n";
    const std::string path = directory.write("in.csv", text);
    PlanOptions options;
    options.allow_open_quote = true;
    for (const Policy& policy : policies()) {
        SCOPED_TRACE(describe(policy));
        EXPECT_THROW(cleave::plan(path, policy), OpenQuoteError);
        EXPECT_EQ(cleave::plan(path, policy, options).findings.open_quote, (Place{6, 1}));
        const Pipe refused(text, {4096});
        EXPECT_THROW(cleave::plan(refused.path(), policy), OpenQuoteError);
        const Pipe accepted(text, {4096});
        EXPECT_EQ(cleave::plan(accepted.path(), policy, options).findings.open_quote, (Place{6, 1}));
    }
}

TEST(PlanFile, RefusesWhatIsNotCsv) {
    const TemporaryDirectory directory;
    const std::string text(
        "\xFF\xFE"
        "a\0,\0b\0\n\0",
        10);
    const std::string path = directory.write("in.csv", text);
    const std::string packed = directory.write("in.csv.gz", gzipped(text));
    for (const Policy& policy : policies()) {
        EXPECT_THROW(cleave::plan(path, policy), InputError);
        EXPECT_THROW(cleave::plan(packed, policy), InputError);
    }
}

TEST(Version, TheStringIsMadeOfTheNumbers) {
    const std::string numbers = std::to_string(CLEAVE_VERSION_MAJOR) + '.' + std::to_string(CLEAVE_VERSION_MINOR) +
                                '.' + std::to_string(CLEAVE_VERSION_PATCH);
    EXPECT_EQ(numbers, CLEAVE_VERSION);
}

// Runs `call`, which must refuse a number of pieces with a message that contains `part`.
template <class Call>
void expect_refused(const std::string& part, const Call& call) {
    try {
        call();
        ADD_FAILURE() << "accepted; expected a message with: " << part;
    } catch (const PieceCountError& error) {
        EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
}

TEST(PieceCount, FollowsWhatTheInputCanHold) {
    const std::string text = "a,b\n1,2\n3,4\n";
    const RecordIndex index(bytes_of(text), Dialect(), Execution());
    Policy policy;
    std::uint64_t made = 0;
    const auto count = [&](const Piece&) { ++made; };
    for (const Balance balance : {Balance::kBytes, Balance::kRecords}) {
        policy.balance = balance;
        policy.pieces = kMostSparePieces;
        EXPECT_NO_THROW(plan_pieces(index, policy, count));
        EXPECT_EQ(std::exchange(made, 0), kMostSparePieces);
        for (const std::uint64_t pieces : {kMostSparePieces + 1, std::uint64_t{1'000'000'000}, UINT64_MAX}) {
            policy.pieces = pieces;
            expect_refused(" pieces are too many for 2 records; the most is 65536",
                           [&] { plan_pieces(index, policy, count); });
            EXPECT_EQ(made, 0U);
            const RangeSummary whole = summarise_range(bytes_of(text), 0, Dialect(), Execution());
            expect_refused("too many for 2 records",
                           [&] { (void)plan_ranges(std::span(&whole, 1), text.size(), policy); });
        }
        EXPECT_NO_THROW((void)plan_piece(index, policy, UINT64_MAX));  // a single piece does not need a list
    }
    policy = Policy();
    policy.by.emplace().columns = {"a", "test"};
    policy.by->buckets = 1'000'000'000;
    expect_refused("1000000000 buckets are too many for 2 records", [&] { PiecesByValue(index, policy); });
    std::string many = "a\n";
    for (unsigned i = 0; i <= kMostSparePieces; ++i) many += "1\n";
    policy = Policy();
    policy.pieces = kMostSparePieces + 1;
    EXPECT_NO_THROW(plan_pieces(RecordIndex(bytes_of(many), Dialect(), Execution()), policy, count));
    EXPECT_EQ(made, kMostSparePieces + 1);
}

TEST(PlanFile, NoticesThatTheFileHasChanged) {
    const TemporaryDirectory directory;
    const std::string path = directory.write("in.csv", "a,b\n1,2\n");
    Input input = Input::open(path);
    std::ofstream(path, std::ios::app) << "3,4\n";
    Policy policy;
    policy.pieces = 2;
    EXPECT_THROW(cleave::plan(input, policy), InputChangedError);
}

}  // namespace cleave::test::plan_file_test
