// short-name: `John Doe` becomes `D John`: the character after the first space, a space, and the text before the first
// space. A value without a space, or with nothing before or after it, becomes `X X`.
#pragma once

#include <cstdint>

#include "features/redact/stage/arguments.h"
#include "features/redact/stage/bytes.h"
#include "features/redact/stage/characters.h"
#include "features/redact/stage/syntax.h"
#include "features/redact/stage/value.h"

namespace cleave {

struct ShortName {
    static constexpr const char* kName = "short-name";

    static ShortName parse(const OperationSyntax& syntax, RuleScope&) {
        refuse_arguments(syntax);
        return {};
    }

    CLEAVE_DEVICE static std::uint64_t bound(std::uint64_t size) { return size < 3 ? 3 : size; }

    template <class H>
    CLEAVE_DEVICE std::uint64_t measure(Value value, H&) const {
        const Parts parts = parts_of(value);
        return parts.initial_size + 1 + parts.before;
    }

    template <class H>
    CLEAVE_DEVICE std::uint64_t write(Value value, std::uint8_t* out, H&) const {
        const Parts parts = parts_of(value);
        if (parts.initial == nullptr) {
            out[0] = 'X';
            out[1] = ' ';
            out[2] = 'X';
            return 3;
        }
        copy_bytes(out, parts.initial, parts.initial_size);
        out[parts.initial_size] = ' ';
        return parts.initial_size + 1 + copy_bytes(out + parts.initial_size + 1, value.data, parts.before);
    }

private:
    struct Parts {
        std::uint64_t before;         // bytes before the first space
        const std::uint8_t* initial;  // the character after that space; null if the value becomes `X X`
        std::uint64_t initial_size;
    };

    CLEAVE_DEVICE static Parts parts_of(Value value) {
        std::uint64_t space = 0;
        while (space < value.size && value.data[space] != ' ') ++space;
        if (space == 0 || space + 1 >= value.size) return {1, nullptr, 1};
        const std::uint8_t* const initial = value.data + space + 1;
        return {space, initial, character_size(initial, value.data + value.size)};
    }
};

}  // namespace cleave
