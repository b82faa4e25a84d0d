// Looks at the directory of a zip archive that is a file, before its data is read.
#pragma once

#include <cstdint>
#include <string>

namespace cleave {

// Throws InputError if the directory at the end of the archive lists several files. Their names are then known before
// the first of them has been decoded. Does nothing if it finds no directory: the decoder judges the archive. `begin`
// and `end` are offsets in the file. Throws SystemError and std::bad_alloc.
void refuse_several_files(int descriptor, std::uint64_t begin, std::uint64_t end, const std::string& name);

}  // namespace cleave
