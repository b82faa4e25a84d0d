#include "cli/option_groups.h"

#include <string>

#include "cli/choices.h"
#include "cli/formatted.h"
#include "cli/option_table.h"

namespace cleave::cli {
namespace {

void take_quotes(const Given& given, Dialect& dialect) {
    if (const auto quote = given.byte("quote")) dialect.quote = quote;
    if (given.has("no-quote")) dialect.quote.reset();
    if (const std::string* escape = given.text("escape")) {
        dialect.escape = *escape == "none" ? std::nullopt : given.byte("escape");
    }
    if (const auto scope = given.choice("escape-scope", kEscapeScopes)) {
        if (!dialect.escape) throw UsageError("--escape-scope needs an --escape");
        dialect.escape_scope = *scope;
    }
    // A quote that is escaped with a quote is a doubled quote.
    if (dialect.escape == dialect.quote) dialect.escape.reset();
    if (const auto quoting = given.choice("quoting", kQuotings)) dialect.quoting = *quoting;
}

void take_preamble(const Given& given, DialectOptions& wanted) {
    PreambleOptions& preamble = wanted.preamble;
    const bool has_delimiter = given.has("delimiter") && !wanted.sniff_delimiter;
    if (has_delimiter && preamble.separator_line == SeparatorLine::kDelimiter)
        preamble.separator_line = SeparatorLine::kPreamble;
    preamble.lines = given.count("skip-lines", 0).value_or(0);
    const std::string* const comment = given.text("comment");
    if (comment == nullptr) return;
    if (comment->empty() || comment->find_first_of("\r\n") != std::string::npos)
        throw UsageError("--comment: give a prefix without line breaks, such as #");
    preamble.comment = *comment;
}

}  // namespace

void take_dialect(const Given& given, Arguments& arguments) {
    DialectOptions& wanted = arguments.dialect;
    if (const std::string* name = given.text("dialect")) {
        const auto preset = dialect_preset(*name);
        if (!preset) refuse_choice("--dialect", *name, formatted("{}", fmt::join(dialect_presets(), " ")));
        wanted = *preset;
    }
    take_quotes(given, wanted.dialect);
    if (const std::string* delimiter = given.text("delimiter")) {
        if (delimiter->size() > 1 && delimiter->starts_with('-')) {
            throw UsageError(formatted("{} takes the delimiter, and '{}' is not one byte; pieces are numbered anyway",
                                       given.spelling("delimiter"), *delimiter));
        }
        wanted.sniff_delimiter = *delimiter == "auto";
        if (!wanted.sniff_delimiter) wanted.dialect.delimiter = *given.byte("delimiter");
    }
    if (const auto terminator = given.choice("terminator", kTerminators)) {
        wanted.sniff_terminator = !terminator->has_value();
        if (terminator->has_value()) wanted.dialect.terminator = **terminator;
    }
    take_preamble(given, wanted);
    // For this check, a delimiter that has yet to be sniffed is replaced with a valid one.
    Dialect dialect = wanted.dialect;
    if (wanted.sniff_delimiter) dialect.delimiter = dialect.quote == ',' || dialect.escape == ',' ? ';' : ',';
    if (const auto fault = dialect_fault(dialect)) throw UsageError(*fault);
}

}  // namespace cleave::cli
