#define XXH_INLINE_ALL
#include "by_check.h"

#include <gtest/gtest.h>
#include <xxhash.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <set>

#include "keyed_reference.h"
#include "plan_check.h"

namespace cleave::test {
namespace {

void append_number(std::string& bytes, std::uint64_t number) {
    for (unsigned i = 0; i < 8; ++i) bytes += static_cast<char>(number >> (8 * i));
}

// The bucket or the part, from 0, of record `number`, from 1, exactly as include/cleave/plan.h defines it.
std::size_t fixed_piece_of(const Key& key, std::uint64_t number, const ByValue& by) {
    std::string bytes;
    if (by.columns.text.empty()) {
        append_number(bytes, number);
    } else {
        for (const std::string& value : key) {
            if (key.size() > 1) append_number(bytes, value.size());
            bytes += value;
        }
    }
    const std::uint64_t hash = XXH3_64bits_withSeed(bytes.data(), bytes.size(), by.seed);
    if (by.buckets) return hash % *by.buckets;
    __extension__ using Wide = unsigned __int128;
    Wide sum = 0;
    for (const Part& part : by.parts) sum += part.weight;
    Wide end = 0;
    for (std::size_t i = 0; i < by.parts.size(); ++i) {
        end += by.parts[i].weight;
        if (hash * sum < end << 64U) return i;
    }
    ADD_FAILURE() << "no part";
    return 0;
}

}  // namespace

KeyedRecords read_records(const std::string& text, const Dialect& dialect, const std::vector<std::size_t>& columns,
                          HeaderMode header) {
    KeyedRecords all;
    for (const std::size_t column : columns) {
        const Keyed keyed = read_keys(text, dialect, column, header);
        all.begins = keyed.begins;
        all.body = keyed.body;
        all.keys.resize(keyed.count());
        all.lacks.resize(keyed.count());
        for (std::size_t r = 0; r < keyed.count(); ++r) {
            all.keys[r].push_back(keyed.values[r]);
            all.lacks[r] = all.lacks[r] || keyed.lacks[r];
        }
    }
    if (text == "\xEF\xBB\xBF") {  // the reference has no records without any bytes
        all.begins = {0, 3};
        all.keys = {Key(columns.size())};
        all.lacks = {false};
        all.body = header == HeaderMode::kNone ? 0 : 1;
    }
    return all;
}

std::optional<Stop> first_stop(const KeyedRecords& all, const ByValue& by) {
    std::set<Key> keys;
    if (by.columns.text.empty()) return std::nullopt;  // a draw reads no field
    for (std::size_t r = all.body; r < all.keys.size(); ++r) {
        if (all.lacks[r] && !by.accepts_missing) return Stop{r, true};
        keys.insert(all.keys[r]);
        if (!by.buckets && by.parts.empty() && keys.size() > by.max_values) return Stop{r, false};
    }
    return std::nullopt;
}

std::vector<ExpectedPiece> expected_pieces(const std::string& text, const KeyedRecords& all, const Policy& policy) {
    const std::uint64_t header_size = all.begins[all.body];
    std::vector<ExpectedPiece> pieces;
    std::map<Key, std::vector<std::size_t>> of_key;
    const std::uint64_t fixed = policy.by->buckets.value_or(policy.by->parts.size());
    pieces.reserve(fixed);
    for (std::uint64_t i = 0; i < fixed; ++i) pieces.push_back({{i + 1, header_size, 0, 1, 0}, {}, 0, ""});
    for (std::size_t r = all.body; r < all.keys.size(); ++r) {
        const std::uint64_t begin = all.begins[r];
        const std::uint64_t size = all.begins[r + 1] - begin;
        const auto cap = [&](std::uint64_t number) {
            const std::uint64_t header = header_size_in(policy.header, number, header_size);
            return !policy.max_bytes ? UINT64_MAX : *policy.max_bytes < header ? 0 : *policy.max_bytes - header;
        };
        std::optional<std::size_t> at;
        if (fixed > 0) {
            at = fixed_piece_of(all.keys[r], r - all.body + 1, *policy.by);
        } else if (!of_key[all.keys[r]].empty()) {
            at = of_key[all.keys[r]].back();
            const Piece& piece = pieces[*at].piece;
            const bool fits =
                piece.length + size <= cap(piece.number) && (!policy.records || piece.records < *policy.records);
            if (!fits) at.reset();
        }
        if (!at) {
            at = pieces.size();
            std::vector<std::size_t>& mine = of_key[all.keys[r]];
            pieces.push_back({{pieces.size() + 1, 0, 0, 1, 0}, all.keys[r], mine.size(), ""});
            mine.push_back(*at);
        }
        ExpectedPiece& expected = pieces[*at];
        if (expected.piece.records == 0) {
            expected.piece.start = begin;
            expected.piece.first_record = r - all.body + 1;
        }
        ++expected.piece.records;
        expected.piece.length += size;
        expected.piece.oversize = expected.piece.length > cap(expected.piece.number);
        expected.body += text.substr(begin, size);
    }
    return pieces;
}

void expect_plan(const std::string& text, const PlanByValue& plan, const std::vector<ExpectedPiece>& expected,
                 const Policy& policy, std::uint64_t header_size) {
    EXPECT_EQ(plan.header_size(), header_size);
    ASSERT_EQ(plan.pieces().size(), expected.size());
    std::uint64_t most = 1;
    for (std::size_t i = 0; i < expected.size(); ++i) {
        EXPECT_EQ(plan.pieces()[i], expected[i].piece)
            << printed(plan.pieces()[i]) << " against " << printed(expected[i].piece);
        std::string bytes;
        for (const BlobRange& part : plan.parts(i + 1)) bytes += text.substr(part.offset, part.size);
        EXPECT_EQ(bytes, text.substr(0, header_size_in(policy.header, i + 1, header_size)) + expected[i].body);
        if (policy.by->buckets || !policy.by->parts.empty()) continue;
        const PlanByValue::PieceOfKey place = plan.piece_of_key(i + 1);
        EXPECT_EQ(place.before, expected[i].before);
        most = std::max(most, expected[i].before + 1);
        ASSERT_LT(place.key, plan.key_count());
        for (std::size_t c = 0; c < expected[i].key.size(); ++c) {
            EXPECT_EQ(plan.value(place.key, c), expected[i].key[c]);
        }
    }
    EXPECT_EQ(plan.most_of_key(), most);
}

void expect_scattered(const std::string& text, const PlanByValue& plan, const std::vector<ExpectedPiece>& expected,
                      HeaderMode header) {
    std::vector<std::string> bodies;
    std::vector<std::string> counts;  // how often each byte was written
    for (const ExpectedPiece& piece : expected) {
        const std::size_t size = header_size_in(header, bodies.size() + 1, plan.header_size()) + piece.body.size();
        bodies.emplace_back(size, '?');
        counts.emplace_back(size, '\0');
    }
    std::mutex mutex;
    const auto write = [&](std::size_t i, std::uint64_t offset, std::span<const std::uint8_t> bytes) {
        const std::scoped_lock lock(mutex);
        ASSERT_LT(i, bodies.size());
        ASSERT_LE(offset + bytes.size(), bodies[i].size());
        std::ranges::copy(bytes, bodies[i].begin() + static_cast<std::ptrdiff_t>(offset));
        for (std::size_t at = offset; at < offset + bytes.size(); ++at) ++counts[i][at];
    };
    const MemoryBlob blob(std::span(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()));
    plan.scatter(blob, write, nullptr);
    for (std::size_t i = 0; i < expected.size(); ++i) {
        const std::size_t header_size = header_size_in(header, i + 1, plan.header_size());
        EXPECT_EQ(bodies[i].substr(header_size), expected[i].body) << i;
        EXPECT_EQ(counts[i], std::string(header_size, '\0') + std::string(expected[i].body.size(), '\1')) << i;
    }
}

}  // namespace cleave::test
