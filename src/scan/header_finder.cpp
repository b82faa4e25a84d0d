#include "scan/header_finder.h"

namespace cleave {

HeaderFinder::HeaderFinder(const Dialect& dialect, std::uint64_t bom) : dialect_(dialect), bom_(bom) {}

void HeaderFinder::feed(std::span<const std::uint8_t> bytes) {
    if (is_found_) return;
    for (const std::uint8_t byte : bytes) {
        const bool is_line_break = byte == '\n' || byte == '\r';
        if (dialect_.header == HeaderRecord::kFirst || (offset_ >= bom_ && !is_line_break)) {
            is_found_ = true;
            return;
        }
        if (is_line_break && ends_record(byte)) ++ended_;
        is_after_return_ = byte == '\r';
        ++offset_;
    }
}

// The LF of a CRLF ends nothing more under Terminator::kAny: the CR before it has ended the record.
bool HeaderFinder::ends_record(std::uint8_t line_break) const {
    switch (dialect_.terminator) {
        case Terminator::kLf: return line_break == '\n';
        case Terminator::kCr: return line_break == '\r';
        case Terminator::kAny: break;
    }
    return line_break == '\r' || !is_after_return_;
}

std::uint64_t HeaderFinder::records() const {
    if (dialect_.header == HeaderRecord::kNone) return 0;
    if (is_found_) return ended_ + 1;
    return offset_ > 0 ? 1 : 0;
}

}  // namespace cleave
