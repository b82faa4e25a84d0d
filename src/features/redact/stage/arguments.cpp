#include "features/redact/stage/arguments.h"

#include <algorithm>

namespace cleave {

Arguments::Arguments(const OperationSyntax& syntax, const char* usage)
    : syntax_(syntax), usage_(usage), is_taken_(syntax.arguments.size()) {}

const ArgumentSyntax& Arguments::take_plain(std::size_t index, std::string_view what) {
    if (index >= syntax_.arguments.size()) {
        throw SyntaxError(syntax_.name + " needs " + std::string(what) + ": " + usage_, syntax_.place);
    }
    const ArgumentSyntax& argument = syntax_.arguments[index];
    if (!argument.key.empty() || !argument.nested.empty()) {
        const std::string number = index == 0 ? "first" : "second";
        fail("the " + number + " argument of " + syntax_.name + " is " + std::string(what), argument);
    }
    is_taken_[index] = true;
    return argument;
}

const ArgumentSyntax* Arguments::take(std::string_view key, Kind kind) {
    const ArgumentSyntax* found = nullptr;
    for (std::size_t i = 0; i < syntax_.arguments.size(); ++i) {
        const ArgumentSyntax& argument = syntax_.arguments[i];
        if (argument.key != key) continue;
        if (found != nullptr) fail(std::string(key) + " is given twice", argument);
        if (kind == Kind::kText && !argument.nested.empty()) fail(std::string(key) + " is no operation", argument);
        is_taken_[i] = true;
        found = &argument;
    }
    return found;
}

bool Arguments::take_word(std::string_view word) {
    bool is_found = false;
    for (std::size_t i = 0; i < syntax_.arguments.size(); ++i) {
        const ArgumentSyntax& argument = syntax_.arguments[i];
        const bool is_word = argument.key.empty() && argument.nested.empty() && !argument.is_quoted;
        if (is_taken_[i] || !is_word || argument.value != word) continue;
        if (is_found) fail(std::string(word) + " is given twice", argument);
        is_taken_[i] = true;
        is_found = true;
    }
    return is_found;
}

std::uint64_t Arguments::take_number(std::string_view key, std::uint64_t least, std::uint64_t most,
                                     std::uint64_t otherwise) {
    const ArgumentSyntax* const argument = take(key);
    if (argument == nullptr) return otherwise;
    std::uint64_t number = 0;
    bool is_number = !argument->value.empty();
    for (const char digit : argument->value) {
        is_number = is_number && digit >= '0' && digit <= '9' && number <= most;
        if (!is_number) break;
        number = 10 * number + static_cast<std::uint64_t>(digit - '0');
    }
    if (!is_number || number < least || number > most) {
        fail(std::string(key) + " is a number from " + std::to_string(least) + " to " + std::to_string(most),
             *argument);
    }
    return number;
}

ScaledLimit Arguments::to_scaled(const ArgumentSyntax& argument, std::uint64_t max_digits) {
    const std::string& text = argument.value;
    const std::size_t point = text.find('.');
    const std::string digits = point == std::string::npos ? text : text.substr(0, point) + text.substr(point + 1);
    bool is_number = !digits.empty() && digits.size() <= max_digits && point != 0 && point + 1 != text.size();
    ScaledLimit limit{0, point == std::string::npos ? 0 : text.size() - point - 1};
    for (std::size_t i = 0; is_number && i < digits.size(); ++i) {
        is_number = digits[i] >= '0' && digits[i] <= '9';
        limit.units = 10 * limit.units + static_cast<std::uint64_t>(digits[i] - '0');
    }
    if (!is_number) {
        fail("expected a decimal number of at most " + std::to_string(max_digits) + " digits, without a sign",
             argument);
    }
    return limit;
}

void Arguments::finish() const {
    const auto left = std::ranges::find(is_taken_, false);
    if (left == is_taken_.end()) return;
    const ArgumentSyntax& argument = syntax_.arguments[static_cast<std::size_t>(left - is_taken_.begin())];
    const std::string& shown = argument.key.empty() ? argument.value : argument.key;
    fail(syntax_.name + " has no argument \"" + shown + "\": " + usage_, argument);
}

void Arguments::fail(const std::string& reason, const ArgumentSyntax& argument) {
    throw SyntaxError(reason, argument.place);
}

void refuse_arguments(const OperationSyntax& syntax) {
    if (syntax.arguments.empty()) return;
    throw SyntaxError(syntax.name + " takes no arguments but empty=change", syntax.arguments.front().place);
}

ScaledLimit take_width(const OperationSyntax& syntax, const char* usage, std::uint64_t max_digits) {
    Arguments arguments(syntax, usage);
    const ArgumentSyntax& argument = arguments.take_first("the width");
    arguments.finish();
    const ScaledLimit width = Arguments::to_scaled(argument, max_digits);
    if (width.units == 0) Arguments::fail("the width is above 0", argument);
    return width;
}

}  // namespace cleave
