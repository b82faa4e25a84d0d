#include "features/redact/run/signed_report.h"

#include <nettle/memops.h>

#include <algorithm>
#include <set>
#include <utility>

#include "cleave/error.h"
#include "cleave/keys.h"
#include "cleave/version.h"
#include "core/writer/stream_path.h"
#include "engine/beneath.h"
#include "features/redact/stage/keys.h"
#include "features/redact/stage/mac.h"
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

constexpr std::uint64_t kReportVersion = 1;
constexpr std::size_t kDigits = 2 * std::size_t{kMacSize};  // of a MAC, and of a SHA-256
constexpr std::string_view kBeforeMac = R"("hmac_sha256":")";
constexpr std::string_view kAfterMac = "\"}}\n";

std::string mac_of(std::string_view text, std::string_view label, const KeyRing& keys, const std::string& key) {
    const SecretKey& secret = keys.keys().keys[keys.keys().index_of(key)];
    return derived_mac_hex(secret.bytes(), label, text);
}

std::string mac_of_report(std::string_view before, const KeyRing& keys, const std::string& key) {
    return mac_of(before, "cleave 2 report", keys, key);
}

// A signed report, divided at its MAC. All views are empty if the text does not end like one.
struct SignedText {
    explicit SignedText(std::string_view text) {
        if (text.size() < kDigits + kAfterMac.size() || !text.ends_with(kAfterMac)) return;
        text.remove_suffix(kAfterMac.size());
        const std::string_view before = text.substr(0, text.size() - kDigits);
        if (!before.ends_with(kBeforeMac)) return;
        before_mac = before;
        mac = text.substr(before.size());
    }

    std::string_view before_mac;
    std::string_view mac;
};

Json file_json(const ReportedFile& file) {
    Json json;
    json["name"] = file.name;
    json["size"] = file.content.size;
    json["sha256"] = file.content.sha256;
    if (file.records) json["records"] = *file.records;
    return json;
}

[[noreturn]] void refuse_report(const std::string& why) { throw InputError("not a signed report: " + why); }

const Json& member_of_report(const Json& object, const char* name) {
    const Json* value = object.find(name);
    if (value == nullptr) refuse_report("it has no '" + std::string(name) + "'");
    return *value;
}

std::uint64_t size_of(const Json& json) {
    const auto size = member_of_report(json, "size").natural();
    if (!size) refuse_report("a size is not a number of bytes");
    return *size;
}

std::string hash_of(const Json& json, const char* name) {
    const std::string* const hash = member_of_report(json, name).string();
    if (hash == nullptr || hash->size() != kDigits) refuse_report("a hash does not have 64 digits");
    return *hash;
}

ReportedFile file_of(const Json& json, bool is_piece) {
    const std::string* const name = member_of_report(json, "name").string();
    if (name == nullptr) refuse_report("the name of a file is not text");
    // Other spellings of a name would let one file be listed twice.
    const bool is_known = *name == kStandardStream ? is_piece : path_beneath("", *name) == *name;
    if (!is_known) refuse_report("a file is not beneath the folder of the report");
    return {*name,
            {size_of(json), hash_of(json, "sha256")},
            is_piece ? member_of_report(json, "records").natural() : std::nullopt};
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

std::string name_in_report(const std::string& report, const std::string& path) {
    const std::string folder = folder_beside(report);
    const auto name = path_beneath(folder, path);
    if (!name || leads_to_stream(path)) {
        throw ArgumentError("--sign: '" + path + "' is not beneath " +
                            (folder.empty() ? "the current folder" : "the folder of the report, '" + folder + "'"));
    }
    const auto parsed = parse_json(Json(*name).text());
    if (*name == kStandardStream || parsed != Json(*name)) {
        throw ArgumentError("--sign: a report cannot list a file with the name '" + *name + "'");
    }
    return *name;
}

ReportedInput reported_input(const ContentDigest& content, const KeyRing& keys, const std::string& key) {
    return {content.size, mac_of(content.sha256, "cleave 2 input", keys, key)};
}

std::string signed_report(Json report, const ReportedFiles& files, const KeyRing& keys, const std::string& key) {
    report["program"] = "cleave " CLEAVE_VERSION;
    Json& stored = report["input"]["stored"];
    stored["size"] = files.input.size;
    stored["hmac_sha256"] = files.input.hmac_sha256;
    Json::Array pieces;
    for (const ReportedFile& piece : files.pieces) pieces.push_back(file_json(piece));
    report["files"] = std::move(pieces);
    if (files.manifest) report["manifest"] = file_json(*files.manifest);
    Json signature;
    signature["key"] = key;
    signature["id"] = keys.id(key);
    if (const std::uint64_t version = keys.version(key)) signature["version"] = version;
    Json second;
    second["signature"] = std::move(signature);
    std::string text = report.text() + "\n" + second.text();
    text.resize(text.size() - std::string_view("}}").size());
    text.append(",").append(kBeforeMac);
    text += mac_of_report(text, keys, key);
    text += kAfterMac;
    if (text.size() <= kMaxSignedReport) return text;
    throw ArgumentError("--sign: the report would be larger than " + std::to_string(kMaxSignedReport >> 20U) +
                        " MiB; make fewer pieces");
}

bool is_authentic(std::string_view text, const KeyRing& keys, const std::string& key) {
    const SignedText parts(text);
    const std::string mac = mac_of_report(parts.before_mac, keys, key);
    return parts.mac.size() == mac.size() && ::nettle_memeql_sec(parts.mac.data(), mac.data(), mac.size()) != 0;
}

ReportedFiles files_of_report(std::string_view text) {
    const SignedText parts(text);
    if (parts.mac.empty()) refuse_report("it does not end with a signature");
    const std::size_t end = parts.before_mac.find('\n');
    if (end == std::string_view::npos || parts.before_mac.find('\n', end + 1) != std::string_view::npos)
        refuse_report("it does not have two lines");
    const std::string_view first = parts.before_mac.substr(0, end);
    const auto json = parse_json(first);
    if (!json || json->object() == nullptr) refuse_report("its first line is not a JSON object");
    // A member that is there twice, of which the parser keeps one, would be read in another way by another program.
    if (json->text() != first) refuse_report("its first line is not as cleave writes it");
    const auto version = member_of_report(*json, "cleave").natural();
    if (!version) refuse_report("its 'cleave' is not a version");
    if (*version != kReportVersion) refuse_report("it is of version " + std::to_string(*version));
    ReportedFiles files;
    const Json& stored = member_of_report(member_of_report(*json, "input"), "stored");
    files.input = {size_of(stored), hash_of(stored, "hmac_sha256")};
    const Json::Array* const pieces = member_of_report(*json, "files").array();
    if (pieces == nullptr) refuse_report("its 'files' is not a list");
    std::set<std::string_view> names;
    for (const Json& piece : *pieces) files.pieces.push_back(file_of(piece, true));
    for (const ReportedFile& piece : files.pieces) {
        if (!names.insert(piece.name).second) refuse_report("it lists a file twice");
    }
    if (const Json* manifest = json->find("manifest")) files.manifest = file_of(*manifest, false);
    if (files.manifest && names.contains(files.manifest->name)) refuse_report("it lists a file twice");
    return files;
}

}  // namespace cleave
