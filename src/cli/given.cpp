#include "cli/given.h"

#include <algorithm>
#include <array>
#include <boost/program_options.hpp>
#include <string_view>
#include <utility>

#include "base/suggest.h"
#include "cli/formatted.h"
#include "cli/option_table.h"
#include "cli/other_tools.h"

namespace cleave::cli {
namespace {

namespace po = boost::program_options;

// Options that set the same thing.
constexpr std::array<std::pair<const char*, const char*>, 3> kSameThing = {
    {{"header", "no-header"}, {"quote", "no-quote"}, {"quiet", "verbose"}}};

// Options whose values add up. Any other value may be given once: of two, one would be ignored without a word.
constexpr std::array<std::string_view, 4> kManyValues = {"redact", "rules", "key", "forbid"};

bool has_spelling(const OptionRow& row, std::string_view option) {
    const bool is_letter = row.letter != 0 && option.size() == 2 && option[0] == '-' && option[1] == row.letter;
    return is_letter || (option.starts_with("--") && option.substr(2) == row.name);
}

// nullptr if the verb has no option of that spelling: "-l" or "--records".
const OptionRow* find_option(Verb verb, std::string_view option) {
    for (const OptionRow& row : option_table()) {
        if ((row.verbs & bit(verb)) != 0 && has_spelling(row, option)) return &row;
    }
    return nullptr;
}

[[noreturn]] void refuse_option(Verb verb, std::string_view option) {
    std::vector<std::string> names;
    unsigned others = 0;
    for (const OptionRow& row : option_table()) {
        if ((row.verbs & bit(verb)) != 0) names.push_back(formatted("--{}", row.name));
        if (has_spelling(row, option)) others |= row.verbs & kAllVerbs;
    }
    const std::string hint = option_hint(verb, option);
    if (others != 0) {
        throw UsageError(formatted("{} has no option {}; it is an option of: {}{}", verb_name(verb), option,
                                   with_commas(verb_names(others)), hint));
    }
    throw UsageError(
        formatted("unrecognised option '{}'{}", option, hint.empty() ? did_you_mean(option, names) : hint));
}

// Whether one of the words may hold the option: "--size=1M" and "-C1M", and "--size-of-it" and "-xC" too.
bool may_be_given(const OptionRow& row, const std::vector<std::string>& words) {
    return std::ranges::any_of(words, [&](std::string_view word) {
        if (word.starts_with("--")) return word.substr(2).starts_with(row.name);
        return row.letter != 0 && word.starts_with('-') && word.find(row.letter) != std::string_view::npos;
    });
}

// The options of the verb that may be given. With all of them, `count` on a tiny file takes a fifth more instructions.
po::options_description describe(Verb verb, const std::vector<std::string>& words) {
    po::options_description description;
    auto add = description.add_options();
    for (const OptionRow& row : option_table()) {
        if ((row.verbs & bit(verb)) == 0 || !may_be_given(row, words)) continue;
        const std::string name = row.letter == 0 ? row.name : formatted("{},{}", row.name, row.letter);
        if (row.value == nullptr) {
            add(name.c_str(), "");
        } else {
            add(name.c_str(), po::value<std::string>(), "");
        }
    }
    return description;
}

// "--records" of "--records=5".
std::string without_value(const std::string& token) { return token.substr(0, token.find('=')); }

// The option of the error as it was typed, if the words end with it: Boost gives the long name alone.
std::string spelling_of(const po::invalid_command_line_syntax& error, const std::vector<std::string>& words) {
    const std::string& word = words.back();
    const bool is_letters = word.size() > 1 && word.starts_with('-') && !word.starts_with("--");
    return is_letters ? std::string{'-', word.back()} : error.get_option_name();
}

// Refuses words such as "--=x", which Boost would take for inputs.
void refuse_nameless_option(Verb verb, const std::vector<std::string>& words) {
    for (const std::string& word : words) {
        if (word == "--") return;
        if (word.starts_with("--=")) refuse_option(verb, "--");
    }
}

// Boost's parser without its variables_map, which takes an option once and forgets how it was typed.
po::parsed_options parse(Verb verb, const std::vector<std::string>& words) {
    namespace style = po::command_line_style;
    constexpr int kStyle = style::unix_style & ~style::allow_guessing;
    const po::options_description description = describe(verb, words);
    refuse_nameless_option(verb, words);
    try {
        return po::command_line_parser(words).options(description).style(kStyle).run();
    } catch (const po::unknown_option& error) {
        refuse_option(verb, without_value(error.get_option_name()));
    } catch (const po::invalid_command_line_syntax& error) {
        if (error.kind() == po::invalid_syntax::missing_parameter)
            throw UsageError(formatted("{} needs a value", spelling_of(error, words)));
        const bool is_empty = error.kind() == po::invalid_syntax::empty_adjacent_parameter;
        throw UsageError(formatted("{} {} value", error.get_option_name(), is_empty ? "needs a" : "takes no"));
    } catch (const po::error& error) {
        throw UsageError(error.what());
    }
}

// The option as it was typed: "-l" or "--records". Boost keeps no token for a letter that follows other letters.
std::string spelling_of(const po::option& option) {
    if (!option.original_tokens.empty() && option.original_tokens.front().starts_with("--"))
        return without_value(option.original_tokens.front());
    const auto& rows = option_table();
    const auto row = std::ranges::find_if(rows, [&](const OptionRow& each) { return each.name == option.string_key; });
    return {'-', row->letter};
}

// Throws where the word after an option is an option of the verb: the value was forgotten.
void refuse_option_as_value(Verb verb, const po::option& option) {
    const auto& tokens = option.original_tokens;
    if (tokens.size() < 2 || find_option(verb, tokens.back()) == nullptr) return;
    throw UsageError(formatted("{} needs a value, and {} is an option", spelling_of(option), tokens.back()));
}

}  // namespace

Given::Given(Verb verb, const std::vector<std::string>& words) {
    for (const po::option& option : parse(verb, words).options) {
        if (option.string_key.empty()) {
            inputs_.insert(inputs_.end(), option.value.begin(), option.value.end());
            continue;
        }
        refuse_option_as_value(verb, option);
        take(option.string_key, spelling_of(option),
             option.value.empty() ? std::nullopt : std::optional(option.value.front()));
    }
}

void Given::take(const std::string& name, std::string spelling, const std::optional<std::string>& value) {
    for (const auto& [one, other] : kSameThing) {
        if (name == one) options_.erase(other);
        if (name == other) options_.erase(one);
    }
    if (value && has(name.c_str()) && std::ranges::find(kManyValues, name) == kManyValues.end()) {
        throw UsageError(formatted("{} may be given only once", spelling));
    }
    Use& use = options_[name];
    use.spelling = std::move(spelling);
    use.values.push_back(value.value_or(""));
    use.order = ++uses_;
}

bool Given::is_after(const char* name, const char* other) const {
    return has(name) && has(other) && options_.at(name).order > options_.at(other).order;
}

void Given::refuse_both(const char* name, const char* other) const {
    if (!has(name) || !has(other)) return;
    throw UsageError(formatted("{} and {} exclude each other", spelling(name), spelling(other)));
}

}  // namespace cleave::cli
