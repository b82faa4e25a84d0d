// Columns: however the text is divided, and with every kernel, the fields are where the reference finds them, columns
// hold their values, and Arrow arrays, read exactly as the C data interface specifies, hold the same values. Where
// requested, text that readers would understand in different ways is refused, and the error gives its position.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "choices.h"
#include "cleave/experimental/arrow.h"
#include "csv_mutator.h"
#include "field_reference.h"
#include "inputs.h"

namespace cleave::test {
namespace {

using Values = std::vector<std::optional<std::string>>;

constexpr std::size_t kMaxTextSize = 250;

struct Case {
    Dialect dialect;
    const Kernel* kernel;
    Reading reading;
    ColumnOptions options;
    bool counts_fields;  // records must have as many fields as the first one
    bool is_text;
    std::size_t part_size;
    std::size_t text_at;
    std::string text;
};

Case make_case(Choices& choices) {
    static const std::vector<const Kernel*> kKernels = available_kernels();
    static const std::shared_ptr<MemoryManager> kPages = MemoryManager::open("system");
    static const std::shared_ptr<MemoryManager> kPool = MemoryManager::open("pool:64K");  // memory that was used before
    Case made;
    made.dialect = choices.dialect();
    made.kernel = kKernels[choices.below(kKernels.size())];
    made.reading = choices.one_in(4) ? Reading::kByDialect : Reading::kUnambiguous;
    made.options.memory = choices.one_in(2) ? kPool : kPages;
    made.options.empty_is_null = choices.one_in(2);
    made.options.missing_is_null = !choices.one_in(4);
    const std::uint8_t flags = choices.byte();
    made.counts_fields = (flags & 1) != 0;
    made.is_text = (flags & 8) != 0;
    made.part_size = 1 + choices.below(300);
    made.text_at = choices.taken();
    made.text = choices.text(kMaxTextSize);
    return made;
}

// As defined in RFC 3629, section 4.
bool is_utf8(std::string_view text) {
    for (std::size_t i = 0; i < text.size();) {
        const auto byte = [&](std::size_t at) {
            return i + at < text.size() ? static_cast<unsigned char>(text[i + at]) : 0U;
        };
        const auto is_tail = [&](std::size_t at) { return byte(at) >= 0x80 && byte(at) <= 0xBF; };
        const unsigned first = byte(0);
        if (first < 0x80) {
            i += 1;
        } else if (first >= 0xC2 && first <= 0xDF && is_tail(1)) {
            i += 2;
        } else if (first >= 0xE0 && first <= 0xEF && is_tail(1) && is_tail(2) && (first != 0xE0 || byte(1) >= 0xA0) &&
                   (first != 0xED || byte(1) <= 0x9F)) {
            i += 3;
        } else if (first >= 0xF0 && first <= 0xF4 && is_tail(1) && is_tail(2) && is_tail(3) &&
                   (first != 0xF0 || byte(1) >= 0x90) && (first != 0xF4 || byte(1) <= 0x8F)) {
            i += 4;
        } else {
            return false;
        }
    }
    return true;
}

Values values_of(const ArrowArray& array) {
    EXPECT_EQ(array.offset, 0);
    EXPECT_EQ(array.n_buffers, 3);
    const auto* const offsets = static_cast<const std::int32_t*>(array.buffers[1]);
    const auto* const bytes = static_cast<const char*>(array.buffers[2]);
    EXPECT_EQ(offsets[0], 0);
    Values values;
    for (std::int64_t r = 0; r < array.length; ++r) {
        EXPECT_LE(offsets[r], offsets[r + 1]);
        values.emplace_back(std::string(bytes + offsets[r], bytes + offsets[r + 1]));
    }
    if (const auto* const bitmap = static_cast<const std::uint8_t*>(array.buffers[0])) {
        for (std::size_t r = 0; r < values.size(); ++r) {
            if ((bitmap[r / 8] >> r % 8 & 1) == 0) values[r].reset();
        }
    }
    EXPECT_EQ(array.null_count, std::count(values.begin(), values.end(), std::nullopt));
    return values;
}

Values values_of(const StringColumn& column) {
    Values values;
    for (std::size_t r = 0; r < column.count(); ++r) {
        const auto value = column.value(r);
        values.push_back(value ? std::optional(std::string(*value)) : std::nullopt);
    }
    EXPECT_EQ(column.null_count(), std::count(values.begin(), values.end(), std::nullopt));
    return values;
}

// A text, the reference's reading of it, and how much of it has been read.
class ColumnsCheck {
public:
    explicit ColumnsCheck(const Case& made)
        : made_(made), expected_(read_fields(made.text, made.dialect)), fields_(common_count()) {
        for (const ReferenceRecord& record : expected_.records) most_ = std::max(most_, record.ends.size());
    }

