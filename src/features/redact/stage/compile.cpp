// Compiles rules into a program: reads the names of the columns, resolves the rules, and lays out the parts of a
// record.
#include <algorithm>
#include <numeric>
#include <utility>

#include "cleave/error.h"
#include "cleave/keys.h"
#include "cleave/stage.h"
#include "features/redact/stage/ambiguous.h"
#include "features/redact/stage/dialect_codec.h"
#include "features/redact/stage/flatten.h"
#include "features/redact/stage/forbidden/forbidden.h"
#include "features/redact/stage/forbidden/pattern.h"
#include "features/redact/stage/keys.h"
#include "features/redact/stage/mac.h"
#include "features/redact/stage/program.h"

namespace cleave {
namespace {

void check(const StageOptions& options) {
    if (options.max_record < 1 || options.max_record > kMaxRecordLimit) {
        throw ArgumentError("stage: max_record must be 1 to " + std::to_string(kMaxRecordLimit));
    }
    const std::vector<ForbiddenPattern>& patterns = options.forbid_patterns;
    for (std::size_t i = 0; i < patterns.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
            if (patterns[i].name() == patterns[j].name()) {
                throw ArgumentError("stage: two patterns have the name '" + patterns[i].name() + "'");
            }
        }
    }
}

InputColumns columns_of_record(const RecordBlock& first_record, const Dialect& dialect, bool has_header) {
    std::vector<std::string> values{std::string()};
    if (first_record.record_count() > 0) values = values_of(first_record, 0, dialect, DialectCodec(dialect));
    InputColumns columns;
    columns.count = values.size();
    columns.delimiter = dialect.delimiter;
    columns.is_header_given = dialect.header == HeaderRecord::kNone;
    if (has_header) columns.names = std::move(values);
    return columns;
}

// In JSON Lines, the paths in the rules are the columns.
InputColumns columns_of_json() {
    InputColumns columns;
    columns.are_paths = true;
    return columns;
}

FieldReader reader_of_first(const Dialect& dialect) {
    return {dialect, kernel_by_name("scalar"), Reading::kUnambiguous, 0};
}

// The columns given to with_keys(), if any.
struct KeyPlaces {
    std::span<const std::size_t> columns;
    bool are_left_out = false;

