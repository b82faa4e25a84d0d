// Files of rules, one per line. See rules.h for what becomes of the lines.
#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

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

}  // namespace cleave
