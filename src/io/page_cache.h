// What the page cache holds of a mapped file, and how much it can hold. Knows no CSV.
#pragma once

#include <cstdint>

#include "cleave/blob.h"

namespace cleave {

// Whether one pass over the blob is likely to take less time than a scan by `threads` threads and a copy after it.
// Looks at 64 places of the page cache by is_cached(), so only the first look at a file can be relied on. False for
// files of at most 64 MiB. True
// - if most of the file is not in the page cache, and there are at most 4 threads: the disk then works while one thread
//   writes. More threads write the pieces in less time than one;
// - if part of the file is not in the page cache, and the file is larger than half of available_memory(): the copy
//   would read the disk again.
bool is_better_read_once(const Blob& blob, unsigned threads);

// How many bytes this process and its files in the page cache may take up: what the system has available, or the least
// limit of the process's control groups (version 1 or 2) if that is less. UINT64_MAX if nothing is known.
std::uint64_t available_memory();

// Whether the byte at `offset` of the file can be read without waiting for the disk. True where the file system cannot
// tell. If the byte is not cached, the system starts to read its page: a later call may find it there.
bool is_cached(int descriptor, std::uint64_t offset) noexcept;

}  // namespace cleave