    std::uint32_t of(std::size_t column) const {
        const auto found = std::ranges::find(columns, column);
        return found == columns.end() ? FlatPart::kNoKey : static_cast<std::uint32_t>(found - columns.begin());
    }
};

// Joins adjacent columns that stay as they are.
std::vector<FlatPart> parts_of(const RuleSet& rules, bool is_header, const KeyPlaces& keys) {
    std::vector<FlatPart> parts;
    const auto stays = [](const FlatPart& part) { return !part.is_changed && part.key == FlatPart::kNoKey; };
    for (const std::size_t selected : rules.selected) {
        const auto column = static_cast<std::uint32_t>(selected);
        FlatPart part{column,          column,
                      keys.of(column), !is_header && !rules.of_column[column].empty(),
                      false,           PartEnd::kTerminator};
        part.is_left_out = keys.are_left_out && part.key != FlatPart::kNoKey;
        if (is_header && part.is_left_out) continue;
        if (is_header) part.key = FlatPart::kNoKey;
        if (stays(part) && !parts.empty() && stays(parts.back()) && parts.back().last + 1 == column) {
            parts.back().last = column;
        } else {
            parts.push_back(part);
        }
    }
    FlatPart* before = nullptr;  // the last part that is written
    for (FlatPart& part : parts) {
        if (part.is_left_out) continue;
        if (before != nullptr) {
            const bool is_at_end = before->last + 1 == rules.column_count;
            before->end = is_at_end ? PartEnd::kNewDelimiter : PartEnd::kDelimiter;
        }
        before = &part;
    }
    return parts;
}

// For Stage::Program::picks.
std::vector<std::uint32_t> ends_needed(const Stage::Program& program, const std::vector<FlatPart>& parts) {
    const auto reads_another = [](const Rule& rule) {
        return operation_of<Noise>(rule) != nullptr || operation_of<ShiftDate>(rule) != nullptr;
    };
    // What looks at columns other than those of parts and conditions finds them by their numbers in the input.
    if (program.paths || !program.watched.empty() || !program.keys_as_read.empty() || program.rules.suppress ||
        std::ranges::any_of(program.rules.rules, reads_another)) {
        return {};
    }
    std::vector<std::uint32_t> columns;
    const auto add = [&](std::size_t first, std::size_t last) {
        if (first > 0) columns.push_back(static_cast<std::uint32_t>(first - 1));
        if (last + 1 < program.column_count) columns.push_back(static_cast<std::uint32_t>(last));
    };
    for (const FlatPart& part : parts) add(part.first, part.last);
    for (const Rule& rule : program.rules.rules) {
        for (const Condition& condition : rule.conditions) add(condition.column, condition.column);
    }
    std::ranges::sort(columns);
    columns.erase(std::ranges::unique(columns).begin(), columns.end());
    return columns;
}

// Call once everything else in the program is set.
void lay_out(Stage::Program& program, const KeyPlaces& keys) {
    program.key_count = keys.columns.size() + program.keys_as_read.size();
    const auto parts = parts_of(program.rules, false, keys);
    const auto header_parts = parts_of(program.rules, true, keys);
    // In JSON Lines, the columns are those of the rules, and not only those with a name.
    std::vector<std::uint32_t> all(std::max<std::size_t>(program.rules.of_column.size(), 1) - 1);
    std::iota(all.begin(), all.end(), 0U);
    program.flat_bytes = flatten(program, parts, header_parts, all);
    // The parts of a header are a subset of these, or join some of them.
    program.picks = ends_needed(program, parts);
    if (!program.picks.empty()) program.picked_bytes = flatten(program, parts, header_parts, program.picks);
}

// Throws RuleError for a constant that the dialect cannot represent.
void check_constants(const RuleSet& rules, const DialectCodec& codec) {
    for (const Rule& rule : rules.rules) {
        const auto* fixed = operation_of<Fixed>(rule);
        if (fixed == nullptr || codec.can_carry({fixed->text, fixed->size})) continue;
        throw RuleError("this dialect has neither quotes nor escapes that could carry the text", rule.source.origin,
                        rule.source.text, 0);
    }
}

// A digest of everything that determines the output. Each part is preceded by its length.
std::string digest_of(const StageOptions& options, const Stage::Program& program) {
    if (program.key_ids.empty()) return {};
    std::string text;
    const auto add = [&](const std::string& part) {
        text.append(std::to_string(part.size())).append(":").append(part);
    };
    for (const std::size_t column : program.rules.selected) add(std::to_string(column));
    if (program.rules.json && options.select) add(options.select->text);
    add(options.null_token);
    for (const Rule& rule : program.rules.rules) {
        add(rule.source.text);
        for (const std::size_t column : rule.columns) add(std::to_string(column));
    }
    for (const RuleFile& file : options.files) {
        add(file.path);
        add(file.text);
    }
    for (const auto& [name, id] : program.key_ids) {
        const std::uint64_t version = program.keys->version(name);
        add(name);
        add(version == 0 ? id : id + "@" + std::to_string(version));
    }
    const KeyRing::Keys& keys = program.keys->keys();
    const SecretKey& key = keys.keys[keys.index_of(program.key_ids.front().first)];
    return labelled_mac_hex(key.bytes(), "cleave rules digest 1", text, kMacSize);
}

void add_forbidden(Stage::Program& program, const StageOptions& options) {
    for (const ForbiddenKind kind : options.forbid) {
        program.forbidden.push_back({row_of(kind).name, row_of(kind).phrase, std::nullopt});
        program.searches.push_back(row_of(kind).is_in);
    }
    for (const ForbiddenPattern& pattern : options.forbid_patterns) {
        program.forbidden.push_back({pattern.name(), "a match of '" + pattern.name() + "'", pattern.text()});
    }
    program.patterns = options.forbid_patterns;
    program.only_counts_forbidden = options.only_counts_forbidden;
}

// Whether a name contains something that is forbidden.
bool has_forbidden_name(const InputColumns& columns, const Stage::Program& program) {
    return std::ranges::any_of(columns.names, [&](const std::string& name) {
        const Value value{reinterpret_cast<const std::uint8_t*>(name.data()), name.size()};
        const auto has_pattern = [&](const ForbiddenPattern& pattern) {
            return is_in(pattern.compiled(), value, nullptr, program.cancellation);
        };
        return std::ranges::any_of(program.searches, [&](const auto search) { return search(value); }) ||
               std::ranges::any_of(program.patterns, has_pattern);
    });
}

}  // namespace

InputColumns input_columns(std::span<const std::uint8_t> first_record, const Dialect& dialect, bool has_header) {
    if (is_json_lines(dialect)) return columns_of_json();
    return columns_of_record(reader_of_first(dialect).read(first_record, {}, true), dialect, has_header);
}

