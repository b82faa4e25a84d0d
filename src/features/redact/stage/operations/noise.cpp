#include "features/redact/stage/operations/noise.h"

#include <cstdlib>

#include "features/redact/stage/arguments.h"
#include "features/redact/stage/big_endian.h"
#include "features/redact/stage/mac.h"
#include "features/redact/stage/operation_context.h"
#include "features/redact/stage/rule_scope.h"

namespace cleave {
namespace {

constexpr const char* kNoColumn = "the column that noise depends on is empty";

struct Noisy {
    bool is_number = false;
    bool is_negative = false;
    std::uint64_t units = 0;
};

// Of mean 0 and standard deviation 131072.
std::int64_t nearly_normal(const std::uint8_t* digest) {
    constexpr std::size_t kNumbers = 12;
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < kNumbers; ++i) sum += std::int64_t{digest[2 * i]} << 8 | digest[2 * i + 1];
    return 2 * sum - std::int64_t{kNumbers} * UINT16_MAX;
}

// Rounds to the nearest; a half is rounded away from zero.
std::int64_t divided(std::int64_t number, std::int64_t by) {
    const std::int64_t half = number < 0 ? -by / 2 : by / 2;
    return (number + half) / by;
}

// `context.by` is not empty.
Noisy noisy(const Noise& noise, Value value, OperationContext& context) {
    constexpr std::int64_t kScale = 131072;
    const ScaledNumber number = scaled_number(value, noise.decimals);
    if (!number.is_number || number.units == ScaledNumber::kTooLarge) return {};
    std::uint8_t digest[kMacSize];
    const BigEndian deviation(noise.deviation);
    const BigEndian decimals(noise.decimals);
    const BigEndian size(context.by.size);
    context.hasher.token(noise.use, {deviation.value(), decimals.value(), size.value(), context.by, value}, digest);
    const std::int64_t added = divided(nearly_normal(digest) * static_cast<std::int64_t>(noise.deviation), kScale);
    const std::int64_t units = static_cast<std::int64_t>(number.units) + (number.has_half ? 1 : 0);
    const std::int64_t result = (number.is_negative ? -units : units) + added;
    return {true, result < 0, static_cast<std::uint64_t>(std::abs(result))};
}

}  // namespace

Noise Noise::parse(const OperationSyntax& syntax, RuleScope& scope) {
    constexpr std::uint64_t kMaxDigits = 12;
    Arguments arguments(syntax, "noise(KEY, sd=NUMBER, by=COLUMN, context=TEXT)");
    const ArgumentSyntax& key = arguments.take_first("the name of a key");
    const ArgumentSyntax* const deviation = arguments.take("sd");
    const ArgumentSyntax* const by = arguments.take("by");
    const ArgumentSyntax* const context = arguments.take("context");
    arguments.finish();
    if (deviation == nullptr) throw SyntaxError("noise needs sd=NUMBER, the standard deviation", syntax.place);
    if (by == nullptr) throw SyntaxError("noise needs by=COLUMN, which tells records apart", syntax.place);

    Noise noise;
    const ScaledLimit limit = Arguments::to_scaled(*deviation, kMaxDigits);
    if (limit.units == 0) Arguments::fail("sd is above 0", *deviation);
    noise.deviation = limit.units;
    noise.decimals = limit.decimals;
    noise.by = scope.column(*by);
    noise.use = scope.use_key(key, "cleave 2 noise", context);
    return noise;
}

std::uint64_t Noise::measure(Value value, OperationContext& context) const {
    if (context.by.size == 0) return context.refuse(kNoColumn);
    const Noisy made = noisy(*this, value, context);
    return made.is_number ? size_of_scaled(made.is_negative, made.units, decimals) : kBecomesNull;
}

std::uint64_t Noise::write(Value value, std::uint8_t* out, OperationContext& context) const {
    if (context.by.size == 0) return context.refuse(kNoColumn);
    const Noisy made = noisy(*this, value, context);
    return made.is_number ? write_scaled(made.is_negative, made.units, decimals, out) : kBecomesNull;
}

}  // namespace cleave
