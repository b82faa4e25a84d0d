#include "features/redact/run/stage_report.h"

#include "cleave/keys.h"
#include "features/redact/stage/program.h"

namespace cleave {
namespace {

Json rule_json(const StageRule& rule, const RuleCounts& counts) {
    Json json;
    json["origin"] = rule.source.origin;
    json["columns"] = rule.columns;
    json["operation"] = rule.operation;
    json["seen"] = counts.seen;
    json["changed"] = counts.changed;
    json["kept"] = counts.kept;
    json["empty"] = counts.empty;
    json["condition_false"] = counts.condition_false;
    if (counts.fewest_tokens > 0) json["fewest_tokens"] = counts.fewest_tokens;
    return json;
}

}  // namespace

Json stage_report(const Stage& stage, const StageCounts& counts, const InputFacts& facts, std::uint64_t pieces) {
    Json json;
    json["cleave"] = 1;
    json["input"] = input_json(facts);
    if (!stage.digest().empty()) json["rules_digest"] = stage.digest();
    Json::Array keys;
    for (const auto& [name, id] : stage.key_ids()) {
        Json& key = keys.emplace_back();
        key["name"] = name;
        key["id"] = id;
        if (const std::uint64_t version = stage.program().keys->version(name)) key["version"] = version;
    }
    json["keys"] = std::move(keys);
    Json::Array rules;
    const std::vector<StageRule> compiled = stage.rules();
    for (std::size_t i = 0; i < compiled.size(); ++i) {
        rules.push_back(rule_json(compiled[i], i < counts.rules.size() ? counts.rules[i] : RuleCounts()));
    }
    json["rules"] = std::move(rules);
    json["unnamed"] = stage.unnamed_columns();
    json["records"] = counts.records;
    json["empty_records"] = counts.empty_records;
    Json& forbidden = json["forbidden"];
    forbidden["mail"] = std::uint64_t{0};  // an older name for email; these two are always there
    forbidden["card"] = std::uint64_t{0};
    Json patterns;
    for (std::size_t i = 0; i < stage.forbidden().size(); ++i) {
        const StageForbidden& one = stage.forbidden()[i];
        forbidden[one.name == "email" ? "mail" : one.name] = i < counts.forbidden.size() ? counts.forbidden[i] : 0;
        if (one.text) patterns[one.name] = *one.text;
    }
    if (!stage.program().patterns.empty()) json["patterns"] = std::move(patterns);
    json["pieces"] = pieces;
    return json;
}

}  // namespace cleave
