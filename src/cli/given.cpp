#include "cli/given.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <boost/program_options.hpp>
#include <span>
#include <string_view>
#include <utility>

#include "base/shell_word.h"
#include "base/suggest.h"
#include "cli/formatted.h"
#include "cli/option_table.h"
#include "cli/other_tools.h"

namespace cleave::cli {
namespace {

namespace po = boost::program_options;

// Pairs of options that set the same thing.
constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kSameThing = {
    {{"header", "no-header"}, {"quote", "no-quote"}, {"quiet", "verbose"}}};

// The options of the verb that an old one stands for.
std::vector<std::string> names_of(const OldOption& old, Verb verb) {
    std::vector<std::string> names;
    for (const OptionRow& row : option_table()) {
        if ((row.verbs & bit(verb)) != 0 &&
            std::ranges::find(old.names, std::string_view(row.name)) != std::end(old.names))
            names.emplace_back(row.name);
    }
    return names;
}

// nullptr if the name is not an old option of the verb.
const OldOption* find_old_option(Verb verb, std::string_view name) {
    const std::span<const OldOption> rows = old_options();
    const auto row = std::ranges::find_if(
        rows, [&](const OldOption& old) { return (old.verbs & bit(verb)) != 0 && std::string_view(old.name) == name; });
    return row == rows.end() ? nullptr : &*row;
}

[[noreturn]] void refuse_option(Verb verb, std::string_view option) {
    std::vector<std::string> names;
    unsigned others = 0;
    for (const OptionRow& row : option_table()) {
        if ((row.verbs & bit(verb)) != 0) names.push_back(formatted("--{}", row.name));
        if (has_spelling(row, option)) others |= row.verbs & kAllVerbs;
    }
    for (const OldOption& old : old_options()) {
        if (has_spelling(old, option)) others |= old.verbs;
    }
    const std::string hint = option_hint(verb, option);
    if (others != 0) {
        throw UsageError(formatted("{} has no option {}; it is an option of: {}{}", verb_name(verb), option,
                                   with_commas(verb_names(others)), hint));
    }
    const std::string suggestion = hint.empty() ? did_you_mean(option, names) : hint;
    throw UsageError(formatted("unknown option '{}'{}", option,
                               suggestion.empty() ? formatted("; see cleave {} -h", verb_name(verb)) : suggestion));
}

// What words may contain of options, for example "-xC1M" and "--max-bytes-of-it=2": "xC1M" and "max-bytes-of-it=2".
class Spellings {
public:
    explicit Spellings(const std::vector<std::string>& words) {
        for (const std::string_view word : words) {
            if (word.size() < 2 || word[0] != '-') continue;
            if (word[1] == '-') {
                names_.push_back(word.substr(2));
            } else {
                letters_ += word.substr(1);
            }
        }
    }

