// Writes a gzip member with several threads.
//
// The bytes are divided into blocks of a fixed size, each of which is deflated separately, by whichever thread is free:
//
//     bytes    |      block 0      |      block 1      | rest |
//                             |====|              |====|         the 32 KiB before a block are its dictionary
//     member   header | deflated 0 | 00 00 ff ff | deflated 1 | 00 00 ff ff | rest, as last block | CRC-32, size
//
// As in a stream that is compressed in one go, a block may refer back into its dictionary. Each block but the last ends
// with an empty stored block, 00 00 ff ff, which pads the last byte so that the next block can follow (zlib's
// Z_SYNC_FLUSH). The checksums of the blocks are combined. The member therefore depends on the bytes and the level
// alone, and a member smaller than a block is exactly what zlib produces in one go. The program pigz has shown that
// every reader accepts such members.
#pragma once

#include <memory>

#include "core/writer/encoder.h"

namespace cleave {

// `level` is 1 to 9. `helpers` and `cancellation` may be null, and must outlive the encoder and the helpers' tasks.
std::unique_ptr<Encoder> make_gzip_encoder(int level, Helpers* helpers, const Cancellation* cancellation);

}  // namespace cleave
