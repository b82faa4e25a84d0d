#include "features/redact/stage/operations/mask.h"

#include "features/redact/stage/arguments.h"

namespace cleave {

Mask Mask::parse(const OperationSyntax& syntax, RuleScope&) {
    constexpr std::uint64_t kMost = 1'000'000;
    Arguments arguments(syntax, "mask(first=N, last=N, char=C)");
    Mask mask;
    mask.first = arguments.take_number("first", 0, kMost, 0);
    mask.last = arguments.take_number("last", 0, kMost, 0);
    const ArgumentSyntax* const sign = arguments.take("char");
    arguments.finish();
    if (sign != nullptr) {
        if (sign->value.size() != 1 || sign->value[0] < ' ' || sign->value[0] > '~') {
            Arguments::fail("char is one printable ASCII character", *sign);
        }
        mask.sign = static_cast<std::uint8_t>(sign->value[0]);
    }
    return mask;
}

}  // namespace cleave