Stage::Stage(const StageOptions& options, const Dialect& dialect, std::span<const std::uint8_t> first_record,
             bool has_header, const KeyRing* keys, const Cancellation* cancellation) {
    check(options);
    const DialectCodec codec(dialect);
    const bool is_json = is_json_lines(dialect);
    FieldReader reader = reader_of_first(dialect);
    const RecordBlock record = reader.read(is_json ? std::span<const std::uint8_t>() : first_record, {}, true);
    const bool refuses_backslash = dialect.quote && dialect.quote != '\\' && !dialect.escape &&
                                   dialect.delimiter != '\\' && !options.is_escape_given;
    if (refuses_backslash) refuse_escaped_quotes(record, *dialect.quote);  // its message counts the columns
    InputColumns columns = is_json ? columns_of_json() : columns_of_record(record, dialect, has_header);
    columns.is_delimiter_given = options.is_delimiter_given;
    columns.is_header_given = options.is_header_given;
    auto program = std::make_shared<Program>(dialect);
    program->cancellation = cancellation;
    add_forbidden(*program, options);
    columns.shows_names = !has_forbidden_name(columns, *program);
    KeyUses uses = keys != nullptr ? KeyUses(keys->names(), keys->keys().versions) : KeyUses({});
    RuleSet rules =
        resolve_rules({options.select, options.rules, options.default_action, options.files}, columns, uses);
    if (!is_json) check_constants(rules, codec);
    const auto* token = reinterpret_cast<const std::uint8_t*>(options.null_token.data());
    if (is_json && !options.null_token.empty()) {
        throw RuleError("in JSON Lines, a value that becomes null is null", "--redact-null", options.null_token, 0);
    }
    if (!codec.is_plain({token, options.null_token.size()})) {
        throw RuleError("the token would need quotes", "--redact-null", options.null_token, 0);
    }
    if (is_json) program->paths = std::make_shared<const JsonPaths>(rules);
    program->column_count = rules.column_count;
    program->rules = std::move(rules);
    program->refuses_backslash = refuses_backslash;
    program->null_token = options.null_token;
    program->max_record = options.max_record;
    program->uses = std::move(uses);
    program->keys = keys;
    if (!program->forbidden.empty()) program->watched = program->rules.selected;
    for (const auto& used : {program->uses.uses(), program->uses.ciphers()}) {
        for (const KeyUses::Use& use : used) {
            const std::pair<std::string, std::string> one(use.key, keys->id(use.key));
            if (std::ranges::find(program->key_ids, one) == program->key_ids.end()) program->key_ids.push_back(one);
        }
    }
    program->digest = digest_of(options, *program);
    lay_out(*program, {});
    program_ = std::move(program);
}

Stage with_keys(const Stage& stage, std::span<const std::size_t> columns, bool are_left_out,
                std::span<const std::size_t> as_read) {
    auto program = std::make_shared<Stage::Program>(stage.program());
    program->keys_as_read.assign(as_read.begin(), as_read.end());
    lay_out(*program, {columns, are_left_out});
    return Stage(std::move(program));
}

const Rule* suppress_rule(const Stage& stage) {
    const RuleSet& rules = stage.program().rules;
    return rules.suppress ? &rules.rules[*rules.suppress] : nullptr;
}

Stage with_common(const Stage& stage, std::shared_ptr<const CommonClasses> common) {
    auto program = std::make_shared<Stage::Program>(stage.program());
    program->common = std::move(common);
    if (program->common->are_wanted()) {
        const std::vector<std::size_t>& counted = suppress_rule(stage)->columns;
        std::erase_if(program->watched,
                      [&](std::size_t column) { return std::ranges::find(counted, column) == counted.end(); });
    }
    return Stage(std::move(program));
}

const Dialect& Stage::dialect() const { return program_->dialect; }
std::size_t Stage::column_count() const { return program_->column_count; }
std::uint64_t Stage::max_record() const { return program_->max_record; }
const std::string& Stage::digest() const { return program_->digest; }
std::vector<std::pair<std::string, std::string>> Stage::key_ids() const { return program_->key_ids; }

std::vector<StageRule> Stage::rules() const {
    std::vector<StageRule> rules;
    for (const Rule& rule : program_->rules.rules) {
        StageRule& made = rules.emplace_back(StageRule{rule.source, rule.operation_name, {}});
        for (const std::size_t column : rule.columns) made.columns.push_back(program_->rules.names[column]);
    }
    return rules;
}

std::vector<std::string> Stage::paths() const {
    return program_->rules.json ? program_->rules.names : std::vector<std::string>();
}

const std::vector<StageForbidden>& Stage::forbidden() const { return program_->forbidden; }

std::vector<std::string> Stage::unnamed_columns() const {
    std::vector<std::string> names;
    for (const std::size_t column : program_->rules.unnamed) names.push_back(program_->rules.names[column]);
    return names;
}

}  // namespace cleave
