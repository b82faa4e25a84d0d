#include "rows/values/batch_keys.h"

#include "cleave/error.h"

namespace cleave {

BatchKeys::BatchKeys(const KeyField& key, const Dialect& dialect, const Kernel& kernel,
                     const std::shared_ptr<MemoryManager>& memory)
    : key_(key), reader_(dialect, kernel, Reading::kByDialect, 0, memory), value_(memory) {}

void BatchKeys::read(std::span<const std::uint8_t> written, std::size_t count) {
    changes_.assign(count, 0);
    if (count == 0) return;
    block_ = reader_.read(written, {}, true);
    if (block_.record_count() != count) throw LogicError("stage: what was written has other records");
    value_.keep(key_, key_.raw(block_, 0));
    for (std::size_t r = 1; r < count; ++r) {
        const Value raw = key_.raw(block_, r);
        if (value_.matches(key_, raw)) continue;
        changes_[r] = 1;
        value_.keep(key_, raw);
    }
}

void BatchKeys::follow(Last& last) {
    if (changes_.empty()) return;
    const bool is_same = last.is_known_ && last.value_.matches(key_, key_.raw(block_, 0));
    changes_.front() = is_same ? 0 : 1;
    last.value_.keep(key_, key_.raw(block_, block_.record_count() - 1));
    last.is_known_ = true;
}

}  // namespace cleave