    template <class Row>
    bool may_contain(const Row& row) const {
        if (row.letter != 0 && letters_.find(row.letter) != std::string::npos) return true;
        return std::ranges::any_of(names_, [&](std::string_view name) {
            return !name.empty() && name[0] == row.name[0] &&
                   name.starts_with(row.name);  // the first settles most rows
        });
    }

private:
    std::vector<std::string_view> names_;
    std::string letters_;
};

// An old option takes a value if the options it stands for do.
bool has_value(const OldOption& old) {
    const auto& rows = option_table();
    const std::string_view name = old.names[0];
    return !std::ranges::find_if(rows, [&](const OptionRow& row) { return row.name == name; })->is_switch();
}

// The options of the verb that the words may contain. Describing all options would cost a fifth more instructions on
// tiny files.
po::options_description describe(Verb verb, const std::vector<std::string>& words) {
    po::options_description description;
    const Spellings spellings(words);
    const auto is_wanted = [&](const auto& row) { return (row.verbs & bit(verb)) != 0 && spellings.may_contain(row); };
    const auto add = [&](const auto& row, bool has_value) {
        const std::string name(row.letter == 0 ? std::string(row.name) : formatted("{},{}", row.name, row.letter));
        if (has_value) {
            description.add_options()(name.c_str(), po::value<std::string>(), "");
        } else {
            description.add_options()(name.c_str(), "");
        }
    };
    for (const OptionRow& row : option_table()) {
        if (is_wanted(row)) add(row, !row.is_switch());
    }
    for (const OldOption& old : old_options()) {
        if (is_wanted(old)) add(old, has_value(old));
    }
    return description;
}

// "--records" for "--records=5".
std::string without_value(const std::string& token) { return token.substr(0, token.find('=')); }

// The option that the error is about, as it was typed if it is the last word. Boost gives only the long name.
std::string spelling_of(const po::invalid_command_line_syntax& error, const std::vector<std::string>& words) {
    const std::string& word = words.back();
    const bool is_letters = word.size() > 1 && word.starts_with('-') && !word.starts_with("--");
    return is_letters ? std::string{'-', word.back()} : error.get_option_name();
}

// Rejects words such as "--=x", which Boost would take for inputs.
void refuse_nameless_option(Verb verb, const std::vector<std::string>& words) {
    for (const std::string& word : words) {
        if (word == "--") return;
        if (word.starts_with("--=")) refuse_option(verb, "--");
    }
}

// If the word that Boost does not recognise looks like "-q;", explains that -q set the quote until version 0.1.
void refuse_joined_quote(const std::vector<std::string>& words, const std::string& option) {
    for (const std::string& word : words) {
        if (!word.starts_with("-q") || word.size() == 2 || word != option) continue;
        throw UsageError(formatted("-q means --quiet; use --quote {} for the quote", shell_word(word.substr(2))));
    }
}

// Boost's parser without its variables_map, which accepts an option only once and forgets how it was typed.
po::parsed_options parse(Verb verb, const std::vector<std::string>& words) {
    namespace style = po::command_line_style;
    constexpr int kStyle = style::unix_style & ~style::allow_guessing;
    refuse_left_out(words);
    const po::options_description description = describe(verb, words);
    refuse_nameless_option(verb, words);
    try {
        return po::command_line_parser(words).options(description).style(kStyle).run();
    } catch (const po::unknown_option& error) {
        refuse_joined_quote(words, error.get_option_name());
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

// The option as it was typed, such as "-l" or "--records". Boost keeps no token for a letter that follows other
// letters.
std::string spelling_of(const po::option& option) {
    if (!option.original_tokens.empty() && option.original_tokens.front().starts_with("--"))
        return without_value(option.original_tokens.front());
    const auto& rows = option_table();
    const auto row = std::ranges::find_if(rows, [&](const OptionRow& each) { return each.name == option.string_key; });
    return {'-', row->letter};
}

// Throws if the word after an option is itself an option of the verb, because then the value was forgotten.
void refuse_option_as_value(Verb verb, const po::option& option) {
    const auto& tokens = option.original_tokens;
    if (tokens.size() < 2 || !has_option(verb, tokens.back())) return;
    throw UsageError(formatted("{} needs a value, and {} is an option", spelling_of(option), tokens.back()));
}

}  // namespace

Given::Given(Verb verb, const std::vector<std::string>& words) : verb_(verb) {
    for (const po::option& option : parse(verb, words).options) {
        if (option.string_key.empty()) {
            for (const std::string& word : option.value) inputs_.add(word);
            continue;
        }
        refuse_option_as_value(verb, option);
        const auto value = option.value.empty() ? std::nullopt : std::optional(option.value.front());
        const OldOption* const old = find_old_option(verb, option.string_key);
        const auto names = old == nullptr ? std::vector{option.string_key} : names_of(*old, verb);
        for (const std::string& name : names) take(name, spelling_of(option), value);
    }
    refuse_old_quote();
}

// -q was --quote until version 0.1. Now "-q ;" would take the quote for an input.
void Given::refuse_old_quote() const {
    if (!has("quiet") || spelling("quiet") != "-q") return;
    for (const Location& location : inputs_.all()) {
        const std::string& input = location.name();
        struct stat status;
        if (input.size() != 1 || location.is_stream() || ::stat(input.c_str(), &status) == 0) continue;
        throw UsageError(formatted("-q means --quiet, and there is no file '{0}'; use --quote {1} for the quote", input,
                                   shell_word(input)));
    }
}

void Given::take(const std::string& name, std::string spelling, const std::optional<std::string>& value) {
    for (const auto& [one, other] : kSameThing) {
        const auto& replaced = name == one ? other : one;
        if (name == one || name == other) std::erase_if(options_, [&](const Use& use) { return use.name == replaced; });
    }
    // A second value would silently replace the first.
    const auto repeats = [&](const OptionRow& row) { return row.name == name && row.more.repeats; };
    if (value && has(name) && std::ranges::none_of(option_table(), repeats))
        throw UsageError(formatted("{} may be given only once", spelling));
    auto use = std::ranges::find(options_, name, &Use::name);
    if (use == options_.end()) use = options_.insert(use, {name, {}, {}, 0});
    use->spelling = std::move(spelling);
    use->values.push_back(value.value_or(""));
    use->order = ++uses_;
}

bool Given::is_after(std::string_view name, std::string_view other) const {
    return has(name) && has(other) && find(name)->order > find(other)->order;
}

void Given::refuse_both(std::string_view name, std::string_view other) const {
    if (!has(name) || !has(other)) return;
    throw UsageError(formatted("{} and {} cannot be used together", spelling(name), spelling(other)));
}

}  // namespace cleave::cli
