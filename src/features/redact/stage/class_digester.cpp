#include "features/redact/stage/class_digester.h"

#include <bit>
#include <cstring>
#include <utility>

#include "base/random_seed.h"

namespace cleave {
namespace {

constexpr std::size_t kSizeOfSize = sizeof(std::uint64_t);
static_assert(std::endian::native == std::endian::little);

struct SipState {
    explicit SipState(const SipKey& key)
        : v0(key[0] ^ 0x736f6d6570736575),
          v1(key[1] ^ 0x646f72616e646f6d ^ 0xee),  // 0xee and 0xdd are for 128 bits
          v2(key[0] ^ 0x6c7967656e657261),
          v3(key[1] ^ 0x7465646279746573) {}

    void mix(unsigned rounds) {
        for (unsigned i = 0; i < rounds; ++i) {
            v0 += v1;
            v1 = std::rotl(v1, 13) ^ v0;
            v0 = std::rotl(v0, 32);
            v2 += v3;
            v3 = std::rotl(v3, 16) ^ v2;
            v0 += v3;
            v3 = std::rotl(v3, 21) ^ v0;
            v2 += v1;
            v1 = std::rotl(v1, 17) ^ v2;
            v2 = std::rotl(v2, 32);
        }
    }
    void take(std::uint64_t word) {
        v3 ^= word;
        mix(2);
        v0 ^= word;
    }

    std::uint64_t v0;
    std::uint64_t v1;
    std::uint64_t v2;
    std::uint64_t v3;
};

}  // namespace

ClassDigest siphash(const SipKey& key, std::span<const std::uint8_t> message) noexcept {
    constexpr std::size_t kWord = sizeof(std::uint64_t);
    SipState state(key);
    std::size_t at = 0;
    for (; at + kWord <= message.size(); at += kWord) {
        std::uint64_t word = 0;
        std::memcpy(&word, message.data() + at, kWord);
        state.take(word);
    }
    std::uint64_t last = std::uint64_t{message.size()} << 56;
    for (std::size_t i = at; i < message.size(); ++i) last |= std::uint64_t{message[i]} << 8 * (i - at);
    state.take(last);
    const auto folded = [&] { return state.v0 ^ state.v1 ^ state.v2 ^ state.v3; };
    ClassDigest digest;
    state.v2 ^= 0xee;
    state.mix(4);
    digest[0] = folded();
    state.v1 ^= 0xdd;
    state.mix(4);
    digest[1] = folded();
    return digest;
}

RunKey::RunKey() : memory_(sizeof(SipKey)) { fill_randomly(memory_.bytes().first(sizeof(SipKey))); }

ClassDigester::ClassDigester(const RunKey& key, const Dialect& dialect, std::shared_ptr<MemoryManager> memory)
    : key_(key), decoder_(dialect), message_(std::move(memory)) {}

void ClassDigester::add(std::span<const std::uint8_t> field) {
    message_.reserve(size_ + kSizeOfSize + field.size());
    std::uint8_t* const at = message_.data() + size_;
    const std::uint8_t* const begin = field.data();
    const std::uint8_t* const end = begin + field.size();
    Value value{};
    if (decoder_.view(begin, end, value)) {
        if (value.size > 0) std::memcpy(at + kSizeOfSize, value.data, value.size);
    } else {
        value.size = decoder_.write(begin, end, at + kSizeOfSize);
    }
    std::memcpy(at, &value.size, kSizeOfSize);
    size_ += kSizeOfSize + value.size;
}

ClassDigest ClassDigester::finish() {
    const ClassDigest digest = siphash(key_.get(), {message_.data(), size_});
    size_ = 0;
    return digest;
}

}  // namespace cleave
