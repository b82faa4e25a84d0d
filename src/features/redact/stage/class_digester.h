// What stands for the values of a record: SipHash-2-4 with 128 bits (Aumasson and Bernstein, "SipHash: a fast
// short-input PRF", 2012) under a key that is drawn for the run. For each value, the message has its size as a 64-bit
// little-endian number, and the value without quotes and escapes. The author of an input does not know the key, so
// two of n different combinations have the same digest with a probability of about n^2 / 2^129, whatever they are:
// 2^-69 for a thousand million. Without the key, a digest says nothing about the values. HMAC-SHA-256 would do as well,
// but it takes twice as long as everything else that counting does.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "cleave/dialect.h"
#include "rows/fields/field_decoder.h"
#include "rows/memory/secret_memory.h"
#include "rows/memory/value_buffer.h"

namespace cleave {

using ClassDigest = std::array<std::uint64_t, 2>;

using SipKey = std::array<std::uint64_t, 2>;

// The digest of a message.
ClassDigest siphash(const SipKey& key, std::span<const std::uint8_t> message) noexcept;

// A random key. Immutable, so any thread can use it.
class RunKey {
public:
    // Throws SystemError.
    RunKey();
    const SipKey& get() const { return *reinterpret_cast<const SipKey*>(memory_.bytes().data()); }

private:
    SecretMemory memory_;
};

// Use from one thread at a time.
class ClassDigester {
public:
    // `key` must outlive this object. `memory` must not be null.
    ClassDigester(const RunKey& key, const Dialect& dialect, std::shared_ptr<MemoryManager> memory);

    // Takes the next field of a record, as it is in the record. Throws MemoryError.
    void add(std::span<const std::uint8_t> field);
    // The digest of the fields since the last call.
    ClassDigest finish();

private:
    const RunKey& key_;
    FieldDecoder decoder_;
    ValueBuffer message_;
    std::size_t size_ = 0;
};

}  // namespace cleave
