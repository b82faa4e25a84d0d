// Stages: a worker writes, measures, counts and refuses exactly as the reference does, however the records are cut into
// runs.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "choices.h"
#include "cleave/keys.h"
#include "cleave/stage.h"
#include "inputs.h"
#include "stage_reference.h"

namespace cleave::test {
namespace {

const std::string kKey = "0123456789abcdef0123456789abcdef";

const KeyRing& key_ring() {
    static const KeyRing kRing = [] {
        ::setenv("CLEAVE_STAGE_FUZZ_KEY", kKey.c_str(), 1);
        return KeyRing(std::vector<std::string>{"k=env:CLEAVE_STAGE_FUZZ_KEY"});
    }();
    return kRing;
}

// A case: the stage in the library's form and in the reference's.
struct Case {
    ReferenceStage reference;
    StageOptions options;
};

std::string make_value(Choices& choices) {
    static const std::string kValues[] = {"",
                                          "a",
                                          "John Doe",
                                          "Ann  Mary Lee",
                                          " x ",
                                          "public",
                                          "a@b.de",
                                          "x.y@c",
                                          "@b.de",
                                          "a@@b-c.org",
                                          "2024-05-17",
                                          "2023-02-29",
                                          "2024-02-29T23:59:60.5+01:30",
                                          "2024-05-17 00:00Z",
                                          "-3",
                                          "12.345",
                                          "+0.5",
                                          "-0.00",
                                          "99999999999999999999",
                                          "1e3",
                                          "\xC3\xA4 \xC3\xB6",
                                          "\xE2\x82\xAC\xF0\x9F\x98\x80",
                                          "\xC3",
                                          "\xED\xA0\x80\x62",
                                          "\"q\"",
                                          "a,b",
                                          "x\ny",
                                          "x\r",
                                          "\\",
                                          "a\\\"b",
                                          "  ",
                                          "M\tx Y"};
    const std::size_t choice = choices.below(std::size(kValues) + 8);
    return choice < std::size(kValues) ? kValues[choice] : choices.text(1 + choices.below(8));
}

std::string in_rule(const std::string& text) {
    std::string all = "\"";
    for (const char byte : text) all.append(byte == '"' ? 2 : 1, byte);
    return all + '"';
}

std::string number_of(std::size_t column) { return "#" + std::to_string(column + 1); }

// Sets the HMAC's arguments, and returns them as text.
std::string make_hmac(Choices& choices, ReferenceOperation& operation) {
    std::string text = "hmac(k";
    operation.form = std::vector<std::string>{"base64url", "hex", "decimal"}[choices.below(3)];
    if (operation.form != "base64url") text += ", form=" + operation.form;
    if (operation.form != "decimal" && choices.one_in(2)) {
        operation.size = 8 + choices.below(25);
        text += ", bytes=" + std::to_string(operation.size);
    }
    if (choices.one_in(4)) {
        operation.text = "c" + choices.text(choices.below(4));
        text += ", context=" + in_rule(operation.text);
    }
    operation.is_trimmed = choices.one_in(3);
    operation.is_lowered = choices.one_in(3);
    return text + (operation.is_trimmed ? ", trim" : "") + (operation.is_lowered ? ", lower" : "") + ")";
}

// Returns the operation as text.
std::string make_operation_of(Choices& choices, ReferenceOperation& operation) {
    using Kind = ReferenceOperation::Kind;
    operation.kind = static_cast<Kind>(choices.below(10));
    switch (operation.kind) {
        case Kind::kKeep: return "keep()";
        case Kind::kNull: return "null()";
        case Kind::kFixed: operation.text = make_value(choices); return "fixed(" + in_rule(operation.text) + ")";
        case Kind::kHmac: return make_hmac(choices, operation);
        case Kind::kMask:
            operation.first = choices.below(4);
            operation.last = choices.below(4);
            operation.sign = "*x# \"\\"[choices.below(6)];
            return "mask(first=" + std::to_string(operation.first) + ", last=" + std::to_string(operation.last) +
                   ", char=" + in_rule(std::string(1, operation.sign)) + ")";
        case Kind::kInitials: return "initials()";
        case Kind::kShortName: return "short-name()";
        case Kind::kEmail:
            operation.is_hashed = choices.one_in(2);
            return operation.is_hashed ? "email(local=" + make_hmac(choices, operation) + ")" : "email(local=mask)";
        case Kind::kDate: {
            const std::size_t unit = choices.below(3);
            operation.size = 4 + 3 * unit;
            return std::vector<std::string>{"date(year)", "date(month)", "date(day)"}[unit];
        }
        case Kind::kBucket:
            operation.text =
                std::vector<std::string>{"1", "10", "0.25", "7", "123456789012345678", "0.001"}[choices.below(6)];
            return "bucket(" + operation.text + ")";
    }
    return "";
}

std::string make_condition(Choices& choices, std::size_t columns, ReferenceCondition& condition) {
    using Kind = ReferenceCondition::Kind;
    condition.column = choices.below(columns);
    condition.kind = static_cast<Kind>(choices.below(5));
    const std::string column = number_of(condition.column);
    if (condition.kind == Kind::kEmpty) return column + " empty";
    if (condition.kind == Kind::kNotEmpty) return column + " not empty";
    condition.values.push_back(make_value(choices));
    std::string values = in_rule(condition.values[0]);
    if (condition.kind == Kind::kEqual) return column + " = " + values;
    if (condition.kind == Kind::kNotEqual) return column + " != " + values;
    for (std::size_t more = choices.below(3); more > 0; --more) {
        condition.values.push_back(make_value(choices));
        values += ", " + in_rule(condition.values.back());
    }
    return column + " in {" + values + "}";
}

void add_rule(Choices& choices, Case& made, std::vector<std::size_t> columns, bool is_last) {
    ReferenceRule& rule = made.reference.rules.emplace_back();
    std::string text;
    for (const std::size_t column : columns) text += (text.empty() ? "" : ", ") + number_of(column);
    rule.columns = std::move(columns);
    text += ": " + make_operation_of(choices, rule.operation);
    rule.changes_empty = rule.operation.kind != ReferenceOperation::Kind::kKeep && choices.one_in(4);
    if (rule.changes_empty) {
        text.pop_back();
        text += text.back() == '(' ? "empty=change)" : ", empty=change)";
    }
    const std::size_t conditions = is_last ? 0 : choices.below(3);
    for (std::size_t i = 0; i < conditions; ++i) {
        text += (i == 0 ? " if " : " and ") +
                make_condition(choices, made.reference.columns, rule.conditions.emplace_back());
    }
    made.options.rules.push_back({text, "--redact"});
}

// At least one column, without repetition.
std::vector<std::size_t> some_columns(Choices& choices, std::size_t count) {
    std::vector<std::size_t> columns;
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t column = choices.below(count);
        if (std::ranges::find(columns, column) == columns.end()) columns.push_back(column);
    }
    return columns;
}

void make_rules(Choices& choices, Case& made) {
    const std::size_t columns = made.reference.columns;
    for (std::size_t i = choices.below(4); i > 0; --i) add_rule(choices, made, some_columns(choices, columns), false);
    for (std::size_t column = 0; column < columns; ++column) {
        bool is_named = false;
        bool is_decided = false;
        for (const ReferenceRule& rule : made.reference.rules) {
            if (std::ranges::find(rule.columns, column) == rule.columns.end()) continue;
            is_named = true;
            is_decided = is_decided || rule.conditions.empty();
        }
        if (is_named && !is_decided) add_rule(choices, made, {column}, true);
    }
}

void make_default(Choices& choices, Case& made) {
    const std::size_t action = choices.below(6);
    if (action > 2) return;
    ReferenceStage& reference = made.reference;
    made.options.default_action = std::vector{DefaultAction::kKeep, DefaultAction::kNull, DefaultAction::kDrop}[action];
    reference.default_is_null = action == 1;
    if (action != 2) return;
    std::erase_if(reference.selected, [&](std::size_t column) {
        return std::ranges::none_of(reference.rules, [&](const ReferenceRule& rule) {
            return std::ranges::find(rule.columns, column) != rule.columns.end();
        });
    });
}

Case make_case(Choices& choices) {
    Case made;
    ReferenceStage& reference = made.reference;
    made.options.is_delimiter_given = made.options.is_header_given = true;
    reference.dialect = choices.dialect();
    reference.key = kKey;
    reference.columns = 1 + choices.below(4);
    for (std::size_t column = 0; column < reference.columns; ++column) reference.selected.push_back(column);
    if (choices.one_in(2)) {
        reference.selected = some_columns(choices, reference.columns);
        std::string text;
        for (const std::size_t column : reference.selected) text += (text.empty() ? "" : ",") + number_of(column);
        made.options.select = RuleText{text, "--select"};
    }
    make_rules(choices, made);
    make_default(choices, made);
    if (choices.one_in(4)) reference.null_token = choices.one_in(2) ? "NULL" : make_value(choices);
    if (choices.one_in(8)) reference.max_record = 1 + choices.below(60);
    reference.forbids_mail = choices.one_in(4);
    made.options.null_token = reference.null_token;
    made.options.max_record = std::min(reference.max_record, kMaxRecordLimit);
    if (reference.forbids_mail) made.options.forbid = {ForbiddenKind::kEmail};
    made.options.is_escape_given = true;  // the reference knows only one reading
    return made;
}

std::string make_terminator(Choices& choices, Terminator terminator) {
    const std::size_t choice = choices.below(3);
    if (terminator == Terminator::kCr) return "\r";
    if (terminator == Terminator::kLf) return choice == 0 ? "\r\n" : "\n";
    return std::vector<std::string>{"\r\n", "\n", "\r"}[choice];
}

// Records with the right number of fields, most of them well-formed, followed by the rest of the input as it is.
std::string make_text(Choices& choices, const ReferenceStage& stage) {
    std::string text;
    for (std::size_t left = choices.below(8); left > 0; --left) {
        const bool is_blank = choices.one_in(12);
        for (std::size_t column = 0; column < stage.columns && !is_blank; ++column) {
            if (column > 0) text += static_cast<char>(stage.dialect.delimiter);
            const std::string value = make_value(choices);
            const bool is_quoted = stage.dialect.quote && choices.one_in(3);
            text += choices.one_in(32) ? value : field_of(value, is_quoted, stage.dialect).value_or("x");
        }
        text += make_terminator(choices, stage.dialect.terminator);
    }
    if (!text.empty() && choices.one_in(4)) text.pop_back();
    return choices.one_in(4) ? text + choices.text(250) : text;
}

void expect_place(const InputError& error, const std::optional<std::uint32_t>& wanted, const StageReading& reading) {
    ASSERT_TRUE(error.place());
    ASSERT_TRUE(wanted) << error.what();
    EXPECT_EQ(error.place()->offset, *wanted) << error.what();
    const auto after = std::ranges::upper_bound(reading.begins, *wanted);
    EXPECT_EQ(error.place()->record, static_cast<std::uint64_t>(after - reading.begins.begin() - 1)) << error.what();
}

// Measures and writes the block. Returns false if it is refused at the expected position.
bool expect_written(StageWorker& worker, const RecordBlock& block, std::size_t first, const StageReading& wanted) {
    const auto expect_refused = [&](const auto& call) {
        try {
            call();
        } catch (const InputError& error) {
            expect_place(error, wanted.output_fault, wanted);
            return true;
        }
        return false;
    };
    std::vector<std::uint64_t> sizes(block.record_count());
    const bool is_unmeasured = expect_refused([&] { worker.measure(block, sizes); });
    const std::size_t before = worker.written().size();
    const bool is_refused = expect_refused([&] { worker.write(block); });
    EXPECT_EQ(is_refused, is_unmeasured);
    if (is_refused) return false;
    std::size_t at = before;
    const auto written = worker.written();
    for (std::size_t r = 0; r < block.record_count(); ++r) {
        const std::string_view record(reinterpret_cast<const char*>(written.data()) + at, sizes[r]);
        EXPECT_LE(at + sizes[r], written.size());
        EXPECT_LT(first + r, wanted.records.size());
        EXPECT_EQ(shown(record), shown(wanted.records[first + r]));
        EXPECT_EQ(worker.starts()[first + r], at);
        at += sizes[r];
    }
    EXPECT_EQ(at, written.size());
    return true;
}

void expect_counts(const StageCounts& counts, const StageReading& wanted) {
    EXPECT_EQ(counts.records, wanted.records.size());
    EXPECT_EQ(counts.empty_records, wanted.empty_records);
    for (std::size_t i = 0; i < wanted.counts.size(); ++i) {
        const RuleCounts& rule = counts.rules[i];
        EXPECT_EQ((ReferenceCounts{rule.seen, rule.changed, rule.kept, rule.empty, rule.condition_false}),
                  wanted.counts[i])
            << "rule " << i;
    }
}

// Reads runs of at least `size` bytes.
void expect_as_reference(const Stage& stage, const Kernel& kernel, const std::string& text, std::size_t size,
                         const StageReading& wanted) {
    StageWorker worker(stage, kernel);
    const bool is_whole = size >= text.size();
    for (std::size_t begin = 0, first = 0; begin < text.size();) {
        std::size_t r = first + 1;
        while (r < wanted.begins.size() && wanted.begins[r] < begin + size) ++r;
        const std::size_t end = r < wanted.begins.size() ? wanted.begins[r] : text.size();
        RecordBlock block;
        try {
            block = worker.read(bytes_of(text).subspan(begin, end - begin), {begin, first}, true);
            EXPECT_FALSE(wanted.input_fault && is_whole) << "at " << *wanted.input_fault;
        } catch (const InputError& error) {
            EXPECT_TRUE(wanted.input_fault) << error.what();
            if (is_whole) expect_place(error, wanted.input_fault, wanted);
            return;
        }
        EXPECT_EQ(block.record_count(), r - first);
        if (wanted.input_fault) {
            // The reference has no records in this case. Only the fault itself is certain.
            if (end == text.size()) ADD_FAILURE() << "no fault at " << *wanted.input_fault;
        } else if (!expect_written(worker, block, first, wanted)) {
            return;
        }
        begin = end;
        first = r;
    }
    EXPECT_FALSE(wanted.output_fault) << "at " << *wanted.output_fault;
    expect_counts(worker.counts(), wanted);
}

void expect_unchanged(const Stage& stage, const Kernel& kernel, const std::string& text, const StageReading& wanted) {
    if (wanted.input_fault || wanted.unchanged_has_fault) return;
    StageWorker worker(stage, kernel);
    worker.write_unchanged(worker.read(bytes_of(text), {}, true));
    std::string all;
    for (const std::string& record : wanted.unchanged) all += record;
    const auto written = worker.written();
    EXPECT_EQ(shown({reinterpret_cast<const char*>(written.data()), written.size()}), shown(all));
}

bool has_rule_error(const Case& made) {
    const ReferenceStage& stage = made.reference;
    if (stage.selected.empty() || !is_plain(stage.null_token, stage.dialect)) return true;
    return std::ranges::any_of(stage.rules, [&](const ReferenceRule& rule) {
        return rule.operation.kind == ReferenceOperation::Kind::kFixed &&
               !can_carry(rule.operation.text, stage.dialect);
    });
}

void fuzz(Choices choices) {
    static const std::vector<const Kernel*> kKernels = available_kernels();
    const Kernel& kernel = *kKernels[choices.below(kKernels.size())];
    const std::size_t size = 1 + choices.below(100);
    const Case made = make_case(choices);
    const std::string text = make_text(choices, made.reference);
    const std::string first(made.reference.columns - 1, static_cast<char>(made.reference.dialect.delimiter));
    const bool is_refused = has_rule_error(made);
    try {
        const Stage stage(made.options, made.reference.dialect, bytes_of(first), false, &key_ring());
        EXPECT_FALSE(is_refused);
        const StageReading wanted = apply_stage(text, made.reference);
        expect_as_reference(stage, kernel, text, text.size(), wanted);
        expect_as_reference(stage, kernel, text, size, wanted);
        expect_unchanged(stage, kernel, text, wanted);
    } catch (const RuleError& error) {
        EXPECT_TRUE(is_refused) << error.what() << ": " << error.text();
    }
}

}  // namespace
}  // namespace cleave::test

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    cleave::test::fuzz(cleave::test::Choices({data, size}));
    return 0;
}
