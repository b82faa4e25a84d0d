// Tables are appended one after another to a run of bytes, each at an offset that is a multiple of 16. The HMAC states
// come last, and are copied straight from the hasher's memory into a device's program.
#include "features/redact/stage/flatten.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <type_traits>
#include <utility>

#include "cleave/error.h"
#include "features/redact/stage/hasher.h"
#include "features/redact/stage/program.h"

namespace cleave {
namespace {

constexpr std::size_t kAlignment = 16;

class Tables {
public:
    explicit Tables(std::size_t begin) : bytes_(begin) {}

    template <class T>
    FlatTable add(std::span<const T> entries) {
        return {add(entries.data(), entries.size_bytes()), static_cast<std::uint32_t>(entries.size())};
    }
    template <class T>
    FlatTable add(const std::vector<T>& entries) {
        return add(std::span<const T>(entries));
    }
    std::uint32_t add(const void* data, std::size_t size) {
        align();
        const std::size_t at = bytes_.size();
        bytes_.resize(at + size);
        if (size > 0) std::memcpy(bytes_.data() + at, data, size);
        return static_cast<std::uint32_t>(at);
    }
    // Returns all tables, padded so that another could follow.
    std::vector<std::uint8_t> take() {
        align();
        return std::move(bytes_);
    }

private:
    void align() { bytes_.resize((bytes_.size() + kAlignment - 1) / kAlignment * kAlignment); }

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

// Whether the operation's results never need quotes or escapes, whatever the value.
bool is_always_plain(const Rule& rule, const DialectCodec& codec) {
    if (const auto* fixed = operation_of<Fixed>(rule)) return codec.is_always_plain({fixed->text, fixed->size});
    const bool is_of_alphabet = operation_of<Hmac>(rule) != nullptr || operation_of<Date>(rule) != nullptr ||
                                operation_of<Bucket>(rule) != nullptr || operation_of<Round>(rule) != nullptr ||
                                operation_of<Noise>(rule) != nullptr || operation_of<Encrypt>(rule) != nullptr;
    return is_of_alphabet && codec.is_plain_alphabet();
}

// Whether it makes tokens with the key itself, so that they could be part of a derived key.
bool makes_tokens(const Rule& rule) {
    const auto* const email = operation_of<Email>(rule);
    const auto* const hmac = email != nullptr && email->is_hashed ? &email->hmac : operation_of<Hmac>(rule);
    return hmac != nullptr && hmac->version == 1;
}

template <class... Each>
constexpr auto are_for_cpu(std::type_identity<std::variant<Each...>>) {
    return std::array{std::is_base_of_v<CpuOperation, Each>...};
}

bool is_for_cpu(const Rule& rule) {
    constexpr auto kAre = are_for_cpu(std::type_identity<Operation>());
    return kAre.at(rule.operation_kind);
}

static_assert(std::variant_size_v<Operation> == static_cast<std::size_t>(FlatKind::kSuppress) + 1);

void add_rules(const Stage::Program& program, std::span<const std::uint32_t> picks, Tables& tables, Texts& texts,
               FlatProgram& flat) {
    std::vector<FlatRule> rules;
    std::vector<FlatCondition> conditions;
    std::vector<FlatText> values;
    for (const Rule& rule : program.rules.rules) {
        FlatRule made{};
        made.kind = static_cast<FlatKind>(rule.operation_kind);
        made.operation = tables.add(rule.operation.data(), rule.operation.size());
        made.first_condition = static_cast<std::uint32_t>(conditions.size());
        made.condition_count = static_cast<std::uint32_t>(rule.conditions.size());
        made.changes_empty = rule.changes_empty ? 1 : 0;
        made.is_plain = !program.paths && is_always_plain(rule, program.codec) ? 1 : 0;
        made.makes_tokens = makes_tokens(rule) ? 1 : 0;
        made.reads_value = operation_of<Fixed>(rule) == nullptr && operation_of<Null>(rule) == nullptr ? 1 : 0;
        rules.push_back(made);
        for (const Condition& condition : rule.conditions) {
            conditions.push_back({joined_number(picks, condition.column), condition.kind,
                                  static_cast<std::uint32_t>(values.size()),
                                  static_cast<std::uint32_t>(condition.values.size())});
            for (const std::string& value : condition.values) values.push_back(texts.add(value));
        }
    }
    std::vector<std::uint32_t> columns{0};
    std::vector<std::uint32_t> numbers;
    const std::size_t count = program.rules.of_column.size();
    for (std::size_t column = 0; column < count; ++column) {
        const std::vector<std::size_t>& of_column = program.rules.of_column[column];
        // Of columns that are joined, the last one counts.
        const bool is_last = column + 1 == count;
        if (!is_last && joined_number(picks, column + 1) == columns.size() - 1) continue;
        if (!of_column.empty() && !program.rules.rules[of_column.back()].conditions.empty()) {
            throw LogicError("stage: a column without a last rule");
        }
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

std::vector<std::uint8_t> flatten(const Stage::Program& program, std::vector<FlatPart> parts,
                                  std::vector<FlatPart> header_parts, std::span<const std::uint32_t> picks) {
    FlatProgram flat{};
    set_dialect(program.dialect, flat);
    flat.max_record = program.max_record;
    flat.column_count = static_cast<std::uint32_t>(picks.size() + 1);
    const auto is_written = [](const FlatPart& part) { return !part.is_left_out; };
    const auto written = std::ranges::find_if(parts, is_written);
    flat.makes_one_column = std::ranges::count_if(parts, is_written) == 1 && written->first == written->last ? 1 : 0;
    for (std::vector<FlatPart>* const list : {&parts, &header_parts}) {
        for (FlatPart& part : *list) {
            part.first = joined_number(picks, part.first);
            part.last = joined_number(picks, part.last);
        }
    }
    Tables tables(sizeof flat);
    Texts texts;
    flat.null_token = texts.add(program.null_token);
    flat.parts = tables.add(parts);
    flat.header_parts = tables.add(header_parts);
    add_rules(program, picks, tables, texts, flat);
    flat.texts = tables.add(texts.bytes());
    std::vector<std::uint8_t> bytes = tables.take();
    flat.states.at = flat.size = static_cast<std::uint32_t>(bytes.size());
    std::memcpy(bytes.data(), &flat, sizeof flat);
    return bytes;
}

std::optional<SecretMemory> flat_for_device(const Stage& stage) {
    const Stage::Program& program = stage.program();
    const bool is_for_device = !program.paths && !program.dialect.escape &&
                               program.dialect.quoting == Quoting::kFieldStart && program.watched.empty() &&
                               program.key_count == 0 && std::ranges::none_of(program.rules.rules, is_for_cpu);
    if (!is_for_device) return std::nullopt;
    FlatProgram flat = program.flat();
    flat.states.count = program.keys != nullptr ? static_cast<std::uint32_t>(program.uses.uses().size()) : 0;
    flat.size = flat.states.at + flat.states.count * static_cast<std::uint32_t>(sizeof(FlatMacState));
    SecretMemory memory(flat.size);
    std::ranges::copy(program.flat_bytes, memory.bytes().begin());
    std::memcpy(memory.bytes().data(), &flat, sizeof flat);
    if (flat.states.count > 0) {
        const Hasher hasher(*program.keys, program.uses);
        for (std::uint32_t i = 0; i < flat.states.count; ++i) {
            auto* const state = reinterpret_cast<FlatMacState*>(memory.bytes().data() + flat.states.at) + i;
            hasher.copy_state(i, *state);
        }
    }
    return memory;
}

}  // namespace cleave
