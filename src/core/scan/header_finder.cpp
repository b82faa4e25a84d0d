#include "core/scan/header_finder.h"

#include <algorithm>
#include <vector>

#include "base/text_bytes.h"
#include "cleave/scan.h"

namespace cleave {

HeaderFinder::HeaderFinder(const Dialect& dialect, const Lead& lead) : dialect_(dialect), lead_(lead) {}

void HeaderFinder::feed(std::span<const std::uint8_t> bytes) {
    if (is_found_) return;
    if (lead_.is_preamble && offset_ < lead_.size) {
        const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), lead_.size - offset_));
        offset_ += size;
        bytes = bytes.subspan(size);
    }
    for (const std::uint8_t byte : bytes) {
        if (dialect_.header == HeaderRecord::kFirst || (offset_ >= lead_.size && !is_line_break(byte))) {
            is_found_ = true;
            return;
        }
        if (is_line_break(byte) && ends_record(byte)) ++ended_;
        is_after_return_ = byte == '\r';
        ++offset_;
    }
}

// Under Terminator::kAny, the LF of a CRLF does not end another record, because the CR before it has already ended one.
bool HeaderFinder::ends_record(std::uint8_t line_break) const {
    switch (dialect_.terminator) {
        case Terminator::kLf: return line_break == '\n';
        case Terminator::kCr: return line_break == '\r';
        case Terminator::kAny: break;
    }
    return line_break == '\r' || !is_after_return_;
}

std::uint64_t HeaderFinder::records() const {
    const std::uint64_t preamble = offset_ > 0 ? lead_.records() : 0;
    if (dialect_.header == HeaderRecord::kNone) return preamble;
    if (is_found_) return preamble + ended_ + 1;
    return preamble + (offset_ > (lead_.is_preamble ? lead_.size : 0) ? 1 : 0);
}

std::uint64_t guiding_records(const RecordIndex& index) {
    if (index.dialect().header != HeaderRecord::kNone) return index.findings().header_records;
    constexpr std::size_t kSliceSize = std::size_t{1} << 20;
    Dialect dialect = index.dialect();
    dialect.header = HeaderRecord::kFirstNotEmpty;
    HeaderFinder finder(dialect, index.lead());
    const std::uint64_t size = index.end().offset;
    std::vector<std::uint8_t> buffer;
    for (std::uint64_t offset = 0; offset < size && !finder.is_found(); offset += kSliceSize) {
        finder.feed(index.blob().lend(offset, std::min<std::uint64_t>(kSliceSize, size - offset), buffer));
    }
    return finder.records();
}

}  // namespace cleave
