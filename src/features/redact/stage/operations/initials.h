// initials: the first character of each word, followed by a dot. Words are separated by spaces.
#pragma once

#include <cstdint>

#include "features/redact/stage/arguments.h"
#include "features/redact/stage/bytes.h"
#include "features/redact/stage/characters.h"
#include "features/redact/stage/syntax.h"
#include "features/redact/stage/value.h"

namespace cleave {

struct Initials {
    static constexpr const char* kName = "initials";

    static Initials parse(const OperationSyntax& syntax, RuleScope&) {
        refuse_arguments(syntax);
        return {};
    }

    // The dot of each word takes the place of the space after it, except that there may be no space after the last
    // word.
    CLEAVE_DEVICE static std::uint64_t bound(std::uint64_t size) { return size + 1; }

    template <class H>
    CLEAVE_DEVICE std::uint64_t measure(Value value, H&) const {
        return make<false>(value, nullptr);
    }

    template <class H>
    CLEAVE_DEVICE std::uint64_t write(Value value, std::uint8_t* out, H&) const {
        return make<true>(value, out);
    }

private:
    // Returns the size of the output. Writes it only if kWrites.
    template <bool kWrites>
    CLEAVE_DEVICE static std::uint64_t make(Value value, std::uint8_t* out) {
        const std::uint8_t* const end = value.data + value.size;
        std::uint64_t made = 0;
        bool is_in_word = false;
        for (const std::uint8_t* at = value.data; at != end; ++at) {
            if (!is_in_word && *at != ' ') {
                const std::uint64_t size = character_size(at, end);
                if constexpr (kWrites) {
                    copy_bytes(out + made, at, size);
                    out[made + size] = '.';
                }
                made += size + 1;
            }
            is_in_word = *at != ' ';
        }
        return made;
    }
};

}  // namespace cleave
