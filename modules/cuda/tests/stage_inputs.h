// Random pages and rules, for tests of stages on a device.
#pragma once

#include <array>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string>

#include "cleave/keys.h"
#include "cleave/stage.h"
#include "inputs.h"

namespace cleave::cuda {

inline constexpr const char* kOperations[] = {"keep",
                                              "null",
                                              "fixed(\"x y\")",
                                              R"(fixed("a,""b"))",
                                              "mask",
                                              "mask(first=1, last=2, char=\"#\")",
                                              "initials",
                                              "short-name",
                                              "email(local=mask)",
                                              "email(local=hmac(k))",
                                              "date(month)",
                                              "date(year)",
                                              "bucket(10)",
                                              "bucket(0.25)",
                                              "round(5)",
                                              "round(0.1)",
                                              "top(17)",
                                              "hmac(k)",
                                              "hmac(k, version=2, prefix)",
                                              "hmac(k, bytes=32, form=hex, trim, lower)",
                                              "hmac(k, form=decimal, context=\"c\")"};
inline constexpr const char* kConditions[] = {"",
                                              "",
                                              "",
                                              " if #1 = \"a\"",
                                              R"( if #2 in {"b", "John Doe"})",
                                              " if #1 != \"\"",
                                              " if #2 empty",
                                              " if #1 not empty"};
inline constexpr const char* kValues[] = {"",
                                          "a",
                                          "b",
                                          "John Doe",
                                          "Ann Mary Lee",
                                          "\xC3\x84nne \xC3\x96st",
                                          "2024-05-17",
                                          "2024-02-29T10:11:12Z",
                                          "-17.5",
                                          "123456789012345678901234567890",
                                          "who@example.org",
                                          "  Trim Me ",
                                          "plain text that is longer than a block of the hash by far: 0123456789"};

// Precondition: the dialect can represent the values.
inline std::string random_page(test::Random& random, std::size_t columns, std::size_t records, const Dialect& dialect) {
    const std::string end = dialect.terminator == Terminator::kCr   ? "\r"
                            : dialect.terminator == Terminator::kLf ? (random.chance(30) ? "\r\n" : "\n")
                                                                    : "\r\n";
    std::string text;
    for (std::size_t r = 0; r < records; ++r) {
        if (random.chance(3)) {
            text += end;
            continue;
        }
        for (std::size_t c = 0; c < columns; ++c) {
            if (c > 0) text += static_cast<char>(dialect.delimiter);
            std::string value = kValues[random.below(std::size(kValues))];
            if (dialect.quote && random.chance(30)) {
                const auto quote = static_cast<char>(*dialect.quote);
                if (random.chance(20)) value.append(2, quote).append(",\n");
                value.insert(value.begin(), quote);
                value += quote;
            }
            text += value;
        }
        text += end;
    }
    if (!text.empty() && random.chance(20)) text.resize(text.size() - end.size());
    return text;
}

inline StageOptions random_rules(test::Random& random, std::size_t columns) {
    StageOptions options;
    options.is_delimiter_given = options.is_header_given = true;
    const auto column = [&] { return "#" + std::to_string(1 + random.below(columns)); };
    for (std::size_t left = random.below(4); left > 0; --left) {
        std::string operation = kOperations[random.below(std::size(kOperations))];
        const bool has_arguments = operation.back() == ')';
        if (random.chance(20) && operation != "keep") {
            if (has_arguments) operation.pop_back();
            operation += has_arguments ? ", empty=change)" : "(empty=change)";
        }
        const std::string rule = column() + ": " + operation + kConditions[random.below(std::size(kConditions))];
        options.rules.push_back({rule, "--redact"});
    }
    options.rules.push_back({"*: " + std::string(kOperations[random.below(std::size(kOperations))]), "--redact"});
    if (random.chance(40)) options.select = RuleText{"#" + std::to_string(columns) + ",#1", "--select"};
    if (random.chance(20)) options.null_token = "NULL";
    return options;
}

inline Dialect random_dialect(test::Random& random, unsigned round) {
    Dialect dialect;
    if (random.chance(30)) dialect.delimiter = ';';
    if (random.chance(15)) dialect.quote = std::nullopt;
    dialect.terminator = std::array{Terminator::kLf, Terminator::kLf, Terminator::kCr, Terminator::kAny}[round % 4];
    return dialect;
}

// A stage with random rules for that many columns. Returns std::nullopt if the dialect cannot represent what a rule
// writes.
inline std::optional<Stage> random_stage(test::Random& random, std::size_t columns, const Dialect& dialect,
                                         const KeyRing& keys) {
    const StageOptions options = random_rules(random, columns);
    const std::string first(columns - 1, static_cast<char>(dialect.delimiter));
    try {
        return Stage(options, dialect, test::bytes_of(first), false, &keys);
    } catch (const RuleError&) {  // a string that needs quotes
        return std::nullopt;
    }
}

}  // namespace cleave::cuda
