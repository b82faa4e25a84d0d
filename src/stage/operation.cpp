#include "stage/operation.h"

#include <array>
#include <cstddef>
#include <string>
#include <utility>

namespace cleave {
namespace {

struct Row {
    const char* name;
    Operation (*make)(const OperationSyntax&, KeyUses&);
};

template <class X>
Operation make(const OperationSyntax& syntax, KeyUses& keys) {
    return X::parse(syntax, keys);
}

// A row for each alternative of the variant.
template <std::size_t... kIndexes>
constexpr auto make_table(std::index_sequence<kIndexes...>) {
    return std::array{
        Row{std::variant_alternative_t<kIndexes, Operation>::kName,
            make<std::variant_alternative_t<kIndexes, Operation>>}...,
    };
}

constexpr auto kTable = make_table(std::make_index_sequence<std::variant_size_v<Operation>>());

}  // namespace

Operation make_operation(const OperationSyntax& syntax, KeyUses& keys) {
    std::string known;
    for (const Row& row : kTable) {
        if (syntax.name == row.name) return row.make(syntax, keys);
        known += known.empty() ? "" : ", ";
        known += row.name;
    }
    throw SyntaxError("unknown operation \"" + syntax.name + "\"; there are " + known, syntax.place);
}

}  // namespace cleave
