#include "cli/given.h"

#include <fmt/format.h>

#include <array>
#include <string_view>
#include <utility>

#include "cli/option_table.h"
#include "cli/suggest.h"

namespace cleave::cli {
namespace {

// Options that set the same thing.
constexpr std::array<std::pair<const char*, const char*>, 3> kSameThing = {
    {{"header", "no-header"}, {"quote", "no-quote"}, {"quiet", "verbose"}}};

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
        if ((row.verbs & bit(verb)) != 0) names.push_back(fmt::format("--{}", row.name));
        if (has_spelling(row, option)) others |= row.verbs & kAllVerbs;
    }
    if (others != 0) {
        throw UsageError(fmt::format("{} has no option {}; it is an option of: {}", verb_name(verb), option,
                                     with_commas(verb_names(others))));
    }
    throw UsageError(fmt::format("unrecognised option '{}'{}", option, did_you_mean(option, names)));
}

const OptionRow& get_option(Verb verb, std::string_view option) {
    const OptionRow* row = find_option(verb, option);
    if (row == nullptr) refuse_option(verb, option);
    return *row;
}

}  // namespace

Given::Given(Verb verb, const std::vector<std::string>& words) : verb_(verb) {
    auto word = words.begin();
    // What follows an option that needs a value. An option of the verb is not taken for a value: the value is missing.
    const Next next = [&](std::string_view option) {
        if (word == words.end()) throw UsageError(fmt::format("{} needs a value", option));
        if (find_option(verb_, *word) != nullptr)
            throw UsageError(fmt::format("{} needs a value, and {} is an option", option, *word));
        return *word++;
    };
    while (word != words.end()) {
        const std::string& current = *word++;
        if (current == "--") {
            inputs_.insert(inputs_.end(), word, words.end());
            break;
        }
        if (current.starts_with("--")) {
            take_long(current, next);
        } else if (current.starts_with('-') && current.size() > 1) {
            take_letters(current, next);
        } else {
            inputs_.push_back(current);
        }
    }
}

// "--name" or "--name=value".
void Given::take_long(const std::string& word, const Next& next) {
    const std::size_t equals = word.find('=');
    std::string option = word.substr(0, equals);
    const OptionRow& row = get_option(verb_, option);
    std::string value;
    if (row.value == nullptr) {
        if (equals != std::string::npos) throw UsageError(option + " takes no value");
    } else {
        value = equals == std::string::npos ? next(option) : word.substr(equals + 1);
    }
    take(row.name, std::move(option), std::move(value));
}

// "-abc": switches, and perhaps at the end an option that takes the rest of the word as its value.
void Given::take_letters(const std::string& word, const Next& next) {
    for (std::size_t i = 1; i < word.size(); ++i) {
        std::string option = {'-', word[i]};
        const OptionRow& row = get_option(verb_, option);
        if (row.value == nullptr) {
            take(row.name, std::move(option), "");
            continue;
        }
        std::string value = i + 1 < word.size() ? word.substr(i + 1) : next(option);
        take(row.name, std::move(option), std::move(value));
        return;
    }
}

void Given::take(const std::string& name, std::string spelling, std::string value) {
    for (const auto& [one, other] : kSameThing) {
        if (name == one) options_.erase(other);
        if (name == other) options_.erase(one);
    }
    options_[name] = {std::move(spelling), std::move(value), ++uses_};
}

bool Given::is_after(const char* name, const char* other) const {
    return has(name) && has(other) && options_.at(name).order > options_.at(other).order;
}

void Given::refuse_both(const char* name, const char* other) const {
    if (!has(name) || !has(other)) return;
    throw UsageError(fmt::format("{} and {} exclude each other", spelling(name), spelling(other)));
}

}  // namespace cleave::cli
