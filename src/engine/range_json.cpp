// Range summaries, and the plans computed from them, as JSON; see doc/guide/ranges.md. To keep a summary short, its
// offsets count from the start of its range.
#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/json.h"
#include "cleave/experimental/range_plan.h"
#include "engine/plan_json.h"

namespace cleave {
namespace {

constexpr std::uint64_t kSummaryVersion = 1;
constexpr std::string_view kLetters = "rfuqpekc012FRUC";  // indexed by RangeState
static_assert(kLetters.size() == kRangeStateCount);
constexpr char kDiffer = '!';

char letter_of(RangeState state) { return kLetters[static_cast<std::size_t>(state)]; }

// The offset, counted from the start of the range; -1 for an offset before the range, null for no offset.
Json offset_json(std::uint64_t offset, std::uint64_t begin) {
    if (offset == kNoOffset) return nullptr;
    if (offset == kBeforeRange) return -1;
    return offset - begin;
}

// Drops the nulls at the end.
Json trimmed(Json::Array values) {
    while (values.back() == Json()) values.pop_back();
    return values;
}

Json row_json(const RangeRow& row, bool is_exact, std::uint64_t begin) {
    Json::Array values = {std::string(1, letter_of(row.exit)), row.records, offset_json(row.first, begin),
                          offset_json(row.last, begin), offset_json(row.open, begin)};
    if (!is_exact && row.header != kNoOffset) {
        values.push_back(offset_json(row.header, begin));
        values.emplace_back(row.header_records);
    }
    return trimmed(std::move(values));
}

Json row_json(const RulesRow& row, std::uint64_t begin) {
    const char to = row.differ ? kDiffer : letter_of(row.exit);
    Json::Array values = {std::string(1, to), offset_json(row.parted, begin)};
    if (row.differ && row.records > 0) values.emplace_back(row.records);
    return trimmed(std::move(values));
}

// Adds the key to the member that already has this value, if there is one, so that each value is written only once.
void add_keyed(Json::Object& members, const std::string& key, Json value, const char* separator) {
    const auto same = std::ranges::find(members, value, &Json::Object::value_type::second);
    if (same == members.end()) {
        members.emplace_back(key, std::move(value));
    } else {
        same->first += separator + key;
    }
}

Json input_json(const InputVersion& input) {
    Json json;
    json["size"] = input.size;
    json["version"] = input.name;
    return json;
}

Json place_json(const std::optional<Place>& place) {
    if (!place) return nullptr;
    return Json::Array{place->offset, place->record};
}

// Reads JSON. Each function throws InputError if it finds an impossible value.
class Reader {
public:
    Reader(std::string_view text, const char* what, const char* key) : what_(what) {
        auto json = parse_json(text);
        if (!json || json->find(key) == nullptr) fail(std::string("it has no '") + key + "'");
        json_ = std::move(*json);
        if (natural(member(key)) != kSummaryVersion) fail("it has another version of the format");
    }

    [[noreturn]] void fail(const std::string& why) const {
        throw InputError(std::string("not a ") + what_ + ": " + why);
    }

    const Json& member(std::string_view key) const { return member(json_, key); }
    const Json& member(const Json& object, std::string_view key) const {
        const Json* value = object.find(key);
        if (value == nullptr) fail("it has no '" + std::string(key) + "'");
        return *value;
    }

    std::uint64_t natural(const Json& json, std::uint64_t most = UINT64_MAX) const {
        const auto number = json.natural();
        if (!number || *number > most) fail("a number is missing or too large");
        return *number;
    }

    const Json::Array& list(const Json& json, std::size_t least, std::size_t most) const {
        const Json::Array* values = json.array();
        if (values == nullptr || values->size() < least || values->size() > most) fail("a list is missing or too long");
        return *values;
    }

    const Json::Object& object(const Json& json) const {
        const Json::Object* members = json.object();
        if (members == nullptr) fail("an object is missing");
        return *members;
    }

    RangeState state(char letter) const {
        const std::size_t at = kLetters.find(letter);
        if (at == std::string_view::npos) fail("a state is unknown");
        return static_cast<RangeState>(at);
    }
    char letter(const Json& json) const {
        const std::string* text = json.string();
        if (text == nullptr || text->size() != 1) fail("a state is not a letter");
        return text->front();
    }

    InputVersion input() const {
        const Json& json = member("input");
        const std::string* name = member(json, "version").string();
        if (name == nullptr || name->empty()) fail("its version is not text");
        return {natural(member(json, "size"), kMostSize), *name};
    }

    Dialect dialect() const {
        const auto dialect = dialect_of_json(member("dialect"));
        if (!dialect) fail("its dialect is unknown");
        return *dialect;
    }

    std::optional<Place> place(const Json& json, const Findings& findings) const {
        if (json == Json()) return std::nullopt;
        const Json::Array& values = list(json, 2, 2);
        if (findings.size == 0 || findings.records == 0) fail("a place is in no record");
        return Place{natural(values[0], findings.size - 1), natural(values[1], findings.records - 1)};
    }

