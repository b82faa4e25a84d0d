// What an index does with an input that is a gzip file.
#pragma once

#include <memory>

#include "cleave/input.h"
#include "core/reader/input_parts.h"
#include "features/compressed/decoded_stream.h"
#include "features/compressed/gzip_blob.h"

namespace cleave {

struct GzipInput {
    // Whether it is a gzip file that is read from its first byte, as a stream of bytes. Once peek() was called.
    static bool is_gzip_file(const Input& input) {
        const Source& source = InputParts::source(input);
        return input.is_stream() && input.compression() == Compression::kGzip && source.is_file() &&
               source.size() > 0 && source.offset == 0 && input.encoding() == Encoding::kBytes;
    }
    // Starts to read such an input again, from its beginning. Throws SystemError.
    static void restart(Input& input, std::shared_ptr<DecodeObserver> observer) {
        InputParts::restart(input, "make_index()", std::move(observer));
    }
    // Makes such an input a blob.
    static void become_blob(Input& input, std::shared_ptr<const GzipMap> map) {
        InputParts::become_blob(input, "read_by_index()",
                                std::make_unique<GzipBlob>(InputParts::source(input), std::move(map)));
    }
};

}  // namespace cleave
