// What must be known about rules before an input is opened: the files that they name in their arguments, and whether
// they need two passes.
#include <fcntl.h>

#include <algorithm>
#include <string>
#include <utility>

#include "cleave/stage.h"
#include "core/reader/fd.h"
#include "features/redact/stage/operation.h"
#include "features/redact/stage/program.h"
#include "features/redact/stage/rule_parser.h"

namespace cleave {
namespace {

std::string read_file(const std::string& path) {
    constexpr std::size_t kMaxSize = std::size_t{64} << 20;
    const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file.is_open()) throw_errno(path);
    std::string text = read_to_end(file.get(), kMaxSize, path);
    if (text.size() > kMaxSize) throw ArgumentError(path + ": too long for a file that a rule names");
    return text;
}

}  // namespace

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
