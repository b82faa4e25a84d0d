#include "job/input_head.h"

#include <algorithm>
#include <optional>

#include "base/bits.h"
#include "base/too_long.h"
#include "cleave/kernel.h"
#include "scan/header_finder.h"
#include "scan/walker.h"

namespace cleave {
namespace {

// Most first records end within this many bytes. For a longer one the number is doubled until the record ends.
constexpr std::size_t kFirstLook = 4096;

struct FirstRecord {
    std::uint64_t begin;  // a byte order mark left out
    std::uint64_t end;
};

// The record that decides about the header, or the first one if all are empty. Nothing if it does not end in `bytes`,
// which are the beginning of the input, or all of it.
std::optional<FirstRecord> first_record(std::span<const std::uint8_t> bytes, const Dialect& dialect, std::uint64_t bom,
                                        const HeaderFinder& finder, bool is_all) {
    Walker walker(dialect, kernel_by_name("scalar"), bom);
    const std::uint64_t content = finder.is_found() ? finder.content() : 0;
    std::uint64_t begin = 0;
    std::uint64_t offset = 0;
    for (std::uint64_t word : walker.walk(bytes)) {
        for (; word != 0; word &= word - 1) {
            const std::uint64_t start = offset + first_bit(word);
            if (start > content) return FirstRecord{std::max(begin, bom), start};
            begin = start;
        }
        offset += 64;
    }
    if (!is_all) return std::nullopt;
    return FirstRecord{std::max(begin, bom), std::max<std::uint64_t>(bytes.size(), bom)};
}

}  // namespace

InputHead read_head(Input& input, const Dialect& dialect, HeaderMode mode, std::uint64_t max_record) {
    const bool has_header = header_mode(mode, dialect) != HeaderMode::kNone;
    for (std::size_t wanted = kFirstLook;; wanted *= 2) {
        const auto bytes = input.peek(wanted);
        const bool is_all = bytes.size() < wanted;
        const std::uint64_t bom = bom_size(bytes);
        HeaderFinder finder(dialect, bom);
        finder.feed(bytes);
        if (!finder.is_found() && !is_all) continue;
        const std::optional<FirstRecord> first = first_record(bytes, dialect, bom, finder, is_all);
        if (!first) {
            if (bytes.size() - finder.content() > max_record) {
                throw_too_long(max_record, {finder.content(), 0});
            }
            continue;
        }
        InputHead head;
        head.has_header = has_header;
        const auto sample = bytes.subspan(first->begin, first->end - first->begin);
        head.sample.assign(sample.begin(), sample.end());
        const auto before = bytes.first(head.has_header ? first->end : bom);
        head.bytes.assign(before.begin(), before.end());
        head.record_begin = head.has_header ? first->begin : before.size();
        head.records = head.has_header ? finder.records() : 0;
        head.sample_place = {first->begin, std::max<std::uint64_t>(finder.records(), 1) - 1};
        return head;
    }
}

void refuse_marked_quote(const InputHead& head, const Dialect& dialect) {
    const bool is_marked = !head.has_header && bom_size(head.bytes) > 0;
    if (!is_marked || head.sample.empty() || head.sample.front() != dialect.quote) return;
    throw InputError("a quote behind a byte order mark, which readers take for plain data or for an opening quote",
                     head.sample_place);
}

}  // namespace cleave