    // The field count for FieldReader and ColumnReader.
    std::size_t fields() const { return fields_; }

    // Whether the text is refused, at the position of its fault or because its records have different numbers of
    // fields.
    bool is_refused() const { return is_faulty() || (fields_ > 0 && !has_common_count()); }
    void expect_refusal(const InputError& error) const {
        ASSERT_TRUE(is_refused()) << error.what();
        ASSERT_TRUE(error.place());
        if (fields_ > 0) return;
        EXPECT_EQ(error.place()->offset, *expected_.fault);
        EXPECT_EQ(error.place()->record, record_of(*expected_.fault));
    }

    void expect_block(const RecordBlock& block) {
        ASSERT_LE(first_ + block.record_count(), expected_.records.size());
        for (std::size_t r = 0; r < block.record_count(); ++r) {
            const ReferenceRecord& record = expected_.records[first_ + r];
            const std::uint64_t base = block.place.offset;
            EXPECT_EQ(base + block.rows[r].begin, record.begin);
            ASSERT_EQ(block.rows[r + 1].first - block.rows[r].first, record.ends.size());
            for (std::size_t i = 0; i < record.ends.size(); ++i) {
                EXPECT_EQ(base + block.ends[block.rows[r].first + i], record.ends[i]);
            }
        }
        const ColumnReader reader(made_.dialect, fields_, made_.options);
        StringColumn column;
        for (std::size_t i = 0; i <= most_; ++i) {
            if (i > 2 && i + 1 < most_) continue;
            if (fields_ > 0 && i >= fields_) {
                EXPECT_THROW(reader.read(block, i, column), std::invalid_argument);
                continue;
            }
            const auto too_short = first_short(block.record_count(), i);
            try {
                reader.read(block, i, column);
                EXPECT_FALSE(too_short);
                expect_values(values_of(column), i);
                if (i == first_ % 3) expect_array(block, reader, i, values_of(column));
            } catch (const InputError& error) {
                ASSERT_TRUE(too_short);
                EXPECT_EQ(error.place()->record, first_ + *too_short);
            }
        }
        first_ += block.record_count();
    }

    void expect_end() const { EXPECT_EQ(first_, expected_.records.size()); }

private:
    static bool is_empty(const ReferenceRecord& record) {
        return record.ends.size() == 1 && record.content_end == record.begin;
    }
    std::size_t common_count() const {
        if (!made_.counts_fields) return 0;
        const auto first = std::ranges::find_if_not(expected_.records, is_empty);
        return first == expected_.records.end() ? 0 : first->ends.size();
    }
    bool has_common_count() const {
        return std::ranges::all_of(expected_.records, [&](const ReferenceRecord& record) {
            return is_empty(record) || record.ends.size() == fields_;
        });
    }
    bool is_faulty() const { return expected_.fault && made_.reading == Reading::kUnambiguous; }
    std::uint64_t record_of(std::uint64_t offset) const {
        const auto after = std::ranges::upper_bound(expected_.records, offset, {}, &ReferenceRecord::begin);
        return static_cast<std::uint64_t>(after - expected_.records.begin()) - 1;
    }

