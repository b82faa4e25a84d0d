#include "plan/index_columns.h"

#include <algorithm>
#include <vector>

#include "base/too_long.h"

namespace cleave {

InputColumns columns_of(const RecordIndex& index, Locator& locator, bool has_header) {
    const std::uint64_t records = index.findings().header_records;
    if (records == 0) return {};
    const Boundary at = locator.start_of(records - 1);
    const std::uint64_t begin = std::max(at.offset, index.bom());
    const std::uint64_t end = locator.start_of(records).offset;
    if (end < begin) throw InputChangedError();
    if (end - begin > kMaxRecordLimit) throw_too_long(kMaxRecordLimit, {begin, at.record});
    std::vector<std::uint8_t> buffer;
    const auto record = index.blob().lend(begin, static_cast<std::size_t>(end - begin), buffer);
    try {
        return input_columns(record, index.dialect(), has_header);
    } catch (const InputError& error) {
        const std::uint64_t offset = error.place() ? error.place()->offset : 0;
        throw InputError(error.what(), Place{begin + offset, at.record});
    }
}

}  // namespace cleave
