// What the page cache holds of a mapped file, and how much it can hold. Knows no CSV.
#pragma once

#include <cstdint>

#include "cleave/blob.h"

namespace cleave {

// Whether reading the blob from front to end, once, is likely to take less time than a scan by `threads` threads and a
// copy after it. Only of files of more than 64 MiB; looks at 64 places of the page cache. True
// - if most of the file is not there, and there are at most 4 threads: the disk is busy then while a thread writes.
// More
//   threads write the pieces in less time than one;
// - if part of it is not there, and it is more than half of available_memory(): the copy would read the disk again.
bool is_better_read_once(const Blob& blob, unsigned threads);

// How many bytes this process and its files in the page cache may yet take up: what the system says is available, or
// the least limit of the process's control groups (version 1 or 2) if that is less. UINT64_MAX if nothing is known.
std::uint64_t available_memory();

// Whether the byte at `offset` of the file can be read without waiting for the disk. True where the file system cannot
// tell.
bool is_cached(int descriptor, std::uint64_t offset) noexcept;

}  // namespace cleave
