// Tables are appended to a run of bytes one after another, each at a multiple of 16. The states of HMAC go straight
// from the hasher's memory to the result.
#include "stage/flatten.h"

#include <cstring>
#include <string_view>
#include <type_traits>
#include <vector>

#include "stage/hasher.h"
#include "stage/program.h"

namespace cleave {
namespace {

constexpr std::size_t kAlignment = 16;

class Tables {
public:
    explicit Tables(std::size_t begin) : bytes_(begin) {}

    template <class T>
    FlatTable add(const std::vector<T>& entries) {
        return {add(entries.data(), entries.size() * sizeof(T)), static_cast<std::uint32_t>(entries.size())};
    }
    std::uint32_t add(const void* data, std::size_t size) {
        bytes_.resize((bytes_.size() + kAlignment - 1) / kAlignment * kAlignment);
        const std::size_t at = bytes_.size();
        bytes_.resize(at + size);
        if (size > 0) std::memcpy(bytes_.data() + at, data, size);
        return static_cast<std::uint32_t>(at);
    }
    const std::vector<std::uint8_t>& bytes() const { return bytes_; }

private:
    std::vector<std::uint8_t> bytes_;
};

// Texts, one after another.
class Texts {
public:
    FlatText add(std::string_view text) {
        const auto at = static_cast<std::uint32_t>(bytes_.size());
        bytes_.insert(bytes_.end(), text.begin(), text.end());
        return {at, static_cast<std::uint32_t>(text.size())};
    }
    const std::vector<char>& bytes() const { return bytes_; }

private:
    std::vector<char> bytes_;
};

void set_bit(std::uint32_t (&set)[8], std::uint8_t byte) { set[byte / 32] |= 1U << byte % 32; }

void set_dialect(const Dialect& dialect, FlatProgram& flat) {
    flat.has_quote = dialect.quote ? 1 : 0;
    flat.quote = dialect.quote.value_or(0);
    flat.delimiter = dialect.delimiter;
    flat.ends_with_lf = dialect.terminator == Terminator::kLf ? 1 : 0;
    for (const char byte : {'\r', '\n'}) set_bit(flat.special_plain, static_cast<std::uint8_t>(byte));
    set_bit(flat.special_plain, dialect.delimiter);
    if (!dialect.quote) return;
    set_bit(flat.special_plain, *dialect.quote);
    set_bit(flat.special_quoted, *dialect.quote);
}

std::vector<FlatPart> parts_of(const Stage::Program& program) {
    std::vector<FlatPart> parts;
    parts.reserve(program.parts.size());
    for (const OutputPart& part : program.parts) {
        parts.push_back({static_cast<std::uint32_t>(part.first), static_cast<std::uint32_t>(part.last),
                         static_cast<std::uint8_t>(part.is_changed ? 1 : 0), static_cast<std::uint8_t>(part.end)});
    }
    return parts;
}

void add_rules(const Stage::Program& program, Tables& tables, Texts& texts, FlatProgram& flat) {
    std::vector<FlatRule> rules;
    std::vector<FlatCondition> conditions;
    std::vector<FlatText> values;
    for (std::size_t i = 0; i < program.rules.rules.size(); ++i) {
        const Rule& rule = program.rules.rules[i];
        FlatRule made{};
        made.kind = static_cast<FlatKind>(rule.operation.index());
        made.operation = std::visit(
            [&](const auto& one) {
                static_assert(std::is_trivially_copyable_v<std::remove_cvref_t<decltype(one)>>);
                return tables.add(&one, sizeof one);
            },
            rule.operation);
        made.first_condition = static_cast<std::uint32_t>(conditions.size());
        made.condition_count = static_cast<std::uint32_t>(rule.conditions.size());
        made.changes_empty = rule.changes_empty ? 1 : 0;
        made.is_plain = program.is_plain[i] != 0 ? 1 : 0;
        rules.push_back(made);
        for (const Condition& condition : rule.conditions) {
            conditions.push_back({static_cast<std::uint32_t>(condition.column),
                                  static_cast<std::uint32_t>(condition.kind), static_cast<std::uint32_t>(values.size()),
                                  static_cast<std::uint32_t>(condition.values.size())});
            for (const std::string& value : condition.values) values.push_back(texts.add(value));
        }
    }
    std::vector<std::uint32_t> columns{0};
    std::vector<std::uint32_t> numbers;
    for (const std::vector<std::size_t>& of_column : program.rules.of_column) {
        for (const std::size_t number : of_column) numbers.push_back(static_cast<std::uint32_t>(number));
        columns.push_back(static_cast<std::uint32_t>(numbers.size()));
    }
    flat.rules = tables.add(rules);
    flat.conditions = tables.add(conditions);
    flat.values = tables.add(values);
    flat.columns = tables.add(columns);
    flat.rule_numbers = tables.add(numbers);
}

}  // namespace

std::optional<SecretMemory> flatten(const Stage& stage) {
    const Stage::Program& program = stage.program();
    const bool is_for_device =
        !program.dialect.escape && program.dialect.quoting == Quoting::kFieldStart && program.watched.empty();
    if (!is_for_device) return std::nullopt;
    FlatProgram flat{};
    set_dialect(program.dialect, flat);
    flat.max_record = stage.max_record();
    flat.column_count = static_cast<std::uint32_t>(program.column_count);
    flat.makes_one_column = program.makes_one_column ? 1 : 0;
    Tables tables(sizeof flat);
    Texts texts;
    flat.null_token = texts.add(program.null_token);
    flat.parts = tables.add(parts_of(program));
    add_rules(program, tables, texts, flat);
    flat.texts = tables.add(texts.bytes());
    const std::size_t state_count = program.keys != nullptr ? program.uses.uses().size() : 0;
    const std::vector<std::uint8_t>& bytes = tables.bytes();
    const std::size_t states_at = (bytes.size() + kAlignment - 1) / kAlignment * kAlignment;
    flat.states = {static_cast<std::uint32_t>(states_at), static_cast<std::uint32_t>(state_count)};
    flat.size = static_cast<std::uint32_t>(states_at + state_count * sizeof(FlatMacState));

    SecretMemory memory(flat.size);
    std::memcpy(memory.bytes().data(), bytes.data(), bytes.size());
    std::memcpy(memory.bytes().data(), &flat, sizeof flat);
    if (state_count > 0) {
        const Hasher hasher(*program.keys, program.uses);
        for (std::size_t i = 0; i < state_count; ++i) {
            auto* const state = reinterpret_cast<FlatMacState*>(memory.bytes().data() + states_at) + i;
            hasher.copy_state(static_cast<std::uint32_t>(i), *state);
        }
    }
    return memory;
}

}  // namespace cleave