    // The first of the next `count` records that a reader of the column must refuse.
    std::optional<std::size_t> first_short(std::size_t count, std::size_t number) const {
        if (made_.options.missing_is_null) return std::nullopt;
        for (std::size_t r = 0; r < count; ++r) {
            const ReferenceRecord& record = expected_.records[first_ + r];
            if (!is_empty(record) && number >= record.ends.size()) return r;
        }
        return std::nullopt;
    }

    void expect_values(const Values& values, std::size_t number) const {
        const auto begin = expected_.records.begin() + static_cast<std::ptrdiff_t>(first_);
        const std::vector<ReferenceRecord> records(begin, begin + std::ssize(values));
        const Values wanted = read_column(made_.text, records, made_.dialect, number, made_.options.empty_is_null);
        for (std::size_t r = 0; r < values.size(); ++r) {
            // The end of the last field's content is only defined for a text without a fault.
            if (expected_.fault && number + 1 == records[r].ends.size()) continue;
            EXPECT_EQ(values[r], wanted[r]) << "record " << first_ + r << ", column " << number;
        }
    }

    // Exports the column twice: an importer may move a child out and release the batch before it.
    void expect_array(const RecordBlock& block, const ColumnReader& reader, std::size_t number,
                      const Values& values) const {
        const ArrowColumn columns[] = {{number, "a", made_.is_text}, {number, "", made_.is_text}};
        ArrowSchema schema{};
        ArrowArray array{};
        const auto wrong = std::ranges::find_if(
            values, [&](const auto& value) { return made_.is_text && !is_utf8(value.value_or("")); });
        try {
            export_columns(block, reader, columns, &schema, &array);
        } catch (const InputError& error) {
            ASSERT_NE(wrong, values.end());
            EXPECT_EQ(error.place()->record, first_ + static_cast<std::size_t>(wrong - values.begin()));
            EXPECT_TRUE(schema.release == nullptr && array.release == nullptr);
            return;
        }
        EXPECT_EQ(wrong, values.end());
        EXPECT_STREQ(schema.format, "+s");
        ASSERT_EQ(schema.n_children, 2);
        EXPECT_EQ(schema.children[0]->format, std::string(made_.is_text ? "u" : "z"));
        EXPECT_STREQ(schema.children[0]->name, "a");
        schema.release(&schema);
        EXPECT_EQ(array.length, std::ssize(values));
        ASSERT_EQ(array.n_children, 2);
        EXPECT_EQ(values_of(*array.children[0]), values);
        ArrowArray moved = *array.children[1];
        array.children[1]->release = nullptr;
        array.release(&array);
        EXPECT_EQ(values_of(moved), values);
        moved.release(&moved);
    }

    const Case& made_;
    FieldReading expected_;
    std::size_t fields_;
    std::size_t most_ = 1;
    std::size_t first_ = 0;  // the number of the next record
};

void fuzz(Choices choices) {
    const Case made = make_case(choices);
    ColumnsCheck check(made);
    FieldReader reader(made.dialect, *made.kernel, made.reading, check.fields(), made.options.memory);
    Place place;
    try {
        for (std::size_t size = made.part_size; place.offset < made.text.size();) {
            const auto left = bytes_of(made.text).subspan(place.offset);
            const auto part = left.first(std::min(size, left.size()));
            const bool is_end = part.size() == left.size();
            const RecordBlock block = reader.read(part, place, is_end);
            EXPECT_LE(block.bytes.size(), part.size());
            if (is_end) {
                ASSERT_EQ(block.bytes.size(), part.size());
            }
            size = block.bytes.empty() ? size + made.part_size : made.part_size;
            check.expect_block(block);
            place.offset += block.bytes.size();
            place.record += block.record_count();
        }
    } catch (const InputError& error) {
        return check.expect_refusal(error);
    }
    check.expect_end();
    EXPECT_FALSE(check.is_refused());
}

}  // namespace
}  // namespace cleave::test

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
    cleave::test::Choices choices({data, size});
    const cleave::test::Case made = cleave::test::make_case(choices);
    return cleave::test::mutate_csv({data, max_size}, size, seed, made.text_at, made.dialect);
}

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    cleave::test::fuzz(cleave::test::Choices({data, size}));
    return 0;
}
