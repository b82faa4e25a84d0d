// Looks at the directory of a zip archive that is a file, before its data is read.
#pragma once

#include "core/reader/source.h"

namespace cleave {

// Throws InputError if the directory at the end of the archive lists several files. Their names are then known before
// the first of them has been decoded. Does nothing if it finds no directory: the decoder judges the archive. Throws
// what Source::read_at() throws, and std::bad_alloc.
void refuse_several_files(const Source& source);

}  // namespace cleave
