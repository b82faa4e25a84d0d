// Compares columns of blocks, on every kernel, with the reference for fields and with a decoder written for this test.
#include "cleave/experimental/columns.h"

#include <gtest/gtest.h>

#include <sys/mman.h>
#include <algorithm>

#include <cstring>

#include "cleave/experimental/arrow.h"
#include "field_reference.h"
#include "inputs.h"
#include "kernels_under_test.h"
#include "pipe_input.h"
#include "rows/records/exact_batches.h"
#include "temporary_directory.h"

namespace cleave::test::columns_test {

// nullopt is null.
using Values = std::vector<std::optional<std::string>>;

void append(Values& values, const StringColumn& column, const RecordBlock& block) {
    ASSERT_EQ(column.count(), block.record_count());
    std::size_t nulls = 0;
    for (std::size_t r = 0; r < column.count(); ++r) {
        const auto value = column.value(r);
        values.push_back(value ? std::optional(std::string(*value)) : std::nullopt);
        if (!value) ++nulls;
    }
    ASSERT_EQ(column.null_count(), nulls);
    ASSERT_EQ(column.validity().size(), nulls == 0 ? 0 : (column.count() + 7) / 8);
}

std::size_t most_fields(const std::vector<ReferenceRecord>& records) {
    std::size_t most = 1;
    for (const ReferenceRecord& record : records) most = std::max(most, record.ends.size());
    return most;
}

std::vector<ColumnOptions> every_option() {
    std::vector<ColumnOptions> all;
    for (const bool empty_is_null : {false, true}) all.push_back({empty_is_null, true});
    return all;
}

class ColumnsTest : public testing::TestWithParam<const Kernel*> {
protected:
    const Kernel& kernel() const { return *GetParam(); }

