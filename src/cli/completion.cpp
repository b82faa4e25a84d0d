// Shell completion scripts, generated from the option table.
#include <set>
#include <string_view>
#include <vector>

#include "cli/formatted.h"
#include "cli/help.h"
#include "cli/manual_page.h"

namespace cleave::cli {
namespace {

std::vector<Verb> verbs() {
    std::vector<Verb> all;
    all.reserve(kVerbCount);
    for (unsigned verb = 0; verb < kVerbCount; ++verb) {
        if (!is_left_out(static_cast<Verb>(verb))) all.push_back(static_cast<Verb>(verb));
    }
    return all;
}

// "-l", `between`, "--records", or only "--records" if the row has no letter.
std::string spellings(const OptionRow& row, const char* between) {
    return (row.letter == 0 ? "" : formatted("-{}{}", row.letter, between)) + formatted("--{}", row.name);
}

// One shell word in single quotes. The shell takes everything between them literally.
std::string quoted(std::string_view text) {
    std::string word = "'";
    for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return word + "'";
}

// The text with a backslash before each character of `special`.
std::string escaped(std::string_view text, std::string_view special) {
    std::string result;
    for (const char c : text) {
        if (special.find(c) != std::string_view::npos) result += '\\';
        result += c;
    }
    return result;
}

// The branches of a bash `case $option`: the possible values of each option.
std::string bash_values() {
    std::string cases;
    std::set<std::string_view> seen;  // all rows of an option have the same choices
    for (const OptionRow& row : option_table()) {
        if (row.is_switch() || !seen.insert(row.name).second) continue;
        const std::string pattern = spellings(row, " | ");
        if (row.more.choices != nullptr) {
            cases += formatted("    {}) words='{}' ;;\n", pattern, row.more.choices());
        } else if (row.more.is_path) {
            cases += formatted("    {}) return ;;\n", pattern);
        } else {
            cases += formatted("    {}) words= ;;\n", pattern);
        }
    }
    return cases;
}

std::string bash_options(unsigned bits) {
    std::string words;
    for (const OptionRow& row : option_table()) {
        if ((row.verbs & bits) != 0) words += formatted("{}{}", words.empty() ? "" : " ", spellings(row, " "));
    }
    return words;
}

std::string bash_script() {
    std::string text = R"(# Completions of cleave for bash, made by: cleave --completion bash

_cleave() {
    local word=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD - 1]} verb='' prefix='' words='' i
    COMPREPLY=()
    [[ $COMP_CWORD -gt 1 ]] && verb=${COMP_WORDS[1]}
    for ((i = 2; i < COMP_CWORD; ++i)); do
        [[ ${COMP_WORDS[i]} == -- ]] && return
    done
    # COMP_WORDBREAKS says whether an equals sign is a separate word.
    if [[ $word == '=' ]]; then
        word=''
    elif [[ $option == '=' ]]; then
        option=${COMP_WORDS[COMP_CWORD - 2]}
    elif [[ $word == --*=* ]]; then
        option=${word%%=*} prefix=${word%%=*}= word=${word#*=}
    fi
    # To return is to let bash complete files.
    case $option in
)";
    text += bash_values();
    text += "    *)\n        case $verb:$word in\n";
    text += formatted("        :-*) words='{}' ;;\n", bash_options(kGeneral));
    text += formatted("        :*) words='{} help' ;;\n", verb_names(kAllVerbs));
    text += formatted("        help:*) words='{} {}' ;;\n", verb_names(kAllVerbs), fmt::join(topics(), " "));
    text += formatted("        -h:* | --help:*) words='{}' ;;\n", verb_names(kAllVerbs));
    for (const Verb verb : verbs()) {
        text += formatted("        {}:-*) words='{}' ;;\n", verb_name(verb), bash_options(bit(verb)));
    }
    for (const Verb verb : verbs()) {
        if (*verb_words(verb) == '\0') continue;
        text += formatted(
            "        {}:*)\n            [[ $COMP_CWORD -eq 2 ]] || return\n            words='{}'\n            ;;\n",
            verb_name(verb), verb_words(verb));
    }
    text += R"(        *) return ;;
        esac
        ;;
    esac
    compopt +o default 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -P "$prefix" -W "$words" -- "$word")
}
complete -o default -F _cleave cleave
)";
    return text;
}

// An argument of zsh's _arguments.
std::string zsh_spec(const OptionRow& row) {
    std::string after = formatted("[{}]", escaped(option_help(row), R"(\[]:)"));
    if (!row.is_switch()) {
        const std::string choices = row.more.choices != nullptr ? formatted("({})", row.more.choices()) : " ";
        after += formatted(":{}:{}", row.value, row.more.is_path ? "_files" : choices);
    }
    const char* joined = row.is_switch() ? "" : "=";
    if (row.letter == 0) return quoted(formatted("--{}{}{}", row.name, joined, after));
    return formatted("'(-{0} --{1})'{{-{0}{2},--{1}{3}}}{4}", row.letter, row.name, row.is_switch() ? "" : "+", joined,
                     quoted(after));
}