    static constexpr std::uint64_t kMostSize = std::uint64_t{1} << 58;

private:
    const char* what_;
    Json json_;
};

// Reads the rows of a summary whose range is known.
class RowReader {
public:
    RowReader(const Reader& reader, RangeSummary& summary) : reader_(reader), summary_(summary) {}

    void read_states(const Json& json) {
        for (const auto& [key, value] : reader_.object(json)) {
            for (const char letter : key) {
                const RangeState state = reader_.state(letter);
                RangeRow& row = summary_.row(state);
                row = range_row(reader_.list(value, 1, 7), static_cast<std::size_t>(state) < kExactStateCount);
                summary_.row(state, state).exit = row.exit;
            }
        }
    }

    void read_rules(const Json& json) {
        for (const auto& [key, value] : reader_.object(json)) {
            for (std::string_view rest = key; !rest.empty();
                 rest.remove_prefix(std::min<std::size_t>(3, rest.size()))) {
                const bool is_pair = rest.size() == 2 || (rest.size() > 3 && rest[2] == ' ');
                if (!is_pair) reader_.fail("its 'rules' are not of pairs");
                const RangeState own = reader_.state(rest[0]);
                const RangeState other = reader_.state(rest[1]);
                if (!may_pair(own, other) || summary_.row(own).exit == RangeState::kNone)
                    reader_.fail("its 'rules' have an impossible pair");
                summary_.row(own, other) = rules_row(reader_.list(value, 1, 3), summary_.row(own));
            }
        }
    }

private:
    static bool may_pair(RangeState own, RangeState other) {
        const bool are_exact =
            static_cast<std::size_t>(own) < kExactStateCount && static_cast<std::size_t>(other) < kExactStateCount;
        return are_exact || own == other;
    }

    static const Json& at(const Json::Array& values, std::size_t number) {
        static const Json kNull;
        return number < values.size() ? values[number] : kNull;
    }

    std::uint64_t size() const { return summary_.end - summary_.begin; }
    // Whether the first record after the preamble starts within or after the range.
    bool starts_data() const { return summary_.begin <= summary_.dialect.preamble; }

    std::uint64_t offset(const Json& json, bool may_be_before) const {
        if (json == Json()) return kNoOffset;
        if (may_be_before && json == Json(-1)) return kBeforeRange;
        if (size() == 0) reader_.fail("an offset is not in the range");
        return summary_.begin + reader_.natural(json, size() - 1);
    }

    RangeRow range_row(const Json::Array& values, bool is_exact) const {
        RangeRow row;
        row.exit = reader_.state(reader_.letter(values[0]));
        if (values.size() > 1) row.records = reader_.natural(values[1], size());
        row.first = offset(at(values, 2), false);
        row.last = offset(at(values, 3), false);
        row.open = offset(at(values, 4), true);
        row.header = is_exact ? row.first : offset(at(values, 5), false);
        if (values.size() > 6) row.header_records = reader_.natural(values[6], row.records);
        if ((row.records > 0) != (row.last != kNoOffset)) reader_.fail("a state has records and no last one");
        const bool has_start = starts_data() && summary_.end > summary_.dialect.preamble;
        if (has_start && row.records == 0) reader_.fail("no record starts with the input");
        if (row.records > 0 && row.first == kNoOffset && (!has_start || row.records != 1))
            reader_.fail("a state has records and no first one");
        if (row.first != kNoOffset && (row.records == 0 || row.first > row.last))
            reader_.fail("the first record start of a state is behind its last one");
        return row;
    }

    RulesRow rules_row(const Json::Array& values, const RangeRow& own) const {
        RulesRow row;
        const char letter = reader_.letter(values[0]);
        row.differ = letter == kDiffer;
        row.parted = offset(at(values, 1), true);
        if (row.differ) {
            if (values.size() > 2) row.records = reader_.natural(values[2], own.records);
            if (starts_data() && row.records == 0) reader_.fail("the rules differ before the first record");
        } else {
            row.exit = reader_.state(letter);
            if (!may_pair(own.exit, row.exit)) reader_.fail("its 'rules' lead to an impossible pair");
        }
        return row;
    }

