#include "core/offsets/input_head.h"

#include <algorithm>
#include <optional>

#include "base/bits.h"
#include "base/text_bytes.h"
#include "base/too_long.h"
#include "cleave/kernel.h"
#include "core/scan/header_finder.h"
#include "core/scan/walker.h"

namespace cleave {
namespace {

// Most first records end within this many bytes. If one does not, the number is doubled until it does.
constexpr std::size_t kFirstLook = 4096;

struct FirstRange {
    std::uint64_t begin;  // after a byte order mark
    std::uint64_t end;
};

// Finds the first record that is not empty, or the first record if all are empty. Returns nothing if that record does
// not end within `bytes`, which are the beginning of the input or, if `is_all` is set, the complete input.
std::optional<FirstRange> first_record(std::span<const std::uint8_t> bytes, const Dialect& dialect, const Lead& lead,
                                       const HeaderFinder& finder, bool is_all) {
    Walker walker(dialect, kernel_by_name("scalar"), lead);
    const std::uint64_t content = finder.is_found() ? finder.content() : lead.is_preamble ? lead.size : 0;
    std::uint64_t begin = 0;
    std::uint64_t offset = 0;
    for (std::uint64_t word : walker.walk(bytes)) {
        for (; word != 0; word &= word - 1) {
            const std::uint64_t start = offset + first_bit(word);
            if (start > content) return FirstRange{std::max(begin, lead.size), start};
            begin = start;
        }
        offset += 64;
    }
    if (!is_all) return std::nullopt;
    return FirstRange{std::max(begin, lead.size), std::max<std::uint64_t>(bytes.size(), lead.size)};
}

// `bytes` must contain the complete first record.
InputHead head_of(std::span<const std::uint8_t> bytes, const Dialect& dialect, const Lead& lead,
                  const FirstRange& first, const HeaderFinder& finder, bool has_header) {
    InputHead head;
    head.has_header = has_header;
    const auto sample = bytes.subspan(first.begin, first.end - first.begin);
    head.sample.assign(sample.begin(), sample.end());
    const bool decides = dialect.header != HeaderRecord::kNone && finder.records() > 0;
    head.sample_place = {first.begin, decides ? finder.records() - 1 : lead.records()};

    head.preamble = lead.is_preamble ? lead.size : 0;
    const std::uint64_t mark = lead.is_preamble && !has_header ? 0 : bom_size(bytes);
    const std::uint64_t skipped = lead.is_preamble ? lead.size : mark;
    head.size = has_header ? first.end : skipped;
    const auto marked = bytes.first(mark);
    head.bytes.assign(marked.begin(), marked.end());
    const auto records = bytes.subspan(skipped, head.size - skipped);
    head.bytes.insert(head.bytes.end(), records.begin(), records.end());
    head.record_begin = head.bytes.size() - (has_header ? sample.size() : 0);
    head.records = has_header ? finder.records() : lead.records();
    return head;
}

}  // namespace

InputHead read_head(Input& input, const Dialect& dialect, HeaderMode mode, std::uint64_t max_record) {
    const bool has_header = header_mode(mode, dialect) != HeaderMode::kNone;
    for (std::size_t wanted = kFirstLook;; wanted *= 2) {
        const auto bytes = input.peek(wanted);
        const bool is_all = bytes.size() < wanted;
        Lead lead = lead_of(bytes, dialect);
        if (is_all) lead.size = std::min<std::uint64_t>(lead.size, bytes.size());
        const bool has_end = lead.is_preamble && lead.size < bytes.size();
        if (has_end && !is_line_break(bytes[static_cast<std::size_t>(lead.size) - 1])) throw InputChangedError();
        HeaderFinder finder(dialect, lead);
        finder.feed(bytes);
        if (!finder.is_found() && !is_all) continue;
        const std::optional<FirstRange> first = first_record(bytes, dialect, lead, finder, is_all);
        if (!first) {
            if (bytes.size() - finder.content() > max_record) {
                throw_too_long(max_record, {finder.content(), 0});
            }
            continue;
        }
        return head_of(bytes, dialect, lead, *first, finder, has_header);
    }
}

void refuse_marked_quote(const InputHead& head, const Dialect& dialect) {
    const std::size_t mark = bom_size(head.bytes);
    const bool is_marked = !head.has_header && mark > 0 && head.sample_place.offset == mark;
    if (!is_marked || head.sample.empty() || head.sample.front() != dialect.quote) return;
    throw InputError(
        "a quote after a byte order mark, which some readers take for plain data and some for an opening quote",
        head.sample_place);
}

}  // namespace cleave