std::string zsh_arguments(const char* pattern, unsigned bits, const char* words = "") {
    std::string text = formatted("    {})\n        _arguments -s -S", pattern);
    for (const OptionRow& row : option_table()) {
        if ((row.verbs & bits) != 0) text += formatted(" \\\n            {}", zsh_spec(row));
    }
    if (*words != '\0') text += formatted(" \\\n            '1:word:({})'", words);
    if (bits != kGeneral) text += " \\\n            '*:file:_files'";
    return text + "\n        ;;\n";
}

std::string zsh_script() {
    std::string text = R"(#compdef cleave
# Completions of cleave for zsh, made by: cleave --completion zsh

_cleave() {
    local -a verbs=(
)";
    for (const Verb verb : verbs()) {
        text += "        " + quoted(formatted("{}:{}", verb_name(verb), escaped(verb_summary(verb), R"(\:)"))) + "\n";
    }
    text += R"(    )
    if ((CURRENT == 3)) && [[ $words[2] == (help|-h|--help) ]]; then
)";
    text += formatted("        [[ $words[2] == help ]] && verbs+=({})\n", fmt::join(topics(), " "));
    text += R"(        _describe verb verbs
        return
    fi
    if ((CURRENT == 2)) && [[ $words[2] != -* ]]; then
        verbs+=('help:the options of a verb')
        _describe verb verbs
        return
    fi
    local verb=$words[2]
    if [[ $verb != -* ]]; then
        shift words
        ((CURRENT--))
    fi
    case $verb in
)";
    text += zsh_arguments("-*", kGeneral);
    for (const Verb verb : verbs()) text += zsh_arguments(verb_name(verb), bit(verb), verb_words(verb));
    text += R"(    esac
}

# Autoloaded, this file is the function; sourced, it defines it.
if [[ $funcstack[1] == _cleave ]]; then
    _cleave "$@"
else
    compdef _cleave cleave
fi
)";
    return text;
}

// What follows `complete -c cleave`: the option, the verbs that offer it, and its value.
std::string fish_option(const OptionRow& row, const std::string& general) {
    std::string where = verb_names(row.verbs);
    if ((row.verbs & kGeneral) != 0) where += (where.empty() ? "" : " ") + general;
    std::string text = formatted("-n '__cleave_verb_is {}'", where);
    if (row.letter != 0) text += formatted(" -s {}", row.letter);
    text += formatted(" -l {}", row.name);
    if (!row.is_switch()) text += row.more.is_path ? " -r -F" : " -x";
    if (row.more.choices != nullptr) text += formatted(" -a '{}'", row.more.choices());
    return text + formatted(" -d '{}'", escaped(option_help(row), R"(\')"));
}

std::string fish_script() {
    // Options for use without a verb that are still waiting for their value.
    std::string general = "\"\"";
    for (const OptionRow& row : option_table()) {
        if (row.verbs == kGeneral && !row.is_switch()) general += formatted(" --{}", row.name);
    }
    std::string text = R"(# Completions of cleave for fish, made by: cleave --completion fish

# Whether the first word after the command is one of those given; "" means that there is no such word.
function __cleave_verb_is
    set -l words (commandline -opc)
    contains -- "$words[2]" $argv
end

complete -c cleave -n '__cleave_verb_is ""' -f
)";
    for (const Verb verb : verbs()) {
        text += formatted("complete -c cleave -n '__cleave_verb_is \"\"' -a {} -d '{}'\n", verb_name(verb),
                          escaped(verb_summary(verb), R"(\')"));
    }
    text += "complete -c cleave -n '__cleave_verb_is \"\"' -a help -d 'the options of a verb'\n";
    text += formatted("complete -c cleave -n '__cleave_verb_is help -h --help' -f -a '{}'\n", verb_names(kAllVerbs));
    text += formatted("complete -c cleave -n '__cleave_verb_is help' -f -a '{}'\n", fmt::join(topics(), " "));
    text += R"(
# Whether the word is the first one after the verb.
function __cleave_verb_alone
    set -l words (commandline -opc)
    test (count $words) -eq 2; and test "$words[2]" = $argv
end

)";
    for (const Verb verb : verbs()) {
        if (*verb_words(verb) == '\0') continue;
        text +=
            formatted("complete -c cleave -n '__cleave_verb_alone {}' -f -a '{}'\n", verb_name(verb), verb_words(verb));
    }
    for (const OptionRow& row : option_table()) text += "complete -c cleave " + fish_option(row, general) + "\n";
    return text;
}

}  // namespace

std::string completion_script(Shell shell) {
    switch (shell) {
        case Shell::kBash: return bash_script();
        case Shell::kZsh: return zsh_script();
        case Shell::kFish: return fish_script();
    }
    return {};
}

}  // namespace cleave::cli
