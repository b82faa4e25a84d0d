// One entry for each record: the digest of its class, and something to know about the record. Entries are divided into
// 256 partitions by their digests, so each class is in one partition, and the partitions can be counted one by one.
// Beyond kMostInMemory bytes, entries go to an unlinked temporary file, in chunks. An entry has 32 bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "features/redact/stage/class_digester.h"
#include "rows/values/temporary_blob.h"

namespace cleave {

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
        : most_in_memory_(most_in_memory), parts_(kPartitions) {}

    // Use from one thread. Throws SystemError.
    void append(const ClassEntry& entry) {
        std::vector<ClassEntry>& last = parts_[partition_of(entry.of_class)].last;
        last.push_back(entry);
        if (last.size() == kChunkSize) keep(parts_[partition_of(entry.of_class)]);
    }
    // Call this before for_each().
    void finish();

    // Calls take(entry) for all entries of a partition, in the order in which they were appended. Any thread. Throws
    // SystemError and whatever `take` throws.
    template <class Take>
    void for_each(std::size_t partition, const Take& take) const {
        const Part& part = parts_[partition];
        std::vector<ClassEntry> read;
        for (const Chunk& chunk : part.chunks) {
            for (const ClassEntry& entry : entries_of(chunk, read)) take(entry);
        }
        for (const ClassEntry& entry : part.last) take(entry);
    }

private:
    struct Chunk {
        std::vector<ClassEntry> entries;  // empty if they are in the file
        std::uint64_t offset = 0;
    };
    struct Part {
        std::vector<Chunk> chunks;
        std::vector<ClassEntry> last;
    };

    void keep(Part& part);
    const std::vector<ClassEntry>& entries_of(const Chunk& chunk, std::vector<ClassEntry>& read) const;

    std::uint64_t most_in_memory_;
    std::vector<Part> parts_;
    std::uint64_t in_memory_ = 0;  // bytes
    std::optional<TemporaryBlob> file_;
    std::uint64_t file_size_ = 0;
};

}  // namespace cleave
