// Columns are read in two steps, each going through the records one by one:
//
//   bound   the most bytes that the values of the column can have: the bytes of its fields, with quotes and escapes
//   write   each value right after the one before it
//
// Finding the bound does not require looking at the bytes. On a device, each value would be measured instead, followed
// by a scan over the sizes.
#include "cleave/experimental/columns.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>
#include <string>

#include "cleave/error.h"
#include "core/dialect/check_arguments.h"
#include "rows/fields/field_decoder.h"

namespace cleave {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::uint64_t kMaxSize = std::numeric_limits<std::int32_t>::max();

struct Field {
    const std::uint8_t* begin;  // null: no field
    const std::uint8_t* end;
};

// A short value is copied together with the bytes after it, this many bytes in all. So the last value is followed by
// bytes of other columns until ColumnMemory::clear_slack() zeroes them.
constexpr std::size_t kSlack = 64;

void copy(std::uint8_t* out, Value value, const std::uint8_t* readable_end) {
    if (value.size <= kSlack && readable_end - value.data >= static_cast<std::ptrdiff_t>(kSlack)) {
        std::memcpy(out, value.data, kSlack);
    } else if (value.size > 0) {
        std::memcpy(out, value.data, value.size);
    }
}

void check_size(std::uint64_t size) {
    if (size > kMaxSize) throw ColumnSizeError("columns: more than 2^31 - 1 bytes in a column");
}

}  // namespace

template <class T>
void ColumnMemory<T>::resize(std::size_t size) {
    if (size > (SIZE_MAX / 2) / sizeof(T)) throw std::bad_alloc();
    const std::size_t needed = std::max(kAlignment, (size * sizeof(T) + kAlignment - 1) / kAlignment * kAlignment);
    if (needed > memory_.size()) {
        size_ = 0;
        memory_.release();
        memory_ = manager_->allocate({.size = needed, .alignment = kAlignment});
    }
    size_ = size;
}

template <class T>
void ColumnMemory<T>::clear_slack() noexcept {
    const std::size_t used = size_ * sizeof(T);
    const std::size_t slack = std::min(kSlack, memory_.size() - used);
    if (slack > 0) std::memset(memory_.data() + used, 0, slack);
}

template class ColumnMemory<std::uint8_t>;
template class ColumnMemory<std::int32_t>;

std::optional<std::string_view> StringColumn::value(std::size_t r) const {
    if (null_count_ > 0 && (validity_.data()[r / 8] >> (r % 8) & 1) == 0) return std::nullopt;
    const std::int32_t begin = offsets_.data()[r];
    return std::string_view(reinterpret_cast<const char*>(bytes_.data()) + begin,
                            static_cast<std::size_t>(offsets_.data()[r + 1] - begin));
}

// The state of one call to ColumnReader::read().
struct ColumnReader::Run {
    const ColumnReader& reader;
    FieldDecoder decoder;
    const RecordBlock& block;
    std::size_t number;
    StringColumn& column;

    // The field of record r, or no field if the value is null.
    Field field(std::size_t r) const {
        const FieldRow& row = block.rows[r];
        const std::size_t count = block.rows[r + 1].first - row.first;
        if (number >= count || (count == 1 && is_empty_record(r))) return absent(r, count);
        const std::uint32_t* const ends = block.ends.data() + row.first;
        const std::uint32_t begin = number == 0 ? row.begin : ends[number - 1] + 1;
        const std::uint32_t end =
            number + 1 == count ? content_end(block.bytes, row.begin, ends[number], reader.dialect_) : ends[number];
        if (begin == end && reader.options_.empty_is_null) return {nullptr, nullptr};
        return {block.bytes.data() + begin, block.bytes.data() + end};
    }
    bool is_empty_record(std::size_t r) const {
        const FieldRow& row = block.rows[r];
        return content_end(block.bytes, row.begin, block.ends[row.first], reader.dialect_) == row.begin;
    }
    Field absent(std::size_t r, std::size_t count) const {
        const bool is_empty = count == 1 && is_empty_record(r);
        if (!is_empty && !reader.options_.missing_is_null) {
            throw InputError(
                "a record of " + std::to_string(count) + " fields has no field " + std::to_string(number + 1),
                Place{block.place.offset + block.rows[r].begin, block.place.record + r});
        }
        return {nullptr, nullptr};
    }

    // Marks record r as null. Creates the bitmap for the first null.
    void set_null(std::size_t r) {
        if (column.null_count_ == 0) {
            column.validity_.resize((column.count_ + 7) / 8);
            const std::span<std::uint8_t> bits = column.validity_.span();
            std::ranges::fill(bits, std::uint8_t{0xFF});
            if (column.count_ % 8 != 0) bits.back() = static_cast<std::uint8_t>(0xFF >> (8 - column.count_ % 8));
        }
        column.validity_.data()[r / 8] &= static_cast<std::uint8_t>(~(1U << (r % 8)));
        ++column.null_count_;
    }

    std::uint64_t bound() const;
    void read_all();
    std::size_t read_plain(std::size_t r, std::uint64_t& sum) const;
    std::uint64_t read_value(std::size_t r, std::uint8_t* out);
};

