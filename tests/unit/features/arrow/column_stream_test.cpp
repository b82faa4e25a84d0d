// Compares streams of columns from files, mappings, memory and pipes with the reference for fields.
#include "cleave/experimental/column_stream.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <deque>
#include <fstream>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cleave/error.h"
#include "field_reference.h"
#include "inputs.h"
#include "packed.h"
#include "pipe_input.h"
#include "reference.h"
#include "temporary_directory.h"

namespace cleave::test::column_stream_test {

using Row = std::vector<std::optional<std::string>>;
using Rows = std::vector<Row>;

Rows reference_rows(const std::string& text, const std::vector<std::size_t>& columns) {
    Rows rows;
    const FieldReading reading = read_fields(text, Dialect());
    for (const ReferenceRecord& record : reading.records) {
        Row& row = rows.emplace_back();
        for (const std::size_t number : columns) {
            row.emplace_back(value_of(field_of(text, record, number), Dialect()));
        }
    }
    rows.erase(rows.begin());
    return rows;
}

void append_rows(const ArrowArray& array, Rows& rows) {
    for (std::int64_t r = 0; r < array.length; ++r) {
        Row& row = rows.emplace_back();
        for (std::int64_t c = 0; c < array.n_children; ++c) {
            const ArrowArray& child = *array.children[c];
            const auto* const validity = static_cast<const std::uint8_t*>(child.buffers[0]);
            const auto* const offsets = static_cast<const std::int32_t*>(child.buffers[1]);
            const auto* const values = static_cast<const char*>(child.buffers[2]);
            if (validity != nullptr && (validity[r / 8] >> (r % 8) & 1) == 0) {
                row.emplace_back();
            } else {
                row.emplace_back(std::string(values + offsets[r], values + offsets[r + 1]));
            }
        }
    }
}

// The rows of the remaining batches, and how many batches there were.
Rows rows_of(ColumnStream& stream, std::size_t* batches = nullptr) {
    Rows rows;
    for (ArrowArray array; stream.next(&array); array.release(&array)) {
        if (batches != nullptr) ++*batches;
        EXPECT_GT(array.length, 0);
        append_rows(array, rows);
    }
    return rows;
}

std::string sample(std::size_t records) {
    std::string text = "id,name,\"a note\",last\n";
    for (std::size_t i = 0; i < records; ++i) {
        text += std::to_string(i) + R"(,"Smith, "")" + std::to_string(i % 7) + R"(""",)" +
                (i % 3 == 0   ? "\"two\nlines\""
                 : i % 3 == 1 ? ""
                              : "plain") +
                ",x" + std::to_string(i * i) + '\n';
    }
    return text;
}

Execution by(unsigned threads) {
    Execution execution;
    execution.threads = threads;
    return execution;
}

std::shared_ptr<Input> memory(const std::string& text) {
    return std::make_shared<Input>(Input::of_memory(bytes_of(text), "memory"));
}

TEST(ColumnStream, HasTheValuesOfAllRecordsInOrder) {
    const std::string text = sample(600);
    const TemporaryDirectory directory;
    const std::string path = directory.write("in.csv", text);
    const std::vector<std::size_t> columns{3, 1, 2};
    const Rows expected = reference_rows(text, columns);
    for (const unsigned threads : {1U, 2U, 5U}) {
        for (const std::size_t page : {1U, 100U, 4096U, 1U << 20}) {
            ColumnStreamOptions options;
            options.columns = columns;
            options.page_size = page;
            const auto check = [&](std::shared_ptr<Input> input) {
                ColumnStream stream(std::move(input), Dialect(), options, by(threads));
                EXPECT_EQ(stream.names(), (std::vector<std::string>{"last", "name", "a note"}));
                std::size_t batches = 0;
                EXPECT_EQ(rows_of(stream, &batches), expected);
                EXPECT_GE(batches, text.size() / (page + 200));
                ArrowArray array;
                EXPECT_FALSE(stream.next(&array));
            };
            check(memory(text));
            check(std::make_shared<Input>(Input::open(path)));
            check(std::make_shared<Input>(Input::open(path, nullptr, Access::kRead)));
        }
    }
    const Pipe pipe(text, {4096});
    ColumnStreamOptions options;
    options.columns = columns;
    ColumnStream stream(std::make_shared<Input>(Input::open(pipe.path())), Dialect(), options, by(2));
    EXPECT_EQ(rows_of(stream), expected);
}

// How many rows the stream has, whose batches must have no columns.
std::uint64_t bare_rows_of(ColumnStream stream) {
    EXPECT_TRUE(stream.names().empty());
    std::uint64_t rows = 0;
    ArrowArray array{};
    while (stream.next(&array)) {
        EXPECT_EQ(array.n_children, 0);
        EXPECT_GT(array.length, 0);
        rows += static_cast<std::uint64_t>(array.length);
        array.release(&array);
    }
    return rows;
}

TEST(ColumnStream, CanDeliverNoColumns) {
    ColumnStreamOptions options;
    options.columns.emplace();
    options.page_size = 100;
    const std::string text = sample(500);
    options.rules.is_delimiter_given = options.rules.is_header_given = true;
    for (const bool has_rules : {false, true}) {
        if (has_rules) options.rules.rules.push_back({"#1: fixed(gone)", "test"});
        const auto rows = [&](const std::string& input) {
            return bare_rows_of(ColumnStream(memory(input), Dialect(), options, by(2)));
        };
        EXPECT_EQ(rows(text), 500U);
        EXPECT_EQ(rows(text.substr(0, text.size() - 1)), 500U);
        EXPECT_EQ(rows(""), 0U);
        EXPECT_EQ(rows("a,b\n"), 0U);
        EXPECT_EQ(rows("a,b\n1,2"), 1U);
        EXPECT_EQ(rows("a,b\n\n1,2\n\n"), 3U);
        EXPECT_EQ(rows("a\n\n1\n\n"), 3U);
        EXPECT_THROW(rows("a,b\n1,2\n3\n"), InputError);
    }
}

TEST(ColumnStream, ReadsARange) {
    const std::string text = sample(500);
    const std::string rest = text.substr(text.find("\n250,") + 1);
    ColumnStreamOptions options;
    options.columns = std::vector<std::size_t>{0};
    const std::uint64_t begin = text.size() - rest.size();
    const std::uint64_t size = rest.find("\n260,") + 1;
    options.range = RecordRange{{begin, 251}, size};
    ColumnStream stream(memory(text), Dialect(), options, by(2));
    const Rows rows = rows_of(stream);
    ASSERT_EQ(rows.size(), 10);
    EXPECT_EQ(rows.front().front(), "250");
    EXPECT_EQ(rows.back().front(), "259");
    options.range->size = rest.size() + 1;
    EXPECT_THROW(ColumnStream(memory(text), Dialect(), options, by(2)), std::invalid_argument);
    options.range = RecordRange{{0, 0}, 4};
    EXPECT_THROW(ColumnStream(memory(text), Dialect(), options, by(2)), std::invalid_argument);
}

TEST(ColumnStream, AppliesRules) {
    const std::string text = "id,mail,price\n1,ada@example.org,\"3,10\"\n2,,5\n";
    ColumnStreamOptions options;
    options.columns = std::vector<std::size_t>{2, 1};
    options.rules.rules.push_back({"#2: fixed(gone)", "test"});
    EXPECT_THROW(ColumnStream(memory(text), Dialect(), options, by(2)),
                 RuleError);  // a column number, but the delimiter and header were guessed
    options.rules.is_delimiter_given = true;
    EXPECT_THROW(ColumnStream(memory(text), Dialect(), options, by(2)), RuleError);  // the header was still a guess
    options.rules.is_delimiter_given = false;
    options.rules.is_header_given = true;
    EXPECT_THROW(ColumnStream(memory(text), Dialect(), options, by(2)), RuleError);
    options.rules.is_delimiter_given = true;
    ColumnStream stream(memory(text), Dialect(), options, by(2));
    EXPECT_EQ(stream.names(), (std::vector<std::string>{"price", "mail"}));
    EXPECT_EQ(rows_of(stream), (Rows{{"3,10", "gone"}, {"5", ""}}));
    options.rules.rules.back().text = "#9: null";
    EXPECT_THROW(ColumnStream(memory(text), Dialect(), options, by(2)), RuleError);
    options.rules.rules = {{"#2: keep", "test"}, {"#2: suppress(k=2)", "test"}};
    EXPECT_THROW(ColumnStream(memory(text), Dialect(), options, by(2)), RuleError);
}

// A first record with two readings leaves the number of columns open, so it is refused at the start, even if it is not
// among the records to be read.
TEST(ColumnStream, UnderRulesTheFirstRecordIsInNoDoubt) {
    const std::string text = "\"a\\\",b\",c\n1,2\n";
    ColumnStreamOptions options;
    options.has_header = false;
    options.rules.rules.push_back({"#2: fixed(gone)", "test"});
    options.rules.is_delimiter_given = options.rules.is_header_given = true;
    options.range = RecordRange{{text.find('1'), 1}, 4};
    EXPECT_THROW(ColumnStream(memory(text), Dialect(), options, by(2)), InputError);
    Dialect dialect;
    dialect.escape = '\\';
    options.rules.is_escape_given = true;
    ColumnStream stream(memory(text), dialect, options, by(2));
    EXPECT_EQ(rows_of(stream), (Rows{{"1", "gone"}}));
}

// A batch is compared with the input in 1 MiB parts.
TEST(ColumnStream, AppliesRulesToLargeBatches) {
    const std::string record = "1,ada@example.org\n";
    const std::size_t records = 3'500'000 / record.size();
    std::string text = "id,mail\n";
    for (std::size_t i = 0; i < records; ++i) text += record;
    ColumnStreamOptions options;
    options.page_size = std::size_t{4} << 20;
    options.rules.rules.push_back({"mail: fixed(gone)", "test"});
    ColumnStream stream(memory(text), Dialect(), options, by(2));
    EXPECT_TRUE(rows_of(stream) == Rows(records, {"1", "gone"}));
}

// The fault is in the first block of a page, or in the second one.
TEST(ColumnStream, UnderRulesAFaultIsPlacedInTheInput) {
    for (const std::size_t records : {3U, 30'000U}) {
        std::string text = "id,mail,note\n";
        for (std::size_t i = 0; i < records; ++i) text += std::to_string(i) + ",a@example.org,x\n";
        const Place place{text.size(), records + 1};
        text += "7,b@example.org,\xFF\n8,,\n";
        ColumnStreamOptions options;
        options.rules.rules.push_back({"mail: fixed(gone)", "test"});
        ColumnStream stream(memory(text), Dialect(), options, by(2));
        ArrowArray array;
        try {
            for (; stream.next(&array); array.release(&array)) {
            }
            FAIL();
        } catch (const InputError& error) {
            EXPECT_STREQ(error.what(), "field 3 is not UTF-8");
            EXPECT_EQ(error.place(), place);
        }
    }
}

TEST(ColumnStream, AFaultComesAfterTheRecordsBeforeIt) {
    std::string text = sample(1000);
    const std::size_t place = text.size();
    text += "1,2\n";
    text += sample(1000).substr(22);
    ColumnStreamOptions options;
    options.page_size = 1000;
    ColumnStream stream(memory(text), Dialect(), options, by(3));
    ArrowArray array;
    std::int64_t rows = 0;
    try {
        for (; stream.next(&array); array.release(&array)) rows += array.length;
        FAIL();
    } catch (const InputError& error) {
        ASSERT_TRUE(error.place());
        EXPECT_GE(error.place()->offset, place);
        EXPECT_LT(error.place()->offset, place + 4);
        EXPECT_EQ(error.place()->record, 1001);
    }
    EXPECT_GT(rows, 900);
    EXPECT_LE(rows, 1000);
    EXPECT_FALSE(stream.next(&array));

    options.layout.missing_is_null = true;
    ColumnStream lenient(memory(text), Dialect(), options, by(3));
    const Rows all = rows_of(lenient);
    ASSERT_EQ(all.size(), 2001);
    EXPECT_EQ(all[1000], (Row{"1", "2", std::nullopt, std::nullopt}));
}

TEST(ColumnStream, AFaultOfAFileThatHasChangedIsTheChange) {
    const TemporaryDirectory directory;
    const std::string text = sample(5000);
    const std::string path = directory.write("in.csv", text);
    ColumnStreamOptions options;
    options.page_size = 1000;
    ColumnStream stream(std::make_shared<Input>(Input::open(path)), Dialect(), options, by(1));
    ArrowArray array;
    ASSERT_TRUE(stream.next(&array));
    array.release(&array);
    std::fstream file(path);
    file.seekp(static_cast<std::streamoff>(text.size() - 500));
    file << "\n1,2\n" << std::string(1000, '\n') << std::flush;
    const auto read_on = [&] {
        while (stream.next(&array)) array.release(&array);
    };
    EXPECT_THROW(read_on(), InputChangedError);
}

// The bytes of the file are read only once, so only its version can reveal the change.
TEST(ColumnStream, ACompressedFileThatHasChangedIsAnErrorAtTheEnd) {
    const TemporaryDirectory directory;
    const std::string path = directory.write("in.csv.gz", gzipped(sample(5000)));
    ColumnStreamOptions options;
    options.page_size = 1000;
    for (const bool changes : {false, true}) {
        ColumnStream stream(std::make_shared<Input>(Input::open(path)), Dialect(), options, by(1));
        ArrowArray array;
        ASSERT_TRUE(stream.next(&array));
        array.release(&array);
        if (changes) std::ofstream(path, std::ios::app) << std::string(10, '\0');  // gzip takes these for padding
        const auto read_on = [&] {
            while (stream.next(&array)) array.release(&array);
        };
        if (changes) {
            EXPECT_THROW(read_on(), InputChangedError);
        } else {
            EXPECT_NO_THROW(read_on());
        }
    }
}

TEST(ColumnStream, AnOpenQuoteIsAnErrorUnlessItIsAccepted) {
    const std::string text = "a,b\n1,2\n3,\"4\n5,6\n";
    ColumnStreamOptions options;
    ColumnStream stream(memory(text), Dialect(), options, by(2));
    ArrowArray array;
    try {
        for (; stream.next(&array); array.release(&array)) {
        }
        FAIL();
    } catch (const OpenQuoteError& error) {
        EXPECT_EQ(error.place(), (Place{10, 2}));
    }
    options.allow_open_quote = true;
    ColumnStream lenient(memory(text), Dialect(), options, by(2));
    EXPECT_EQ(rows_of(lenient).size(), 2);
}

// What a stream returns, up to its error if there is one.
struct Outcome {
    Rows rows;
    std::string error;
    std::optional<Place> place;
};

Outcome outcome_of(std::shared_ptr<Input> input, const Dialect& dialect, const ColumnStreamOptions& options,
                   unsigned threads) {
    Outcome outcome;
    ColumnStream stream(std::move(input), dialect, options, by(threads));
    try {
        for (ArrowArray array; stream.next(&array); array.release(&array)) append_rows(array, outcome.rows);
    } catch (const InputError& error) {
        outcome.error = error.what();
        outcome.place = error.place();
    }
    return outcome;
}

// Text that looks like records inside quotes, where every guess is wrong, mixed with ordinary records.
std::string random_nested(Random& random, const Dialect& dialect, std::size_t size) {
    std::string text;
    while (text.size() < size) {
        if (dialect.quote && random.chance(30)) {
            const char quote = static_cast<char>(*dialect.quote);
            text += quote;
            for (std::size_t i = random.below(20); i > 0; --i) text += random.one_of("ab,") + std::string("x,y\r\n");
            text += quote;
        }
        text += "a,b" + std::string(random.below(9), 'c');
        text += dialect.terminator == Terminator::kCr ? "\r" : random.chance(50) ? "\r\n" : "\n";
        if (dialect.terminator == Terminator::kAny && random.chance(30)) text += '\r';
    }
    if (random.chance(20)) text.resize(size);
    return text;
}

// A single page with the whole input has the same records as the reference, and so do pages of any size.
TEST(ColumnStream, IsTheSameWhateverThePages) {
    const TemporaryDirectory directory;
    for (std::uint64_t seed = 0; seed < rounds(12); ++seed) {
        Random random(seed);
        for (const Dialect& dialect : every_dialect_and_rule()) {
            const std::size_t size = 1 + random.below(1500);
            const std::string text =
                random.chance(50) ? random_nested(random, dialect, size) : random_text(random, dialect, size);
            ColumnStreamOptions options;
            options.has_header = false;
            options.is_text = false;
            options.layout.missing_is_null = random.chance(80);
            options.allow_open_quote = random.chance(50);
            options.columns = std::vector<std::size_t>{0};
            options.page_size = 1 << 20;
            SCOPED_TRACE(testing::Message() << "seed " << seed << "; " << describe(dialect) << "; " << shown(text));
            const Reading reading = read_by_rules(text, dialect);
            const Outcome whole = outcome_of(memory(text), dialect, options, 1);
            if (whole.error.empty()) {
                ASSERT_EQ(whole.rows.size(), reading.starts.size());
            } else if (!options.layout.missing_is_null) {
                ASSERT_TRUE(whole.place);
            } else {
                ASSERT_EQ(whole.place, reading.open_quote()) << whole.error;
            }
            const std::string path = directory.write("in.csv", text);
            for (const std::size_t page : {1 + random.below(4), 5 + random.below(60), 60 + random.below(600)}) {
                options.page_size = page;
                const auto threads = static_cast<unsigned>(1 + random.below(3));
                for (const auto& input :
                     {memory(text), std::make_shared<Input>(Input::open(path, nullptr, Access::kRead))}) {
                    const Outcome paged = outcome_of(input, dialect, options, threads);
                    ASSERT_EQ(paged.error, whole.error) << page;
                    ASSERT_EQ(paged.place, whole.place) << page << ' ' << whole.error;
                    if (whole.error.empty()) {
                        ASSERT_EQ(paged.rows, whole.rows) << page;
                    } else {
                        ASSERT_LE(paged.rows.size(), whole.place->record + 1);
                    }
                }
            }
        }
    }
}

TEST(ColumnStream, MayBeLeftAtAnyTime) {
    const std::string text = sample(5000);
    ColumnStreamOptions options;
    options.page_size = 100;
    for (int batches = 0; batches < 50; ++batches) {
        ColumnStream stream(memory(text), Dialect(), options, by(3));
        ArrowArray array;
        for (int i = 0; i < batches; ++i) {
            ASSERT_TRUE(stream.next(&array));
            array.release(&array);
        }
    }
}

// A consumer keeps every third batch, some of them beyond the stream's life, while the memory of the other batches is
// reused.
TEST(ColumnStream, BatchesThatAreKeptStayAsTheyAre) {
    const std::string text = sample(900);
    const Rows expected = reference_rows(text, {3, 1});
    ColumnStreamOptions options;
    options.columns = std::vector<std::size_t>{3, 1};
    options.page_size = 300;
    std::vector<ArrowArray> kept;
    std::vector<std::size_t> first_rows;
    {
        ColumnStream stream(memory(text), Dialect(), options, by(3));
        std::size_t row = 0;
        std::size_t number = 0;
        for (ArrowArray array; stream.next(&array); ++number) {
            if (number % 3 == 0) {
                first_rows.push_back(row);
                kept.push_back(array);
            }
            row += static_cast<std::size_t>(array.length);
            if (number % 3 != 0) array.release(&array);
        }
    }
    ASSERT_GT(kept.size(), 20U);
    for (std::size_t i = 0; i < kept.size(); ++i) {
        Rows rows;
        append_rows(kept[i], rows);
        const auto begin = expected.begin() + static_cast<std::ptrdiff_t>(first_rows[i]);
        EXPECT_EQ(rows, Rows(begin, begin + static_cast<std::ptrdiff_t>(rows.size()))) << "batch kept as " << i;
        kept[i].release(&kept[i]);
    }
}

TEST(ColumnStream, OverAStreamStandsAlone) {
    const std::string text = sample(100);
    const Pipe pipe(text, {4096});
    const auto input = std::make_shared<Input>(Input::open(pipe.path()));
    std::optional<ColumnStream> first(std::in_place, input, Dialect(), ColumnStreamOptions(), by(2));
    EXPECT_THROW(ColumnStream(input, Dialect(), {}, by(2)), std::invalid_argument);
    first.reset();
    ColumnStreamOptions wrong;
    wrong.columns = std::vector<std::size_t>{99};
    EXPECT_THROW(ColumnStream(input, Dialect(), wrong, by(2)), std::invalid_argument);
    ColumnStream second(input, Dialect(), {}, by(2));
    EXPECT_EQ(rows_of(second), reference_rows(text, {0, 1, 2, 3}));
    EXPECT_THROW(ColumnStream(input, Dialect(), {}, by(2)), std::invalid_argument);

    const std::shared_ptr<Input> blob = memory(text);
    ColumnStream one(blob, Dialect(), {}, by(2));
    ColumnStream other(blob, Dialect(), {}, by(2));
    EXPECT_EQ(rows_of(one), rows_of(other));
}

TEST(ColumnStream, UsesTheMemoryOfReleasedBatchesAgain) {
    const auto requests_for = [](std::size_t records) {
        const std::string text = sample(records);
        ColumnStreamOptions options;
        options.page_size = 4096;
        options.layout.memory = MemoryManager::open("pool:1M");
        ColumnStream stream(memory(text), Dialect(), options, by(2));
        rows_of(stream);
        return options.layout.memory->pool_statistics().value().requests;
    };
    // At most the batches that are in progress or waiting, each with 4 columns of 3 buffers, which grow a few times.
    EXPECT_LT(requests_for(20'000), 9 * 4 * 3 * 6);
    EXPECT_GT(requests_for(10), 0);
}

// The columns take turns holding nearly all the bytes of a page, so memory kept for one column is of no use to the
// next.
TEST(ColumnStream, MemoryIsBoundedWhereColumnsTakeTurns) {
    constexpr std::size_t kColumns = 32;
    constexpr std::size_t kPage = std::size_t{256} << 10;
    std::string text;
    for (std::size_t i = 0; i < 4 * kColumns; ++i) {
        for (int r = 0; r < 4; ++r) {
            text += std::string(i % kColumns, ',') + std::string(kPage / 4, 'x') +
                    std::string(kColumns - 1 - i % kColumns, ',') + '\n';
        }
    }
    ColumnStreamOptions options;
    options.has_header = false;
    options.page_size = kPage;
    options.layout.memory = MemoryManager::open("pool:1M");
    ColumnStream stream(memory(text), Dialect(), options, by(2));
    for (ArrowArray array; stream.next(&array);) array.release(&array);
    const PoolStatistics statistics = options.layout.memory->pool_statistics().value();
    // Each of the two threads has two pages in progress and two waiting, and the consumer has one.
    EXPECT_LT(statistics.peak_size, std::size_t{9} * 5 * kPage);
    EXPECT_EQ(statistics.used_size, 0) << "at the end";
}

TEST(ColumnStream, AnotherThreadMayRelease) {
    const std::string text = sample(20'000);
    const Rows expected = reference_rows(text, {0, 1, 2, 3});
    std::mutex mutex;
    std::condition_variable_any changed;
    std::deque<ArrowArray> handed;
    Rows rows;
    std::jthread consumer([&](const std::stop_token& stop) {
        for (;;) {
            std::unique_lock lock(mutex);
            if (!changed.wait(lock, stop, [&] { return !handed.empty(); })) return;
            ArrowArray array = handed.front();
            handed.pop_front();
            lock.unlock();
            append_rows(array, rows);
            array.release(&array);
        }
    });
    {
        ColumnStreamOptions options;
        options.page_size = 4096;
        ColumnStream stream(memory(text), Dialect(), options, by(3));
        for (ArrowArray array; stream.next(&array); changed.notify_one()) {
            const std::scoped_lock lock(mutex);
            handed.push_back(array);
        }
    }
    consumer.request_stop();
    consumer.join();
    EXPECT_EQ(rows, expected);
}

TEST(ColumnStream, HasNoColumnsWithoutARecord) {
    ColumnStream stream(memory(""), Dialect(), {}, by(2));
    ArrowArray array;
    EXPECT_TRUE(stream.names().empty());
    EXPECT_FALSE(stream.next(&array));
}

// The names are about as long as the first read.
TEST(ColumnStream, HasTheNamesThatTheHeadTells) {
    const TemporaryDirectory directory;
    const std::size_t sizes[] = {1, 4085, 4086, 4087, 4088, 4089, 4090, 4091, 8184, 70'000};
    for (const std::size_t size : sizes) {
        const std::string name = std::string(size, 'x') + "\n";
        for (const char* start : {"", "\n", "\xEF\xBB\xBF"}) {
            for (const std::string end : {"", "\n", "\n1,2\n", "\r\n1,2\r\n"}) {
                const std::string text = start + ('"' + name) + "\",b\xFF" + end;
                const std::vector<std::string> names{name, "b\xEF\xBF\xBD"};
                const std::string path = directory.write("in.csv", text);
                const Pipe pipe(text, {4096});
                for (const std::shared_ptr<Input>& input :
                     {memory(text), std::make_shared<Input>(Input::open(path, nullptr, Access::kRead)),
                      std::make_shared<Input>(Input::open(pipe.path()))}) {
                    EXPECT_EQ(column_names(*input, Dialect(), true), names) << size;
                    EXPECT_EQ(column_names(*input, Dialect(), false),
                              (std::vector<std::string>{"column_1", "column_2"}));
                    EXPECT_EQ(ColumnStream(input, Dialect(), {}, by(1)).names(), names);
                }
            }
        }
    }
    EXPECT_TRUE(column_names(*memory(""), Dialect(), true).empty());
    Dialect faulty;
    faulty.delimiter = '"';
    EXPECT_THROW(column_names(*memory("a\n"), faulty, true), std::invalid_argument);
    EXPECT_THROW(column_names(*memory(std::string("PK\3\4", 4)), Dialect(), true), InputError);
    const std::string text = sample(10);
    const Pipe pipe(text, {4096});
    const auto input = std::make_shared<Input>(Input::open(pipe.path()));
    ColumnStream stream(input, Dialect(), {}, by(1));
    EXPECT_THROW(column_names(*input, Dialect(), true), std::invalid_argument);
    EXPECT_EQ(rows_of(stream).size(), 10U);
}

TEST(ColumnStream, RefusesBadArguments) {
    const auto refused = [](auto change) {
        ColumnStreamOptions options;
        change(options);
        EXPECT_THROW(ColumnStream(memory("a,b\n1,2\n"), Dialect(), options, by(1)), std::invalid_argument);
    };
    refused([](auto& options) { options.columns = std::vector<std::size_t>{2}; });
    refused([](auto& options) { options.columns = std::vector<std::size_t>{1, 1}; });
    refused([](auto& options) { options.page_size = 0; });
    refused([](auto& options) { options.page_size = kMaxBlockSize + 1; });
    refused([](auto& options) { options.rules.select = RuleText{"a", "test"}; });
    EXPECT_THROW(ColumnStream(nullptr, Dialect(), {}, by(1)), std::invalid_argument);
}

TEST(ColumnStream, LeavesAnInputAsItWas) {
    const std::string text = "a,b\n1,2\n";
    const Cancellation own;
    for (const bool is_refused : {true, false}) {
        const Pipe pipe(text, {4096});
        const auto input = std::make_shared<Input>(Input::open(pipe.path(), &own));
        ColumnStreamOptions options;
        if (is_refused) {
            options.columns = std::vector<std::size_t>{2};
            EXPECT_THROW(ColumnStream(input, Dialect(), options, by(1)), std::invalid_argument);
        } else {
            const ColumnStream stream(input, Dialect(), options, by(1));
            EXPECT_NE(input->cancellation(), &own);
        }
        EXPECT_EQ(input->cancellation(), &own);
        input->spool();
        EXPECT_EQ(input->blob().size(), text.size());
    }
}

TEST(ExportedStream, HandsOnBatchesAndErrors) {
    const std::string text = "a,b\n1,2\n3,4\n5\n";
    ColumnStreamOptions options;
    options.page_size = 1;
    ArrowArrayStream out;
    export_stream(ColumnStream(memory(text), Dialect(), options, by(2)), &out);
    ArrowSchema schema;
    ASSERT_EQ(out.get_schema(&out, &schema), 0);
    ASSERT_EQ(schema.n_children, 2);
    EXPECT_STREQ(schema.children[1]->name, "b");
    EXPECT_STREQ(schema.children[1]->format, "u");
    schema.release(&schema);
    ArrowArray array;
    for (int i = 0; i < 2; ++i) {
        ASSERT_EQ(out.get_next(&out, &array), 0);
        EXPECT_EQ(array.length, 1);
        array.release(&array);
    }
    EXPECT_EQ(out.get_next(&out, &array), EINVAL);
    EXPECT_NE(std::string(out.get_last_error(&out)).find("record 3)"), std::string::npos) << out.get_last_error(&out);
    out.release(&out);
    EXPECT_EQ(out.release, nullptr);
}

}  // namespace cleave::test::column_stream_test
