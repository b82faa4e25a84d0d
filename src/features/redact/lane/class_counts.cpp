#include "features/redact/lane/class_counts.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/mutex.h"
#include "base/parallel.h"
#include "cleave/error.h"
#include "rows/values/key_table.h"

namespace cleave {
namespace {

constexpr std::size_t kChunkBytes = ClassEntries::kChunkSize * sizeof(ClassEntry);

std::string_view text_of(const auto& digests) {
    return {reinterpret_cast<const char*>(digests.data()), sizeof digests};
}

struct CountedClass {
    std::uint64_t records = 0;
    std::uint64_t details = 0;  // how many different ones, if they are values
    std::uint64_t first = 0;    // the smallest detail, if they are not
    ClassDigest digest{};
};

// Counts one partition.
class Partition {
public:
    Partition(const ClassEntries& entries, std::size_t number, bool has_values,
              const std::shared_ptr<MemoryManager>& memory)
        : table_(memory) {
        KeyTable pairs(memory);
        entries.for_each(number, [&](const ClassEntry& entry) {
            CountedClass& one = counted(entry);
            ++one.records;
            if (!has_values) return;
            const std::array<ClassDigest, 2> pair{entry.of_class, entry.detail};
            const std::size_t before = pairs.size();
            pairs.find_or_add(entry.of_class[0] ^ entry.detail[0], text_of(pair));
            one.details += pairs.size() - before;
        });
    }

    const std::vector<CountedClass>& classes() const { return classes_; }

private:
    CountedClass& counted(const ClassEntry& entry) {
        const std::uint32_t number = table_.find_or_add(entry.of_class[0], text_of(entry.of_class));
        if (number == classes_.size()) classes_.push_back({0, 0, entry.detail[0], entry.of_class});
        return classes_[number];
    }

    KeyTable table_;
    std::vector<CountedClass> classes_;
};

// The class with the smaller rank goes first. Records are appended in order, so the first detail of a class is the
// number of its first record.
std::pair<std::uint64_t, std::uint64_t> rank_of(const CountedClass& one) { return {one.records, one.first}; }

// What classes_to_keep() finds in all partitions together.
struct Choice {
    Mutex mutex;
    std::vector<CountedClass> large CLEAVE_GUARDED_BY(mutex);
    std::uint64_t others CLEAVE_GUARDED_BY(mutex) = 0;  // records of the class `other`, or of small ones
};

}  // namespace

void ClassEntries::keep(Partition& partition) {
    if (in_memory_ + kChunkBytes <= most_in_memory_) {
        in_memory_ += kChunkBytes;
        partition.chunks.push_back({std::exchange(partition.last, {}), 0});
        return;
    }
    if (!file_) file_.emplace();
    file_->append({reinterpret_cast<const std::uint8_t*>(partition.last.data()), kChunkBytes}, nullptr);
    partition.chunks.push_back({{}, file_size_});
    file_size_ += kChunkBytes;
    partition.last.clear();
}

void ClassEntries::finish() {
    if (file_) file_->finish();
}

const std::vector<ClassEntry>& ClassEntries::entries_of(const Chunk& chunk, std::vector<ClassEntry>& read) const {
    if (!chunk.entries.empty()) return chunk.entries;
    std::vector<std::uint8_t> buffer;
    const auto bytes = file_->blob().lend(chunk.offset, kChunkBytes, buffer);
    read.resize(kChunkSize);
    std::memcpy(read.data(), bytes.data(), kChunkBytes);
    file_->throw_if_lost();
    return read;
}

std::uint64_t ClassCounts::records_below(std::uint64_t size) const {
    std::uint64_t below = 0;
    for (auto one = sizes.begin(); one != sizes.lower_bound(size); ++one) below += one->first * one->second;
    return below;
}

ClassCounts count_classes(const ClassEntries& entries, bool has_values, unsigned threads,
                          const std::shared_ptr<MemoryManager>& memory) {
    ClassCounts counts;
    Mutex mutex;
    parallel_for(ClassEntries::kPartitions, threads, [&](std::size_t number) {
        const Partition partition(entries, number, has_values, memory);
        const MutexLock lock(mutex);
        for (const CountedClass& one : partition.classes()) {
            counts.records += one.records;
            ++counts.classes;
            ++counts.sizes[one.records];
            if (has_values) counts.diversity = std::min(counts.diversity.value_or(one.details), one.details);
        }
    });
    return counts;
}

std::vector<ClassDigest> classes_to_keep(const ClassEntries& entries, std::uint64_t least, const ClassDigest& other,
                                         unsigned threads, const std::shared_ptr<MemoryManager>& memory) {
    Choice choice;
    parallel_for(ClassEntries::kPartitions, threads, [&](std::size_t number) {
        const Partition partition(entries, number, false, memory);
        const MutexLock lock(choice.mutex);
        for (const CountedClass& one : partition.classes()) {
            if (one.records < least || one.digest == other) {
                choice.others += one.records;
            } else {
                choice.large.push_back(one);
            }
        }
    });
    const MutexLock lock(choice.mutex);
    std::vector<ClassDigest> kept;
    kept.reserve(choice.large.size());
    for (const CountedClass& one : choice.large) kept.push_back(one.digest);
    if (choice.others == 0 || choice.others >= least) return kept;
    const auto smallest = std::ranges::min_element(choice.large, {}, rank_of);
    if (smallest == choice.large.end()) {
        throw InputError("there are fewer records than the k of suppress, so no combination can be that of k records");
    }
    std::erase(kept, smallest->digest);
    return kept;
}

}  // namespace cleave
