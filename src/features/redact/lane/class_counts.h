// How large the classes of records are, and which of them are large enough.
//
// Partitions are counted one by one, on several threads. A partition of n classes takes about 60 n bytes while it is
// counted, however many records they have. Results do not depend on the digests, the partitions or the threads.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "cleave/memory.h"
#include "features/redact/lane/class_entries.h"

namespace cleave {

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
