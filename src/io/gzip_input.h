// What an index does with an input that is a gzip file.
#pragma once

#include <memory>

#include "cleave/input.h"
#include "io/file_stream.h"
#include "io/gzip_blob.h"

namespace cleave {

// Friends of Input.
struct GzipInput {
    // Whether it is a gzip file that is read from its first byte, as a stream of bytes. Once peek() was called.
    static bool is_gzip_file(const Input& input);
    // Starts to read such an input again, from its beginning. Throws SystemError.
    static void restart(Input& input, std::shared_ptr<DecodeObserver> observer);
    // Makes such an input a blob.
    static void become_blob(Input& input, std::shared_ptr<const GzipMap> map);
};

}  // namespace cleave
