// In place of what reads and writes compressed data.
#include <string>

#include "cleave/error.h"
#include "core/reader/stream_decoder.h"
#include "core/writer/encoder.h"

namespace cleave {

// NOLINTBEGIN(performance-unnecessary-value-param): what decodes keeps the observer
std::unique_ptr<StreamDecoder> make_stream_decoder(SourceReader& /*reader*/, Compression format, Conversion conversion,
                                                   std::shared_ptr<DecodeObserver> /*observer*/) {
    if (format != Compression::kNone) {
        throw InputError("it is compressed with " + std::string(compression_name(format)) +
                         ", which this build of cleave does not read");
    }
    if (conversion.encoding != Encoding::kBytes) throw ArgumentError("this build of cleave does not convert text");
    return nullptr;
}
// NOLINTEND(performance-unnecessary-value-param)

std::unique_ptr<Encoder> make_encoder(const CompressionOptions& /*wanted*/, Helpers* /*helpers*/,
                                      const Cancellation* /*cancellation*/) {
    throw ArgumentError("this build of cleave does not compress");
}

}  // namespace cleave
