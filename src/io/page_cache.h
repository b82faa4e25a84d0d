// What the page cache holds of a mapped file, and how much it can hold. Knows no CSV.
#pragma once

#include <cstdint>

#include "cleave/blob.h"

namespace cleave {

// Whether a second pass over the blob would read the disk again: it is a file of more than 64 MiB, part of it is not in
// the page cache, and it is more than half of available_memory(). Looks at 64 places.
bool is_too_large_to_cache(const Blob& blob);

// How many bytes this process and its files in the page cache may yet take up: what the system says is available, or
// the least limit of the process's control groups (version 1 or 2) if that is less. UINT64_MAX if nothing is known.
std::uint64_t available_memory();

// Whether the byte at `offset` of the file can be read without waiting for the disk. True where the file system cannot
// tell.
bool is_cached(int descriptor, std::uint64_t offset) noexcept;

}  // namespace cleave