// The result may include delimiters.
std::uint64_t ColumnReader::Run::bound() const {
    const FieldRow* const rows = block.rows.data();
    const std::uint32_t* const ends = block.ends.data();
    std::uint64_t sum = 0;
    for (std::size_t r = 0; r < column.count_; ++r) {
        const FieldRow row = rows[r];
        if (number >= rows[r + 1].first - row.first) continue;
        const std::uint32_t* const end = ends + row.first + number;
        sum += *end - (number == 0 ? row.begin : end[-1]);
    }
    return sum;
}

void ColumnReader::Run::read_all() {
    column.offsets_.resize(column.count_ + 1);
    const std::uint64_t most = bound();
    column.bytes_.resize(most + kSlack);
    const bool has_plain = !decoder.may_hide() && most <= kMaxSize;
    std::uint64_t sum = 0;
    std::size_t r = 0;
    for (;;) {
        if (has_plain) r = read_plain(r, sum);
        if (r == column.count_) break;
        column.offsets_.data()[r] = static_cast<std::int32_t>(sum);
        sum += read_value(r, column.bytes_.data() + sum);
        check_size(sum);
        ++r;
    }
    column.offsets_.data()[column.count_] = static_cast<std::int32_t>(sum);
    column.bytes_.shrink(sum);
}

// Reads values from record r on, up to one that is not plain, and returns the number of that record. A plain value
// needs no decoding: it does not begin with a quote, is not null, has at most kSlack bytes, and more than kSlack bytes
// of the block follow its start. So its record has a terminator, and if that is an LF with a CR before it, the CR
// belongs to the terminator. Where CR ends records, a value without quotes contains no CR.
std::size_t ColumnReader::Run::read_plain(std::size_t r, std::uint64_t& sum) const {
    // Local copies, so that the compiler knows that storing the bytes below does not change them.
    const FieldRow* const rows = block.rows.data();
    const std::uint32_t* const ends = block.ends.data();
    const std::uint8_t* const from = block.bytes.data();
    const std::uint64_t size = block.bytes.size();
    const std::size_t count = column.count_;
    const std::size_t place = number;
    const bool is_null_if_empty = reader.options_.empty_is_null;
    const std::uint32_t quote = reader.dialect_.quote ? *reader.dialect_.quote : 256U;  // no byte is 256
    std::int32_t* const offsets = column.offsets_.data();
    std::uint8_t* const out = column.bytes_.data();
    std::uint64_t written = sum;
    for (; r < count; ++r) {
        const FieldRow row = rows[r];
        const std::uint32_t fields = rows[r + 1].first - row.first;
        if (place >= fields || fields == 1) break;
        const std::uint32_t* const end_of = ends + row.first + place;
        const std::uint32_t begin = place == 0 ? row.begin : end_of[-1] + 1;
        std::uint32_t end = *end_of;
        if (begin + kSlack >= size || end - begin > kSlack || std::uint32_t{from[begin]} == quote) break;
        if (place + 1 == fields && end > begin && from[end - 1] == '\r') --end;
        const std::uint32_t length = end - begin;
        if (is_null_if_empty && length == 0) break;
        offsets[r] = static_cast<std::int32_t>(written);
        std::memcpy(out + written, from + begin, kSlack);
        written += length;
    }
    sum = written;
    return r;
}

// Reads a value of any kind and returns its size.
std::uint64_t ColumnReader::Run::read_value(std::size_t r, std::uint8_t* out) {
    const Field found = field(r);
    if (found.begin == nullptr) {
        set_null(r);
        return 0;
    }
    Value value{};
    if (!decoder.view(found.begin, found.end, value)) return decoder.write(found.begin, found.end, out);
    copy(out, value, block.bytes.data() + block.bytes.size());
    return value.size;
}

ColumnReader::ColumnReader(const Dialect& dialect, std::size_t fields, ColumnOptions options)
    : dialect_(checked(dialect)), fields_(fields), options_(std::move(options)) {}

void ColumnReader::read(const RecordBlock& block, std::size_t number, StringColumn& column) const {
    if (fields_ > 0 && number >= fields_) throw ArgumentError("columns: no column has that number");
    column.count_ = block.record_count();
    column.null_count_ = 0;
    column.offsets_.resize(0);
    column.bytes_.resize(0);
    column.validity_.resize(0);
    Run run{*this, FieldDecoder(dialect_), block, number, column};
    run.read_all();
    // The recipient of a column must see only its values: no values of neighbouring columns, and nothing that was in
    // the memory before.
    column.offsets_.clear_slack();
    column.bytes_.clear_slack();
    column.validity_.clear_slack();
}

std::vector<StringColumn> read_columns(const RecordBlock& block, const Dialect& dialect, std::size_t fields,
                                       std::span<const std::size_t> numbers, const ColumnOptions& options) {
    const ColumnReader reader(dialect, fields, options);
    std::vector<StringColumn> columns(numbers.size());
    for (std::size_t i = 0; i < numbers.size(); ++i) reader.read(block, numbers[i], columns[i]);
    return columns;
}

}  // namespace cleave
