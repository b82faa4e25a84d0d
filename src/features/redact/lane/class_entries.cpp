#include "features/redact/lane/class_entries.h"

#include <cstring>
#include <utility>

namespace cleave {
namespace {

constexpr std::size_t kChunkBytes = ClassEntries::kChunkSize * sizeof(ClassEntry);

}  // namespace

void ClassEntries::keep(Part& part) {
    if (in_memory_ + kChunkBytes <= most_in_memory_) {
        in_memory_ += kChunkBytes;
        part.chunks.push_back({std::exchange(part.last, {}), 0});
        return;
    }
    if (!file_) file_.emplace();
    file_->append({reinterpret_cast<const std::uint8_t*>(part.last.data()), kChunkBytes}, nullptr);
    part.chunks.push_back({{}, file_size_});
    file_size_ += kChunkBytes;
    part.last.clear();
}

void ClassEntries::finish() {
    if (file_) file_->finish();
}

const std::vector<ClassEntry>& ClassEntries::entries_of(const Chunk& chunk, std::vector<ClassEntry>& read) const {
    if (!chunk.entries.empty()) return chunk.entries;
    std::vector<std::uint8_t> buffer;
    const auto bytes = file_->blob().lend(chunk.offset, kChunkBytes, buffer);
    read.resize(kChunkSize);
    std::memcpy(read.data(), bytes.data(), kChunkBytes);
    file_->throw_if_lost();
    return read;
}

}  // namespace cleave
