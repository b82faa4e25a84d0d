#include "choices.h"

#include <algorithm>
#include <vector>

#include "inputs.h"

namespace cleave::test {

std::uint8_t Choices::byte() {
    if (left_.empty()) return 0;
    const std::uint8_t byte = left_.front();
    left_ = left_.subspan(1);
    return byte;
}

std::size_t Choices::below(std::size_t limit) {
    std::size_t number = byte();
    if (limit > 256) number = number * 256 + byte();
    return number % limit;
}

std::uint64_t Choices::number() {
    std::uint64_t number = 0;
    for (unsigned i = 0; i < 8; ++i) number = number * 256 + byte();
    return number;
}

bool Choices::rarely(std::size_t count) const {
    // FNV-1a.
    std::uint64_t hash = 0xCBF29CE484222325;
    for (const std::uint8_t byte : input_) hash = (hash ^ byte) * 0x100000001B3;
    return hash % count == 0;
}

Dialect Choices::dialect() {
    static const std::vector<Dialect> kDialects = every_dialect_and_rule();
    const Dialect usual = kDialects[below(kDialects.size())];
    if (!one_in(8)) return usual;
    Dialect unusual = usual;
    unusual.delimiter = byte();
    if (unusual.quote) unusual.quote = byte();
    if (unusual.escape) unusual.escape = byte();
    return dialect_fault(unusual) ? usual : unusual;
}

HeaderMode Choices::header_mode() {
    constexpr HeaderMode kModes[] = {HeaderMode::kRepeat, HeaderMode::kFirst, HeaderMode::kDrop, HeaderMode::kNone};
    return kModes[below(std::size(kModes))];
}

HeaderRecord Choices::header_record() {
    const std::size_t choice = below(8);
    return choice == 0 ? HeaderRecord::kFirst : choice == 1 ? HeaderRecord::kNone : HeaderRecord::kFirstNotEmpty;
}

std::string Choices::text(std::size_t size) {
    const auto bytes = left_.first(std::min(size, left_.size()));
    left_ = left_.subspan(bytes.size());
    return {bytes.begin(), bytes.end()};
}

std::string repeated(std::string_view text, std::size_t size) {
    std::string all(text.empty() ? size : 0, 'a');
    all.reserve(size);
    while (all.size() < size) all += text.substr(0, size - all.size());
    return all;
}

}  // namespace cleave::test
