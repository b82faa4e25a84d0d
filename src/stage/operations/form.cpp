#include "stage/operations/form.h"

#include <algorithm>

#include "stage/arguments.h"
#include "stage/big_endian.h"
#include "stage/characters.h"
#include "stage/mac.h"
#include "stage/operation_context.h"
#include "stage/rule_scope.h"

namespace cleave {
namespace {

// The stream of numbers that a value's token is made from.
class Stream {
public:
    Stream(std::uint32_t use, Value value, Hasher& hasher) : use_(use), hasher_(hasher) {
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

bool is_between(std::uint8_t byte, char first, char last) {
    return byte >= static_cast<std::uint8_t>(first) && byte <= static_cast<std::uint8_t>(last);
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
    Stream stream(use, value, context.hasher);
    std::uint8_t* to = out;
    const std::uint8_t* const end = value.data + value.size;
    for (const std::uint8_t* at = value.data; at != end; at += character_size(at, end)) {
        const std::uint8_t byte = *at;
        if (is_digit(byte)) {
            *to++ = static_cast<std::uint8_t>('0' + stream.next(10));
        } else if (is_between(byte, 'A', 'Z')) {
            *to++ = static_cast<std::uint8_t>('A' + stream.next(26));
        } else if (is_between(byte, 'a', 'z') || byte >= 0x80) {
            *to++ = static_cast<std::uint8_t>('a' + stream.next(26));
        } else {
            *to++ = byte;
        }
    }
    return static_cast<std::uint64_t>(to - out);
}

}  // namespace cleave
