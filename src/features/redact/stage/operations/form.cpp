#include "features/redact/stage/operations/form.h"

#include <algorithm>

#include "features/redact/stage/arguments.h"
#include "features/redact/stage/big_endian.h"
#include "features/redact/stage/characters.h"
#include "features/redact/stage/mac.h"
#include "features/redact/stage/operation_context.h"
#include "features/redact/stage/rule_scope.h"

namespace cleave {
namespace {

// The stream of numbers that a value's token is made from.
class NumberStream {
public:
    NumberStream(std::uint32_t use, Value value, Hasher& hasher) : use_(use), hasher_(hasher) {
        constexpr std::uint8_t kFirst = 0;
        hasher_.token(use_, {{&kFirst, 1}, value}, first_);
        std::copy_n(first_, kMacSize, block_);
    }

    // From 0 to `count` - 1.
    std::uint64_t next(std::uint64_t count) {
        if (left_ == 0) {
            if (at_ == kMacSize) refill();
            word_ = big_endian_number(block_ + at_);
            at_ += sizeof word_;
            left_ = kOfWord;
        }
        --left_;
        const std::uint64_t drawn = scaled_down(word_, count);
        word_ *= count;  // modulo 2^64
        return drawn;
    }

private:
    static constexpr unsigned kOfWord = 10;

    void refill() {
        constexpr std::uint8_t kNext = 1;
        ++number_;
        const BigEndian number(number_);
        hasher_.token(use_, {{&kNext, 1}, {first_, kMacSize}, number.value()}, block_);
        at_ = 0;
    }

    std::uint32_t use_;
    Hasher& hasher_;
    std::uint8_t first_[kMacSize];
    std::uint8_t block_[kMacSize];
    std::uint64_t number_ = 0;
    std::size_t at_ = 0;
    std::uint64_t word_ = 0;
    unsigned left_ = 0;  // draws from the word
};

// What a character that begins with this byte becomes: one of `count` characters from `first` on. A count of 1 says
// that it stays.
struct Alphabet {
    char first;
    std::uint64_t count;
};

Alphabet alphabet_of(std::uint8_t byte) {
    if (is_digit(byte)) return {'0', 10};
    if (byte >= 'A' && byte <= 'Z') return {'A', 26};
    if ((byte >= 'a' && byte <= 'z') || byte >= 0x80) return {'a', 26};
    return {static_cast<char>(byte), 1};
}

}  // namespace

Form Form::parse(const OperationSyntax& syntax, RuleScope& scope) {
    Arguments arguments(syntax, "form(KEY, context=TEXT)");
    const ArgumentSyntax& key = arguments.take_first("the name of a key");
    const ArgumentSyntax* const context = arguments.take("context");
    arguments.finish();
    Form form;
    form.use = scope.use_key(key, "cleave 2 form", context);
    return form;
}

std::uint64_t Form::measure(Value value, OperationContext&) { return count_characters(value); }

std::uint64_t Form::write(Value value, std::uint8_t* out, OperationContext& context) const {
    NumberStream stream(use, value, context.hasher);
    std::uint8_t* to = out;
    const std::uint8_t* const end = value.data + value.size;
    for (const std::uint8_t* at = value.data; at != end; at += character_size(at, end)) {
        const Alphabet alphabet = alphabet_of(*at);
        const std::uint64_t drawn = alphabet.count == 1 ? 0 : stream.next(alphabet.count);
        *to++ = static_cast<std::uint8_t>(static_cast<std::uint64_t>(alphabet.first) + drawn);
    }
    return static_cast<std::uint64_t>(to - out);
}

std::uint64_t Form::tokens_of(Value value) {
    std::uint64_t tokens = 1;
    const std::uint8_t* const end = value.data + value.size;
    for (const std::uint8_t* at = value.data; at != end; at += character_size(at, end)) {
        if (__builtin_mul_overflow(tokens, alphabet_of(*at).count, &tokens)) return UINT64_MAX;
    }
    return tokens;
}

}  // namespace cleave
