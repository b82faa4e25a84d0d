#include "records/private_bytes.h"

#include <cstring>
#include <vector>

#include "io/file_blob.h"

namespace cleave {

void read_bytes(const Blob& blob, std::uint64_t offset, std::span<std::uint8_t> into) {
    if (into.empty()) return;
    if (const auto* file = dynamic_cast<const FileBlob*>(&blob)) return file->read(offset, into);
    copy_bytes(blob, offset, into);
}

void copy_bytes(const Blob& blob, std::uint64_t offset, std::span<std::uint8_t> into) {
    if (into.empty()) return;
    const auto* const file = dynamic_cast<const FileBlob*>(&blob);
    if (file != nullptr && !file->is_mapped()) return file->read(offset, into);
    std::vector<std::uint8_t> lent;
    const auto bytes = blob.lend(offset, into.size(), lent);
    std::memcpy(into.data(), bytes.data(), into.size());
    blob.throw_if_lost();
}

}  // namespace cleave
