#include "core/reader/spill.h"

#include <algorithm>
#include <cerrno>

namespace cleave {
void SpillBuffer::append(std::span<const std::uint8_t> bytes) {
    if (memory_.size() + bytes.size() <= kMaxInMemory) {
        memory_.insert(memory_.end(), bytes.begin(), bytes.end());
        return;
    }
    if (!file_.is_open()) file_ = open_unlinked_temporary();
    write_all(file_.get(), memory_, temporary_name());
    write_all(file_.get(), bytes, temporary_name());
    spilled_ += memory_.size() + bytes.size();
    memory_.clear();
}

void SpillBuffer::read(std::uint64_t offset, std::span<std::uint8_t> into) const {
    const auto in_file =
        static_cast<std::size_t>(std::min<std::uint64_t>(into.size(), spilled_ - std::min(spilled_, offset)));
    if (in_file > 0 && read_at(file_.get(), offset, into.first(in_file), temporary_name()) < in_file) {
        errno = EIO;  // all of it was written
        throw_errno(temporary_name());
    }
    const auto rest = into.subspan(in_file);
    if (rest.empty()) return;
    std::ranges::copy(std::span(memory_).subspan(static_cast<std::size_t>(offset + in_file - spilled_), rest.size()),
                      rest.begin());
}

void SpillBuffer::for_each_part(FunctionRef<void(std::span<const std::uint8_t>)> take) const {
    std::vector<std::uint8_t> part(static_cast<std::size_t>(std::min<std::uint64_t>(spilled_, kMaxInMemory)));
    for (std::uint64_t offset = 0; offset < spilled_; offset += part.size()) {
        part.resize(static_cast<std::size_t>(std::min<std::uint64_t>(part.size(), spilled_ - offset)));
        read(offset, part);
        take(part);
    }
    if (!memory_.empty()) take(memory_);
}

void SpillBuffer::clear() {
    file_ = Fd();
    spilled_ = 0;
    memory_.clear();
}

}  // namespace cleave
