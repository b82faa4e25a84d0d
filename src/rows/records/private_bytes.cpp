#include "rows/records/private_bytes.h"

#include <cstring>

namespace cleave {

void copy_bytes(const Blob& blob, std::uint64_t offset, std::span<std::uint8_t> into) {
    if (into.empty()) return;
    const auto bytes = blob.mapped(offset, into.size());
    if (bytes.empty()) return blob.read(offset, into);
    std::memcpy(into.data(), bytes.data(), into.size());
    blob.throw_if_lost();
}

}  // namespace cleave
