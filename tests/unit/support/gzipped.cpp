#include "gzipped.h"

#include <cstdint>
#include <span>

#include "core/writer/encoder.h"
#include "inputs.h"

namespace cleave::test {

std::string gzipped(const std::string& text) {
    std::string packed;
    const auto take = [&](std::span<const std::uint8_t> bytes) { packed.append(bytes.begin(), bytes.end()); };
    const auto encoder = make_encoder({Compression::kGzip, 1});
    encoder->encode(bytes_of(text), take);
    encoder->finish(take);
    return packed;
}

}  // namespace cleave::test
