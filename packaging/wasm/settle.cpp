// What the library works out from the first bytes of an input, for JavaScript: the dialect, the preamble, what is
// doubtful, and the values of a record. Answers stay valid until the next call.
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <string>

#include "cleave/foreign.h"
#include "core/dialect/fit.h"
#include "core/dialect/preamble.h"

// JavaScript throws an error in place of an exception, and then takes a new instance.
extern "C" {
[[noreturn, clang::import_module("cleave"), clang::import_name("fail")]] void fail(const char* what);
void* __cxa_allocate_exception(std::size_t size) noexcept { return std::malloc(size); }
[[noreturn]] void __cxa_throw(void* error, void* /*type*/, void (* /*destroy*/)(void*)) {
    fail(static_cast<std::exception*>(error)->what());  // the first base of whatever is thrown here
}
}

// Replaces what the C++ library has, which prints.
_LIBCPP_BEGIN_NAMESPACE_STD
void __libcpp_verbose_abort(const char* /*format*/, ...) { __builtin_trap(); }
_LIBCPP_END_NAMESPACE_STD
void std::terminate() noexcept { __builtin_trap(); }
void* operator new(std::size_t size) { return std::malloc(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t /*size*/) noexcept { std::free(memory); }

namespace {

using namespace cleave;

// Bytes and choices by number; -1: none, or to be sniffed; -2: as the preset says.
struct Given {
    std::int32_t delimiter, quote, escape, terminator, quoting, scope, skipped;
};

std::string answer;

void add(const char* name, std::uint64_t value) {
    answer.append(answer.empty() ? "{\"" : ",\"").append(name).append("\":").append(std::to_string(value));
}

std::optional<std::uint8_t> byte(std::int32_t value) {
    return value < 0 ? std::nullopt : std::optional(static_cast<std::uint8_t>(value));
}

void take(const Given& given, Dialect& dialect) {
    if (given.delimiter >= 0) dialect.delimiter = static_cast<std::uint8_t>(given.delimiter);
    if (given.quote != -2) dialect.quote = byte(given.quote);
    if (given.escape != -2) dialect.escape = byte(given.escape);
    if (dialect.escape == dialect.quote) dialect.escape.reset();
    if (given.terminator >= 0) dialect.terminator = static_cast<Terminator>(given.terminator);
    if (given.quoting >= 0) dialect.quoting = static_cast<Quoting>(given.quoting);
    if (given.scope >= 0) dialect.escape_scope = static_cast<EscapeScope>(given.scope);
}

}  // namespace

extern "C" {

[[clang::export_name("allocate")]] void* allocate(std::size_t size) { return std::malloc(size); }

// The dialect as a text in JSON; empty if the preamble does not end in these bytes.
[[clang::export_name("settle")]] const char* settle(const Given* given, const char* preset, const char* comment,
                                                    const std::uint8_t* bytes, std::size_t size, bool is_all,
                                                    const char* name) {
    const std::span head(bytes, size);
    answer.clear();
    if (const auto foreign = foreign_format(head))
        return answer.append("{\"foreign\":\"").append(foreign->name).append("\"}").c_str();
    DialectOptions wanted = dialect_preset(preset).value_or(DialectOptions());
    PreambleOptions& preamble = wanted.preamble;
    take(*given, wanted.dialect);
    if (given->delimiter != -2) wanted.sniff_delimiter = given->delimiter == -1;
    if (given->delimiter >= 0 && preamble.separator_line == SeparatorLine::kDelimiter)
        preamble.separator_line = SeparatorLine::kPreamble;
    if (given->terminator != -2) wanted.sniff_terminator = given->terminator == -1;
    preamble.lines = static_cast<std::uint64_t>(given->skipped);
    preamble.comment = comment;
    const auto sniffed = settle_within(wanted, head, is_all, name);
    if (!sniffed) return "";
    const Dialect& found = sniffed->dialect;
    add("delimiter", found.delimiter);
    if (found.quote) add("quote", *found.quote);
    if (found.escape) add("escape", *found.escape);
    add("terminator", static_cast<std::uint64_t>(found.terminator));
    add("quoting", static_cast<std::uint64_t>(found.quoting));
    add("scope", static_cast<std::uint64_t>(found.escape_scope));
    add("header", static_cast<std::uint64_t>(found.header));
    add("preamble", found.preamble);
    add("doubt", static_cast<std::uint64_t>(sniffed->doubt));
    add("reason", static_cast<std::uint64_t>(sniffed->delimiter_reason));
    add("lines", sniffed->lines_like_preamble);
    add("returns", sniffed->lone_returns.count);
    add("firstReturn", sniffed->lone_returns.first.value_or(0));
    add("headerless", is_json_lines(found) || found.preamble > 0 ? 0 : seems_headerless(head, found));
    return answer.append("}").c_str();
}

// The values of the fields of a record: for each, its size as 32 bits, and its bytes. An empty size ends them.
[[clang::export_name("values")]] const char* values(const Given* given, const std::uint8_t* bytes, std::size_t size) {
    Dialect dialect;
    take(*given, dialect);
    answer.clear();
    for (const std::string& value : field_values({bytes, size}, dialect)) {
        const auto length = static_cast<std::uint32_t>(value.size());
        answer.append(reinterpret_cast<const char*>(&length), sizeof length).append(value);
    }
    return answer.append(sizeof(std::uint32_t), '\xFF').data();
}
}
