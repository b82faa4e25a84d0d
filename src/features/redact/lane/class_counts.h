// How large the classes of records are, and which of them are large enough.
//
// Partitions are counted one by one, on several threads. A partition of n classes takes about 60 n bytes while it is
// counted, however many records they have. Results do not depend on the digests, the partitions or the threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "cleave/memory.h"
#include "features/redact/stage/class_digester.h"
#include "rows/values/scratch_memory.h"

namespace cleave {

// One entry for each record: the digest of its class, and something to know about the record. Entries are divided into
// 256 partitions by their digests, so each class is in one partition, and the partitions can be counted one by one.
// Beyond kMostInMemory bytes, entries go to an unlinked temporary file, in chunks. An entry has 32 bytes.

struct ClassEntry {
    ClassDigest of_class;
    ClassDigest detail;  // the digest of another value; or the number of the record, and 0
};

class ClassEntries {
public:
    static constexpr std::size_t kPartitions = 256;
    static constexpr std::size_t kChunkSize = 1024;  // entries
    static constexpr std::uint64_t kMostInMemory = std::uint64_t{256} << 20;

    static std::size_t partition_of(const ClassDigest& digest) { return digest[1] % kPartitions; }

    explicit ClassEntries(std::uint64_t most_in_memory = kMostInMemory)
        : most_in_memory_(most_in_memory), partitions_(kPartitions) {}

    // Use from one thread. Throws SystemError.
    void append(const ClassEntry& entry) {
        std::vector<ClassEntry>& last = partitions_[partition_of(entry.of_class)].last;
        last.push_back(entry);
        if (last.size() == kChunkSize) keep(partitions_[partition_of(entry.of_class)]);
    }
    // Call this before for_each().
    void finish();

    // Calls take(entry) for all entries of a partition, in the order in which they were appended. Any thread. Throws
    // SystemError and whatever `take` throws.
    template <class Take>
    void for_each(std::size_t partition, const Take& take) const {
        const Partition& all = partitions_[partition];
        std::vector<ClassEntry> read;
        for (const Chunk& chunk : all.chunks) {
            for (const ClassEntry& entry : entries_of(chunk, read)) take(entry);
        }
        for (const ClassEntry& entry : all.last) take(entry);
    }

private:
    struct Chunk {
        std::vector<ClassEntry> entries;  // empty if they are in the file
        std::uint64_t offset = 0;
    };
    struct Partition {
        std::vector<Chunk> chunks;
        std::vector<ClassEntry> last;
    };

    void keep(Partition& partition);
    const std::vector<ClassEntry>& entries_of(const Chunk& chunk, std::vector<ClassEntry>& read) const;

    std::uint64_t most_in_memory_;
    std::vector<Partition> partitions_;
    std::uint64_t in_memory_ = 0;  // bytes
    std::optional<TemporaryBlob> file_;
    std::uint64_t file_size_ = 0;
};

struct ClassCounts {
    std::uint64_t records = 0;
    std::uint64_t classes = 0;
    std::map<std::uint64_t, std::uint64_t> sizes;  // for each size, how many classes have it
    // The smallest number of different details in a class: the l of l-diversity (Machanavajjhala et al., 2007) in its
    // first form, "distinct". Only if details are values, and if there is a class.
    std::optional<std::uint64_t> diversity;

    // The size of the smallest class: the k of k-anonymity (Samarati and Sweeney, 1998). 0 if there are no records.
    std::uint64_t smallest() const { return sizes.empty() ? 0 : sizes.begin()->first; }
    // How many records are in classes of fewer than `size` records.
    std::uint64_t records_below(std::uint64_t size) const;
};

// `entries` is finished, and `memory` is not null. Throws SystemError and MemoryError.
ClassCounts count_classes(const ClassEntries& entries, bool has_values, unsigned threads,
                          const std::shared_ptr<MemoryManager>& memory);

// The classes that can stay if each class must have at least `least` records, and all other records are turned into
// records of the class `other`: the classes that are large enough, except `other` itself and, if `other` would then
// have some records but fewer than `least`, the smallest of them; of equally small ones, the one whose first record
// comes first. The details of the entries are the numbers of the records. Throws InputError if there are fewer than
// `least` records, but not if there are none; also throws SystemError and MemoryError.
std::vector<ClassDigest> classes_to_keep(const ClassEntries& entries, std::uint64_t least, const ClassDigest& other,
                                         unsigned threads, const std::shared_ptr<MemoryManager>& memory);

}  // namespace cleave
