#define XXH_INLINE_ALL  // compiles the hash in; no library is linked
#include "keys/key_reader.h"

#include <xxhash.h>

#include <cstring>
#include <utility>

#include "cleave/memory.h"
#include "cleave/stage.h"

namespace cleave {
namespace {

constexpr std::size_t kSizeOfSize = sizeof(std::uint64_t);

std::string_view view_of(const std::uint8_t* data, std::uint64_t size) {
    return {reinterpret_cast<const char*>(data), static_cast<std::size_t>(size)};
}

}  // namespace

std::uint64_t hash_of_key(std::string_view key, std::uint64_t seed) {
    return XXH3_64bits_withSeed(key.data(), key.size(), seed);
}

std::string_view value_in_key(std::string_view key, std::size_t column, std::size_t columns) {
    if (columns == 1) return key;
    for (;; --column) {
        std::uint64_t size = 0;
        std::memcpy(&size, key.data(), kSizeOfSize);
        key.remove_prefix(kSizeOfSize);
        if (column == 0) return key.substr(0, static_cast<std::size_t>(size));
        key.remove_prefix(static_cast<std::size_t>(size));
    }
}

KeyReader::KeyReader(const Dialect& dialect, std::span<const KeyColumn> columns, bool accepts_missing,
                     std::uint64_t seed, std::shared_ptr<MemoryManager> memory)
    : seed_(seed), copies_(std::move(memory)) {
    for (const KeyColumn& column : columns) fields_.emplace_back(dialect, column, accepts_missing);
}

void KeyReader::read(const RecordBlock& block) {
    read(block.record_count(), block.bytes.size(),
         [&](std::size_t r, std::size_t i) { return fields_[i].raw(block, r); });
}

void KeyReader::read(const StageWorker& worker) {
    read(worker.starts().size(), worker.size_of_keys(), [&](std::size_t r, std::size_t i) {
        const auto field = worker.key_field(r, i);
        return Value{field.data(), field.size()};
    });
}

// `size` must be at least the total size of all fields. field_of(r, i) is field i of the key of record r.
template <class FieldOf>
void KeyReader::read(std::size_t records, std::size_t size, const FieldOf& field_of) {
    keys_.clear();
    keys_.reserve(records);
    copied_ = 0;
    // A value is never larger than its field, so the copies never move while there are views of them.
    const std::size_t sizes = fields_.size() > 1 ? kSizeOfSize * records * fields_.size() : 0;
    copies_.renew(size + sizes);
    for (std::size_t r = 0; r < records; ++r) {
        const std::string_view key = fields_.size() == 1 ? value(field_of, r) : values(field_of, r);
        keys_.push_back({key, hash_of_key(key, seed_)});
    }
}

std::uint64_t KeyReader::copy(const KeyField& field, Value raw, std::uint8_t* to) {
    Value value{};
    if (!field.view(raw, value)) return field.write(raw, to);
    if (value.size > 0) std::memcpy(to, value.data, value.size);
    return value.size;
}

template <class FieldOf>
std::string_view KeyReader::value(const FieldOf& field_of, std::size_t record) {
    const Value raw = field_of(record, 0);
    Value value{};
    if (fields_.front().view(raw, value)) return view_of(value.data, value.size);
    std::uint8_t* const at = copies_.data() + copied_;
    const std::uint64_t size = copy(fields_.front(), raw, at);
    copied_ += size;
    return view_of(at, size);
}

template <class FieldOf>
std::string_view KeyReader::values(const FieldOf& field_of, std::size_t record) {
    std::uint8_t* const begin = copies_.data() + copied_;
    std::uint8_t* at = begin;
    for (std::size_t i = 0; i < fields_.size(); ++i) {
        const std::uint64_t size = copy(fields_[i], field_of(record, i), at + kSizeOfSize);
        std::memcpy(at, &size, kSizeOfSize);
        at += kSizeOfSize + size;
    }
    copied_ += static_cast<std::size_t>(at - begin);
    return view_of(begin, static_cast<std::uint64_t>(at - begin));
}

}  // namespace cleave
