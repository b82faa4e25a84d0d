// How much of a mapped file is in the page cache, and how much the cache can hold. Knows nothing about CSV.
#pragma once

#include <cstdint>

#include "cleave/blob.h"

namespace cleave {

// Whether one pass over the blob is likely to take less time than a scan with `threads` threads followed by a copy.
// Probes 64 offsets in the file with is_cached(), which starts reads, so only the first call for a file is reliable.
// The result is false for files of at most 64 MiB. It is true
// - if most of the file is not in the page cache and there are at most 4 threads: in one pass, the disk works while a
//   thread writes. More than 4 threads gain more by writing the pieces in parallel;
// - if part of the file is not in the page cache and the file is larger than half of available_memory(): the copy
//   would read it from the disk again.
bool is_better_read_once(const Blob& blob, unsigned threads);

// The number of bytes that this process and its files in the page cache may take up: what the system has available or,
// if lower, the lowest limit of the process's control groups (version 1 or 2). UINT64_MAX if neither is known.
std::uint64_t available_memory();

// Whether the byte at `offset` can be read without waiting for the disk. True where the file system cannot tell. If the
// byte is not cached, the system starts to read its page, so a later call may find it.
bool is_cached(int descriptor, std::uint64_t offset) noexcept;

}  // namespace cleave
