// Writing a gzip member, by several threads.
//
// The bytes are divided into blocks of a fixed size. Each is deflated by itself, by whichever thread is free:
//
//     bytes    |      block 0      |      block 1      | rest |
//                             |====|              |====|         the 32 KiB before a block are its dictionary
//     member   header | deflated 0 | 00 00 ff ff | deflated 1 | 00 00 ff ff | the rest, as the last one | CRC-32 and
//     size
//
// A block may refer back into its dictionary, as in a stream made in one go. Each but the last one ends with an empty
// stored block, 00 00 ff ff, which fills its last byte, so that the next one can follow (zlib's Z_SYNC_FLUSH). The
// checksums of the blocks are combined. So the member depends on the bytes and the level alone, and one that is smaller
// than a block is what zlib makes of it in one go. The program pigz has shown that every reader takes such a member for
// any other.
#pragma once

#include <memory>

#include "io/encoder.h"

namespace cleave {

// Level 1 to 9. `helpers` and `cancellation` may be null, and must outlive the encoder and the tasks of the helpers.
std::unique_ptr<Encoder> make_gzip_encoder(int level, Helpers* helpers, const Cancellation* cancellation);

}  // namespace cleave
