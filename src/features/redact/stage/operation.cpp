#include "features/redact/stage/operation.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/suggest.h"
#include "base/text_bytes.h"

namespace cleave {
namespace {

struct Row {
    const char* name;
    Operation (*make)(const OperationSyntax&, RuleScope&);
    const ArgumentSyntax* (*file_of)(const OperationSyntax&);
};

template <class X>
Operation make(const OperationSyntax& syntax, RuleScope& scope) {
    return X::parse(syntax, scope);
}

template <class X>
const ArgumentSyntax* file_of_alternative(const OperationSyntax& syntax) {
    if constexpr (requires { X::file_of(syntax); }) return X::file_of(syntax);
    return nullptr;
}

// One row for each alternative of the variant.
template <std::size_t... kIndexes>
constexpr auto make_table(std::index_sequence<kIndexes...>) {
    return std::array{
        Row{std::variant_alternative_t<kIndexes, Operation>::kName,
            make<std::variant_alternative_t<kIndexes, Operation>>,
            file_of_alternative<std::variant_alternative_t<kIndexes, Operation>>}...,
    };
}

constexpr auto kTable = make_table(std::make_index_sequence<std::variant_size_v<Operation>>());

// What other tools call an operation, and what it is called here.
struct OtherName {
    TextInPlace<16> name;
    TextInPlace<20> ours;
};
constexpr std::array<OtherName, 16> kOtherNames = {{
    {"token", "hmac(KEY)"},
    {"tokenise", "hmac(KEY)"},
    {"tokenize", "hmac(KEY)"},
    {"hash", "hmac(KEY)"},
    {"sha256", "hmac(KEY)"},
    {"pseudonymise", "hmac(KEY)"},
    {"jitter", "shift-date"},
    {"top-code", "top"},
    {"generalize", "generalise"},
    {"unredact", "decrypt(KEY)"},
    {"redact", "mask"},
    {"hide", "mask"},
    {"empty", "null"},
    {"drop", "--select '!COLUMN'"},
    {"delete", "--select '!COLUMN'"},
    {"remove", "--select '!COLUMN'"},
}};

std::string hint_for(std::string_view name, const std::vector<std::string>& known) {
    const auto* const row =
        std::ranges::find_if(kOtherNames, [&](const OtherName& other) { return other.name.view() == name; });
    return row == kOtherNames.end() ? did_you_mean(name, known) : std::string("; use ").append(row->ours.view());
}

}  // namespace

const ArgumentSyntax* file_of(const OperationSyntax& syntax) {
    const auto* const row = std::ranges::find_if(kTable, [&](const Row& one) { return syntax.name == one.name; });
    return row == kTable.end() ? nullptr : row->file_of(syntax);
}

Operation make_operation(const OperationSyntax& syntax, RuleScope& scope) {
    std::vector<std::string> known;
    for (const Row& row : kTable) {
        if (syntax.name == row.name) return row.make(syntax, scope);
        known.emplace_back(row.name);
    }
    std::string text = "unknown operation \"" + syntax.name + "\"" + hint_for(syntax.name, known) + "; there are ";
    for (const std::string& name : known) text.append(&name == known.data() ? "" : ", ").append(name);
    throw SyntaxError(text, syntax.place);
}

}  // namespace cleave
