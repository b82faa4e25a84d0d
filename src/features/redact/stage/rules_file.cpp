// Files of rules, one per line. See rules.h for what becomes of the lines.
#include <fcntl.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cleave/stage.h"
#include "core/reader/fd.h"
#include "features/redact/stage/operation.h"
#include "features/redact/stage/program.h"
#include "features/redact/stage/rule_parser.h"
#include "features/redact/stage/rules.h"
#include "rows/fields/rule_scanner.h"

namespace cleave {
namespace {

// A '#' followed by anything but a blank begins the number of a column, as in "#3: null".
bool is_blank_or_comment(std::string_view line) {
    const std::size_t start = line.find_first_not_of(" \t");
    if (start == std::string_view::npos) return true;
    const std::string_view text = line.substr(start);
    return text == "#" || text.starts_with("# ") || text.starts_with("#\t");
}

std::string read_file(const std::string& path) {
    constexpr std::size_t kMaxSize = std::size_t{64} << 20;
    const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file.is_open()) throw_errno(path);
    std::string text = read_to_end(file.get(), kMaxSize, path);
    if (text.size() > kMaxSize) throw ArgumentError(path + ": too long for a file that a rule names");
    return text;
}

}  // namespace

std::vector<RuleText> rules_of_file(std::string_view text, const std::string& name) {
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
    if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
    std::vector<RuleText> rules;
    for (std::size_t number = 1; !text.empty(); ++number) {
        const std::size_t end = text.find('\n');
        std::string_view line = text.substr(0, end);
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
        if (line.ends_with('\r')) line.remove_suffix(1);
        if (!is_blank_or_comment(line)) rules.push_back({std::string(line), name + ":" + std::to_string(number)});
    }
    return rules;
}

std::string rules_template(const InputColumns& columns) {
    // Not a hash table, because the author of a header could choose names that all have the same hash.
    std::map<std::string_view, std::size_t> counts;
    for (const std::string& name : columns.names) ++counts[name];
    std::map<std::string_view, std::size_t> seen;
    const auto is_control = [](char byte) { return static_cast<unsigned char>(byte) < ' ' || byte == '\x7F'; };
    std::string text = "@default fail\n";
    for (std::size_t i = 0; i < columns.count; ++i) {
        // A line cannot hold a name with a line feed, and a terminal would obey other control characters.
        if (columns.names.empty() || std::ranges::any_of(columns.names[i], is_control)) {
            text += "#" + std::to_string(i + 1);
        } else {
            const std::string& name = columns.names[i];
            text += in_quotes(name);
            if (counts[name] > 1) text += "[" + std::to_string(++seen[name]) + "]";
        }
        text += ": fail\n";
    }
    return text;
}

std::vector<RuleFile> files_of_rules(std::span<const RuleText> rules) {
    std::vector<RuleFile> files;
    for (const RuleText& rule : rules) {
        std::string path;
        try {
            if (parse_default(rule)) continue;
            const RuleSyntax syntax = parse_rule(rule);
            if (const ArgumentSyntax* const file = file_of(syntax.operation)) path = file->value;
        } catch (const RuleError&) {  // the resolver reports what is wrong
        }
        if (path.empty() || std::ranges::find(files, path, &RuleFile::path) != files.end()) continue;
        std::string text = read_file(path);
        files.push_back({std::move(path), std::move(text)});
    }
    return files;
}

bool has_suppress(std::span<const RuleText> rules) {
    return std::ranges::any_of(rules, [](const RuleText& rule) {
        try {
            return !parse_default(rule) && parse_rule(rule).operation.name == Suppress::kName;
        } catch (const RuleError&) {  // the resolver reports what is wrong
            return false;
        }
    });
}

}  // namespace cleave