    const Reader& reader_;
    RangeSummary& summary_;
};

Json cut_json(const RangeCut& cut) {
    Json json;
    if (cut.search == RangeCut::Search::kNone) {
        json["start"] = cut.target;
        json["record"] = cut.records;
        return json;
    }
    json["range"] = Json::Array{cut.begin, cut.end};
    json["state"] = std::string(1, letter_of(cut.state));
    json["records_before"] = cut.records;
    json[cut.search == RangeCut::Search::kNth ? "nth" : "at_or_after"] = cut.target;
    return json;
}

RangeCut cut_of(const Reader& reader, const Json& json, const Findings& findings) {
    RangeCut cut;
    if (json.find("start") != nullptr) {
        cut.target = reader.natural(reader.member(json, "start"), findings.size);
        cut.records = reader.natural(reader.member(json, "record"), findings.records);
        return cut;
    }
    const Json::Array& range = reader.list(reader.member(json, "range"), 2, 2);
    cut.end = reader.natural(range[1], findings.size);
    cut.begin = reader.natural(range[0], cut.end);
    cut.state = reader.state(reader.letter(reader.member(json, "state")));
    cut.records = reader.natural(reader.member(json, "records_before"), findings.records);
    const bool is_nth = json.find("nth") != nullptr;
    cut.search = is_nth ? RangeCut::Search::kNth : RangeCut::Search::kAtOrAfter;
    cut.target = reader.natural(reader.member(json, is_nth ? "nth" : "at_or_after"), findings.size);
    return cut;
}

}  // namespace

std::string range_text(const RangeSummary& summary, const InputVersion& input) {
    Json json;
    json["cleave_range"] = kSummaryVersion;
    json["range"] = Json::Array{summary.begin, summary.end};
    json["input"] = input_json(input);
    json["dialect"] = dialect_json(summary.dialect);
    Json::Object states;
    Json::Object rules;
    for (std::size_t i = 0; i < kRangeStateCount; ++i) {
        const auto own = static_cast<RangeState>(i);
        const RangeRow& row = summary.row(own);
        if (row.exit == RangeState::kNone) continue;
        const bool is_exact = i < kExactStateCount;
        add_keyed(states, std::string(1, letter_of(own)), row_json(row, is_exact, summary.begin), "");
        for (std::size_t j = is_exact ? 0 : i; j < (is_exact ? kExactStateCount : i + 1); ++j) {
            const auto other = static_cast<RangeState>(j);
            const RulesRow& pair = summary.row(own, other);
            const bool is_usual = i == j && !pair.differ && pair.exit == row.exit && pair.parted == kNoOffset;
            if ((pair.exit == RangeState::kNone && !pair.differ) || is_usual) continue;
            add_keyed(rules, {letter_of(own), letter_of(other)}, row_json(pair, summary.begin), " ");
        }
    }
    json["states"] = std::move(states);
    json["rules"] = std::move(rules);
    return json.text();
}

SummarisedRange parse_range_text(std::string_view text) {
    const Reader reader(text, "range summary (the output of cleave scan)", "cleave_range");
    SummarisedRange result;
    RangeSummary& summary = result.summary;
    result.input = reader.input();
    const Json::Array& range = reader.list(reader.member("range"), 2, 2);
    summary.end = reader.natural(range[1], result.input.size);
    summary.begin = reader.natural(range[0], summary.end);
    summary.dialect = reader.dialect();
    RowReader rows(reader, summary);
    rows.read_states(reader.member("states"));
    rows.read_rules(reader.member("rules"));
    return result;
}

std::string plan_text(const RangePlan& plan) {
    Json json;
    json["cleave_plan"] = kSummaryVersion;
    json["input"] = input_json(plan.input);
    json["dialect"] = dialect_json(plan.dialect);
    Json& header = json["header"];
    header["mode"] = name_of(plan.header);
    header["length"] = plan.header_size;
    header["records"] = plan.findings.header_records;
    json["records"] = plan.findings.records;
    json["open_quote"] = place_json(plan.findings.open_quote);
    json["divergence"] = place_json(plan.findings.divergence);
    std::string text = json.text();
    text.pop_back();  // drops the brace
    text += ",\"cuts\":[";
    for (const RangeCut& cut : plan.cuts) text += (&cut == plan.cuts.data() ? "" : ",") + cut_json(cut).text();
    return text + "]}";
}

RangePlan parse_plan_text(std::string_view text) {
    const Reader reader(text, "plan (the output of cleave plan)", "cleave_plan");
    RangePlan plan;
    plan.input = reader.input();
    plan.dialect = reader.dialect();
    Findings& findings = plan.findings;
    findings.size = plan.input.size;
    findings.records = reader.natural(reader.member("records"), findings.size);
    const Json& header = reader.member("header");
    const auto mode = header_mode_named(reader.member(header, "mode"));
    if (!mode) reader.fail("its header mode is unknown");
    plan.header = *mode;
    plan.header_size = reader.natural(reader.member(header, "length"), findings.size);
    findings.header_records = reader.natural(reader.member(header, "records"), findings.records);
    if (plan.dialect.preamble > 0) findings.preamble_records = std::min<std::uint64_t>(findings.records, 1);
    findings.open_quote = reader.place(reader.member("open_quote"), findings);
    findings.divergence = reader.place(reader.member("divergence"), findings);
    for (const Json& cut : reader.list(reader.member("cuts"), 0, SIZE_MAX)) {
        plan.cuts.push_back(cut_of(reader, cut, findings));
    }
    return plan;
}

}  // namespace cleave
