// Classes of records: digests of values, counts of classes, and which classes can stay if all must be large.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cleave/error.h"
#include "cleave/memory.h"
#include "features/redact/lane/class_counts.h"
#include "features/redact/stage/class_digester.h"

namespace cleave::test::classes_test {

using Numbers = std::initializer_list<std::uint64_t>;

std::span<const std::uint8_t> bytes_of(std::string_view text) {
    return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

// The first vectors of the reference implementation: the key is 00 01 ... 0f, and message i is 00 01 ... of i bytes.
TEST(SipHash, HasTheReferenceVectors) {
    const SipKey key{0x0706050403020100, 0x0f0e0d0c0b0a0908};
    std::vector<std::uint8_t> message(64);
    std::iota(message.begin(), message.end(), std::uint8_t{0});
    const auto of_first = [&](std::size_t size) { return siphash(key, std::span(message).first(size)); };
    EXPECT_EQ(of_first(0), (ClassDigest{0xe6a825ba047f81a3, 0x930255c71472f66d}));
    EXPECT_EQ(of_first(1), (ClassDigest{0x44af996bd8c187da, 0x45fc229b11597634}));
    std::set<ClassDigest> digests;
    for (std::size_t size = 0; size <= message.size(); ++size) digests.insert(of_first(size));
    EXPECT_EQ(digests.size(), message.size() + 1);
}

class Digests : public testing::Test {
protected:
    ClassDigest of(std::initializer_list<std::string_view> fields) {
        for (const std::string_view field : fields) digester_.add(bytes_of(field));
        return digester_.finish();
    }

    RunKey key_;
    ClassDigester digester_{key_, Dialect{}, MemoryManager::or_default(nullptr)};
};

TEST_F(Digests, AreOfValuesAndNotOfFields) {
    EXPECT_EQ(of({"a", "b"}), of({"a", "b"}));
    EXPECT_EQ(of({"a", "b"}), of({"\"a\"", "b"}));
    EXPECT_EQ(of({"\"q\"\"q\""}), of({"\"q\"\"q\""}));
    EXPECT_EQ(of({""}), of({"\"\""}));
    const std::vector<ClassDigest> all{of({"a", "b"}), of({"ab", ""}), of({"", "ab"}), of({"ab"}),     of({"b", "a"}),
                                       of({""}),       of({"", ""}),   of({}),         of({"A", "b"}), of({"a", "b "})};
    EXPECT_EQ(std::set(all.begin(), all.end()).size(), all.size());
}

TEST_F(Digests, DependOnTheKeyOfTheRun) {
    const RunKey other;
    ClassDigester digester(other, Dialect{}, MemoryManager::or_default(nullptr));
    digester.add(bytes_of("a"));
    EXPECT_NE(of({"a"}), digester.finish());
}

// What a plain count of small numbers says. Class 0 is the one that records change to.
struct Plain {
    std::map<std::uint64_t, std::vector<std::uint64_t>> records;  // of each class
    std::map<std::uint64_t, std::set<std::uint64_t>> values;

    // The classes that can stay.
    std::set<std::uint64_t> kept(std::uint64_t least) const {
        std::set<std::uint64_t> large;
        std::uint64_t others = 0;
        for (const auto& [number, members] : records) {
            if (number == 0 || members.size() < least) {
                others += members.size();
            } else {
                large.insert(number);
            }
        }
        if (others == 0 || others >= least) return large;
        large.erase(*std::ranges::min_element(large, {}, [&](std::uint64_t number) {
            return std::pair(records.at(number).size(), records.at(number).front());
        }));
        return large;
    }
};

ClassDigest digest_of(std::uint64_t number) {
    const SipKey key{1, 2};
    return siphash(key, {reinterpret_cast<const std::uint8_t*>(&number), sizeof number});
}

class Counts : public testing::TestWithParam<std::uint64_t> {  // bytes in memory
protected:
    static ClassCounts count(const ClassEntries& entries, bool has_values) {
        return count_classes(entries, has_values, 3, MemoryManager::or_default(nullptr));
    }
    // The digests of the classes that can stay.
    static std::set<ClassDigest> kept(const ClassEntries& entries, std::uint64_t least) {
        const auto digests = classes_to_keep(entries, least, digest_of(0), 3, MemoryManager::or_default(nullptr));
        std::set<ClassDigest> made(digests.begin(), digests.end());
        EXPECT_EQ(made.size(), digests.size());
        return made;
    }
    static std::set<ClassDigest> digests_of(const std::set<std::uint64_t>& numbers) {
        std::set<ClassDigest> digests;
        for (const std::uint64_t number : numbers) digests.insert(digest_of(number));
        return digests;
    }
};

INSTANTIATE_TEST_SUITE_P(InMemoryAndOnDisk, Counts,
                         testing::Values(ClassEntries::kMostInMemory, 0,
                                         3 * ClassEntries::kChunkSize * sizeof(ClassEntry)));

TEST_P(Counts, AgreeWithAPlainCount) {
    for (const std::uint64_t classes : Numbers{1, 2, 5, 300, 20000}) {
        std::mt19937_64 random(classes);
        for (const std::uint64_t records : Numbers{0, 1, 2, 9, 1000, 30000}) {
            ClassEntries by_value(GetParam());
            ClassEntries by_number(GetParam());
            Plain plain;
            for (std::uint64_t record = 0; record < records; ++record) {
                // Some classes are small, and some are large.
                const std::uint64_t number = std::min(random() % classes, random() % classes);
                const std::uint64_t value = random() % 3;
                by_value.append({digest_of(number), digest_of(value)});
                by_number.append({digest_of(number), {record, 0}});
                plain.records[number].push_back(record);
                plain.values[number].insert(value);
            }
            by_value.finish();
            by_number.finish();
            const ClassCounts counts = count(by_value, true);
            std::map<std::uint64_t, std::uint64_t> sizes;
            std::uint64_t below = 0;
            std::uint64_t diversity = UINT64_MAX;
            for (const auto& [number, members] : plain.records) {
                ++sizes[members.size()];
                if (members.size() < 4) below += members.size();
                diversity = std::min<std::uint64_t>(diversity, plain.values[number].size());
            }
            EXPECT_EQ(counts.records, records);
            EXPECT_EQ(counts.classes, plain.records.size());
            EXPECT_EQ(counts.sizes, sizes);
            EXPECT_EQ(counts.smallest(), sizes.empty() ? 0 : sizes.begin()->first);
            EXPECT_EQ(counts.records_below(4), below);
            EXPECT_EQ(counts.diversity.value_or(UINT64_MAX), diversity);
            EXPECT_FALSE(count(by_number, false).diversity);
            for (const std::uint64_t least : Numbers{2, 3, 40}) {
                if (records > 0 && records < least) continue;
                EXPECT_EQ(kept(by_number, least), digests_of(plain.kept(least))) << classes << ' ' << records;
            }
        }
    }
}

TEST_P(Counts, TakesOneMoreClassIfTooFewRecordsChange) {
    ClassEntries entries(GetParam());
    // Classes 1 and 2 are large enough, and equally large; 2 comes first. Class 3 is too small.
    std::uint64_t at = 0;
    for (const std::uint64_t number : Numbers{2, 1, 3, 1, 1, 2, 2}) entries.append({digest_of(number), {at++, 0}});
    entries.finish();
    EXPECT_EQ(kept(entries, 3), digests_of({1}));
    EXPECT_EQ(kept(entries, 2), digests_of({1}));
}

TEST_P(Counts, CountsRecordsThatAreAlikeAlready) {
    ClassEntries entries(GetParam());
    std::uint64_t at = 0;
    for (const std::uint64_t number : Numbers{0, 1, 2, 2, 2}) entries.append({digest_of(number), {at++, 0}});
    entries.finish();
    EXPECT_EQ(kept(entries, 2), digests_of({2}));
    EXPECT_EQ(kept(entries, 3), digests_of({}));
}

TEST_P(Counts, RefusesTooFewRecords) {
    ClassEntries entries(GetParam());
    for (std::uint64_t i = 0; i < 4; ++i) entries.append({digest_of(i), {i, 0}});
    entries.finish();
    EXPECT_THROW(kept(entries, 5), InputError);
    EXPECT_EQ(kept(entries, 4), digests_of({}));
}

}  // namespace cleave::test::classes_test