    // Reads runs of about `size` bytes each, and compares all of their columns and one column beyond the last.
    void expect_as_reference(std::string_view text, const Dialect& dialect, std::size_t size,
                             const ColumnOptions& options) const {
        const FieldReading wanted = read_fields(text, dialect);
        if (wanted.fault) return;
        const std::size_t fields = most_fields(wanted.records) == 1 ? 1 : 0;
        const std::size_t columns = fields == 1 ? 1 : most_fields(wanted.records) + 1;
        FieldReader fields_of(dialect, kernel(), cleave::Reading::kUnambiguous, 0);
        const ColumnReader reader(dialect, fields, options);
        std::vector<Values> found(columns);
        StringColumn column;
        for (std::size_t begin = 0, r = 0; begin < text.size();) {
            while (r < wanted.records.size() && wanted.records[r].begin < begin + size) ++r;
            const std::size_t end = r < wanted.records.size() ? wanted.records[r].begin : text.size();
            const RecordBlock block = fields_of.read(bytes_of(text.substr(begin, end - begin)), {begin, 0}, true);
            ASSERT_EQ(block.bytes.size(), end - begin);
            for (std::size_t i = 0; i < columns; ++i) {
                reader.read(block, i, column);
                append(found[i], column, block);
            }
            begin = end;
        }
        for (std::size_t i = 0; i < columns; ++i) {
            ASSERT_EQ(found[i], read_column(text, wanted.records, dialect, i, options.empty_is_null))
                << describe(dialect) << ", column " << i << ", runs of " << size << ": " << shown(text);
        }
    }
};

INSTANTIATE_TEST_SUITE_P(, ColumnsTest, testing::ValuesIn(kernels_under_test()),
                         [](const auto& parameter) { return unique_name(parameter.param); });

TEST_P(ColumnsTest, AreThoseOfTheReferenceHoweverTheRecordsAreCut) {
    const std::vector<ColumnOptions> options = every_option();
    for (std::uint64_t seed = 0; seed < rounds(40); ++seed) {
        Random random(seed);
        for (const Dialect& dialect : every_dialect_and_rule()) {
            SCOPED_TRACE(testing::Message() << "seed " << seed);
            const std::string text = random.chance(30) ? random_text(random, dialect, random.below(60))
                                                       : random_csv(random, dialect, random.below(400), 0);
            for (const std::size_t size : {std::size_t{1}, 2 + random.below(60), std::size_t{1000}}) {
                expect_as_reference(text, dialect, size, options[random.below(options.size())]);
                if (HasFatalFailure()) return;
            }
        }
    }
}

// Values of every length around the size that is copied at once, in all fields, with every kind of line end.
TEST_P(ColumnsTest, OfShortAndLongValuesAreWhole) {
    for (const char* line_end : {"\n", "\r\n"}) {
        std::string text;
        for (std::size_t size = 0; size < 140; ++size) {
            const std::string value(size, static_cast<char>('a' + size % 26));
            text += value + ',' + (size % 5 == 0 ? '"' + value + R"(""")" : value) + ',' + value + line_end;
            if (size % 50 == 49) text += line_end;
        }
        for (const ColumnOptions& options : every_option()) {
            for (const std::size_t size : {std::size_t{1}, std::size_t{700}, text.size()}) {
                expect_as_reference(text, Dialect(), size, options);
                if (HasFatalFailure()) return;
            }
        }
    }
}

// A CR without an LF after it is data, even if the value is as long as the size that is copied at once.
TEST_P(ColumnsTest, ALastReturnIsData) {
    for (std::size_t size = 60; size < 70; ++size) {
        const std::string value = std::string(size - 1, 'x') + '\r';
        const std::string text = "a,b\na," + value;
        FieldReader fields(Dialect(), kernel(), cleave::Reading::kByDialect, 2);
        const RecordBlock block = fields.read(bytes_of(text), {}, true);
        StringColumn column;
        ColumnReader(Dialect(), 2, {}).read(block, 1, column);
        EXPECT_EQ(column.value(1), value);
    }
}

// Reads the columns through the batches that stages use.
TEST_P(ColumnsTest, AreTheSameOfFilesAndOfStreams) {
    const TemporaryDirectory directory;
    for (std::uint64_t seed = 0; seed < rounds(4); ++seed) {
        Random random(seed);
        for (const Dialect& dialect : every_dialect_and_rule()) {
            const std::string text = random_csv(random, dialect, 300 + random.below(300), 0);
            const FieldReading wanted = read_fields(text, dialect);
            if (wanted.fault || bom_size(bytes_of(text)) != 0) continue;
            const Values column = read_column(text, wanted.records, dialect, 0, false);
            directory.write("in.csv", text);
            const Pipe pipe(text, {1 + random.below(50)});
            for (const std::string& path : {directory.path("in.csv"), pipe.path()}) {
                Input input = Input::open(path);
                const BatchOptions options{1 + random.below(200), 1000};
                ExactBatches batches =
                    input.is_stream() ? ExactBatches(input, Place{}, dialect, kernel(), options)
                                      : ExactBatches(input.blob(), {0, text.size()}, 0, dialect, kernel(), options);
                FieldReader reader(dialect, kernel(), cleave::Reading::kUnambiguous, 0);
                Values found;
                for (OwnedBatch batch(MemoryManager::open("system")); batches.next(batch);) {
                    const RecordBlock block = reader.read(batch.bytes, batch.place, true);
                    const std::size_t number = 0;
                    const auto columns = read_columns(block, dialect, 0, {&number, 1});
                    append(found, columns[0], block);
                }
                ASSERT_EQ(found, column) << "seed " << seed << ", " << describe(dialect) << ": " << shown(text);
            }
        }
    }
}

// The dialect decides what malformed fields mean; no byte outside them is touched.
TEST_P(ColumnsTest, OfMalformedFieldsAreReadByTheDialect) {
    for (Dialect dialect : every_dialect_and_rule()) {
        if (!dialect.quote) continue;
        for (const char* text :
             {R"(")", R"("a)", R"("a"b)", R"("a"")", R"(""")", R"(a"b)", R"(a"b"c)", R"(a"b""c")", R"("a"b"c")"}) {
            std::string field = text;
            std::ranges::replace(field, '"', static_cast<char>(*dialect.quote));
            FieldReader fields(dialect, kernel(), cleave::Reading::kByDialect, 0);
            const RecordBlock block = fields.read(bytes_of(field), {}, true);
            for (const ColumnOptions& options : every_option()) {
                StringColumn column;
                ColumnReader(dialect, 0, options).read(block, 0, column);
                ASSERT_EQ(column.value(0), field_values(bytes_of(field), dialect)[0])
                    << describe(dialect) << ": " << field;
            }
        }
        Random random(7);
        for (std::size_t i = 0; i < rounds(40); ++i) {
            const std::string noise = random_text(random, dialect, random.below(60));
            FieldReader fields(dialect, kernel(), cleave::Reading::kByDialect, 0);
            const RecordBlock block = fields.read(bytes_of(noise), {}, true);
            for (const ColumnOptions& options : every_option()) {
                StringColumn column;
                ColumnReader(dialect, 0, options).read(block, random.below(3), column);
                for (std::size_t r = 0; r < column.count(); ++r) {
                    ASSERT_LE(column.value(r).value_or("").size(), block.record(r).size());
                }
            }
        }
    }
}

class Block {
public:
    explicit Block(std::string text, std::size_t fields = 0)
        : text_(std::move(text)), reader_({}, *available_kernels().front(), cleave::Reading::kUnambiguous, fields) {}
    RecordBlock read(Place place = {}) { return reader_.read(bytes_of(text_), place, true); }

private:
    std::string text_;
    FieldReader reader_;
};

StringColumn column_of(const RecordBlock& block, std::size_t fields, std::size_t number, const ColumnOptions& options) {
    return std::move(read_columns(block, {}, fields, {&number, 1}, options)[0]);
}

Values values_of(const StringColumn& column, const RecordBlock& block) {
    Values values;
    append(values, column, block);
    return values;
}

TEST(Columns, HaveNullForEmptyRecordsAndByOptionForEmptyFields) {
    Block source("a,b\n\n,\"\"\n\r\n1,\n", 2);
    const RecordBlock block = source.read();
    EXPECT_EQ(values_of(column_of(block, 2, 0, {}), block), (Values{"a", {}, "", {}, "1"}));
    EXPECT_EQ(values_of(column_of(block, 2, 1, {}), block), (Values{"b", {}, "", {}, ""}));
    EXPECT_EQ(values_of(column_of(block, 2, 0, {true}), block), (Values{"a", {}, {}, {}, "1"}));
    EXPECT_EQ(values_of(column_of(block, 2, 1, {true}), block), (Values{"b", {}, "", {}, {}}));
}

TEST(Columns, OfOneFieldAreNullForAnEmptyRecord) {
    Block source("a\n\n\"\"\n", 1);
    const RecordBlock block = source.read();
    for (const std::size_t fields : {0U, 1U}) {
        EXPECT_EQ(values_of(column_of(block, fields, 0, {}), block), (Values{"a", {}, ""}));
        EXPECT_EQ(values_of(column_of(block, fields, 0, {true}), block), (Values{"a", {}, ""}));
    }
}

TEST(Columns, OfShortRecordsAreAnErrorOrNull) {
    Block source("a,b\n1\n2,3\n");
    const RecordBlock block = source.read({100, 7});
    try {
        column_of(block, 0, 1, {});
        FAIL();
    } catch (const InputError& error) {
        EXPECT_EQ(error.place(), (Place{104, 8}));
    }
    EXPECT_EQ(values_of(column_of(block, 0, 1, {false, true}), block), (Values{"b", {}, "3"}));
    EXPECT_THROW(column_of(block, 2, 2, {}), std::invalid_argument);
    Dialect faulty;
    faulty.delimiter = '"';
    EXPECT_THROW(ColumnReader(faulty, 2, {}), std::invalid_argument);
}

TEST(Columns, HaveEveryBitOfTheBitmap) {
    for (std::size_t count = 0; count < 70; ++count) {
        std::string text;
        Values wanted;
        for (std::size_t i = 0; i < count; ++i) {
            const bool is_null = (i * i) % 5 == 4;
            text += is_null ? ",\n" : "v" + std::to_string(i) + ",\n";
            wanted.push_back(is_null ? std::nullopt : std::optional("v" + std::to_string(i)));
        }
        Block source(text, 2);
        const RecordBlock block = source.read();
        const StringColumn column = column_of(block, 2, 0, {true});
        ASSERT_EQ(values_of(column, block), wanted);
        if (!column.validity().empty() && count % 8 != 0) {
            EXPECT_EQ(column.validity().back() >> (count % 8), 0);
        }
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(column.offsets().data()) % 64, 0U);
    }
}

TEST(Columns, ReuseTheirMemory) {
    Block large(std::string(5000, 'x') + "\n\n\n", 2 - 1);
    Block small("a\n\"b\"\"\"\n", 1);
    StringColumn column;
    const ColumnReader reader({}, 1, {true});
    for (int i = 0; i < 2; ++i) {
        RecordBlock block = large.read();
        reader.read(block, 0, column);
        EXPECT_EQ(values_of(column, block), (Values{std::string(5000, 'x'), {}, {}}));
        block = small.read();
        reader.read(block, 0, column);
        EXPECT_EQ(values_of(column, block), (Values{"a", "b\""}));
    }
}

// Whether the bytes after the content are zeros, up to the next multiple of 64 and for at least `least` bytes.
template <class T>
bool has_zeros_behind(std::span<const T> content, std::size_t least) {
    const auto* const bytes = reinterpret_cast<const std::uint8_t*>(content.data());
    const std::size_t size = content.size_bytes();
    const std::size_t end = std::max((size + 63) / 64 * 64, size + least);
    return std::all_of(bytes + size, bytes + end, [](std::uint8_t byte) { return byte == 0; });
}

// The memory held different values before, and short values are copied together with the bytes that follow them.
TEST(Columns, HaveZerosBehindTheirValues) {
    const std::string secret(100, 's');
    std::string text;
    for (std::size_t i = 0; i < 1000; ++i)
        text += i % 2 == 0 ? "," + secret + "\n" : R"("old "" and longer value",)" + secret + '\n';
    Block large(text, 2);
    Block small("1," + secret + "\n," + secret + "\n\"a \"\" longer value\"," + secret + "\n3," + secret + '\n', 2);
    StringColumn column;
    const ColumnReader reader({}, 2, {true});
    for (Block* source : {&large, &small}) {
        const RecordBlock block = source->read();
        reader.read(block, 0, column);
        EXPECT_GT(column.null_count(), 0U);
        EXPECT_GT(column.bytes().size(), 0U);
        EXPECT_TRUE(has_zeros_behind(column.offsets(), 0));
        EXPECT_TRUE(has_zeros_behind(column.bytes(), 64));
        EXPECT_TRUE(has_zeros_behind(column.validity(), 0));
    }
}

// The bytes are pages of zeros that are never touched.
#ifndef __SANITIZE_THREAD__  // the sanitizer needs four times as much memory as the test reads
TEST(Columns, HaveLessThanTwoGigabytes) {
    constexpr std::uint32_t kSize = std::uint32_t{1} << 31;
    void* zeros = ::mmap(nullptr, kSize, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    ASSERT_NE(zeros, MAP_FAILED);
    const std::uint32_t end = kSize;
    const FieldRow rows[] = {{0, 0}, {kSize, 1}};
    const RecordBlock block{{static_cast<const std::uint8_t*>(zeros), kSize}, {}, {&end, 1}, rows};
    EXPECT_THROW(column_of(block, 1, 0, {}), ColumnSizeError);
    ::munmap(zeros, kSize);
}
#endif

struct Exported {
    ArrowSchema schema{};
    ArrowArray array{};

    Exported() = default;
    Exported(const Exported&) = delete;
    Exported& operator=(const Exported&) = delete;
    ~Exported() {
        if (schema.release != nullptr) schema.release(&schema);
        if (array.release != nullptr) array.release(&array);
    }
};

TEST(Arrow, ExportsARecordBatch) {
    Block source("a,\"x\"\"\"\n\n,y\n", 2);
    const RecordBlock block = source.read();
    const ColumnReader reader({}, 2, {});
    const ArrowColumn columns[] = {{1, "second", true}, {0, "first", false}};
    Exported exported;
    export_columns(block, reader, columns, &exported.schema, &exported.array);
    EXPECT_STREQ(exported.schema.format, "+s");
    ASSERT_EQ(exported.schema.n_children, 2);
    EXPECT_STREQ(exported.schema.children[0]->format, "u");
    EXPECT_STREQ(exported.schema.children[0]->name, "second");
    EXPECT_EQ(exported.schema.children[0]->flags, ARROW_FLAG_NULLABLE);
    EXPECT_STREQ(exported.schema.children[1]->format, "z");
    EXPECT_EQ(exported.array.length, 3);
    ASSERT_EQ(exported.array.n_children, 2);
    const ArrowArray& second = *exported.array.children[0];
    EXPECT_EQ(second.n_buffers, 3);
    EXPECT_EQ(second.null_count, 1);
    EXPECT_EQ(*static_cast<const std::uint8_t*>(second.buffers[0]), 0b101);
    const auto* offsets = static_cast<const std::int32_t*>(second.buffers[1]);
    EXPECT_EQ((std::vector<std::int32_t>(offsets, offsets + 4)), (std::vector<std::int32_t>{0, 2, 2, 3}));
    EXPECT_EQ(std::memcmp(second.buffers[2], "x\"y", 3), 0);
}

TEST(Arrow, AColumnOutlivesItsBatch) {
    ArrowArray moved{};
    {
        Block source("a value that is long,b\n", 2);
        const ArrowColumn columns[] = {{0, "a"}, {1, "b"}};
        Exported exported;
        export_columns(source.read(), ColumnReader({}, 2, {}), columns, &exported.schema, &exported.array);
        moved = *exported.array.children[0];
        exported.array.children[0]->release = nullptr;
    }
    EXPECT_EQ(std::memcmp(moved.buffers[2], "a value that is long", 20), 0);
    moved.release(&moved);
    EXPECT_EQ(moved.release, nullptr);
}

TEST(Arrow, RefusesTextThatIsNotUtf8AndLeavesTheStructsAlone) {
    Block source("good\n\xC3\xA4\xF0\x9F\x98\x80\n\xE4\n", 1);
    const RecordBlock block = source.read({10, 3});
    Exported exported;
    const ArrowColumn text{0, "a", true};
    try {
        export_columns(block, ColumnReader({}, 1, {}), {&text, 1}, &exported.schema, &exported.array);
        FAIL();
    } catch (const InputError& error) {
        EXPECT_EQ(error.place(), (Place{22, 5}));
    }
    for (const std::string& name : {std::string("a\0b", 3), std::string("\xE4")}) {
        const ArrowColumn column{0, name};
        EXPECT_THROW(export_columns(block, ColumnReader({}, 1, {}), {&column, 1}, &exported.schema, &exported.array),
                     std::invalid_argument);
    }
    EXPECT_EQ(exported.schema.release, nullptr);
    EXPECT_EQ(exported.array.release, nullptr);
}

}  // namespace cleave::test::columns_test
