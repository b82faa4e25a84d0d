#include "decoded.h"

#include <algorithm>
#include <span>
#include <vector>

#include "cleave/error.h"
#include "features/compressed/decoder.h"
#include "features/compressed/inflate/gzip_reader.h"
#include "inputs.h"

namespace cleave::test {
namespace {

// Calls decode(from) for the bytes so far, until it returns nothing; then adds `part` bytes to those that are left.
template <class Decode, class IsWhole>
DecodedInOrder decode_in_parts(std::string_view stream, std::size_t part, std::size_t most, const Decode& decode,
                               const IsWhole& is_whole) {
    DecodedInOrder result;
    std::size_t given = 0;
    std::span<const std::uint8_t> from;
    try {
        for (bool is_end = false; !is_end;) {
            const std::size_t size = std::min(part, stream.size() - given);
            is_end = size == 0;
            given += size;
            from = bytes_of(stream).subspan(given - size - from.size(), from.size() + size);
            for (auto bytes = decode(from); !bytes.empty(); bytes = decode(from)) {
                result.text.append(bytes.begin(), bytes.end());
                if (result.text.size() >= most) return result;
            }
        }
        result.is_whole = is_whole();
    } catch (const InputError& error) {
        result.error = error.what();
    }
    result.left = stream.size() - given + from.size();
    return result;
}

}  // namespace

DecodedInOrder decoded_in_order(std::string_view stream, Compression format, std::size_t part, std::size_t room,
                                std::size_t most) {
    using Bytes = std::span<const std::uint8_t>;
    if (format == Compression::kGzip) {
        GzipReader reader;
        return decode_in_parts(
            stream, part, most, [&](Bytes& from) { return reader.decode(from); }, [&] { return reader.is_whole(); });
    }
    const auto decoder = make_decoder(format);
    std::vector<std::uint8_t> into(room);
    return decode_in_parts(
        stream, part, most, [&](Bytes& from) { return Bytes(into).first(decoder->decode(from, into)); },
        [&] { return decoder->is_whole(); });
}

}  // namespace cleave::test
