#include "settings.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cleave/encoding.h"
#include "file.h"

namespace nb = nanobind;
using namespace nb::literals;  // NOLINT(google-build-using-namespace): _a

namespace cleave::python {
namespace {

std::optional<std::uint8_t> byte_of(const char* option, const std::string& text, bool may_be_empty) {
    if (text.empty() && may_be_empty) return std::nullopt;
    if (text.size() != 1) {
        throw ArgumentError(std::string(option) + (may_be_empty ? ": one byte, or none" : ": one byte"));
    }
    return static_cast<std::uint8_t>(text[0]);
}

Settings settings_of(const std::optional<std::string>& preset) {
    Settings settings;
    if (!preset) return settings;
    const std::optional<DialectOptions> options = dialect_preset(*preset);
    if (!options) {
        std::string names;
        for (const std::string_view name : dialect_presets()) names += (names.empty() ? "" : ", ") + std::string(name);
        throw ArgumentError("dialect: '" + *preset + "' is not one of " + names);
    }
    settings.dialect = *options;
    settings.is_escape_given = true;
    return settings;
}

// Sets a part of the dialect.
void set(Settings& settings, const std::string& option, const std::string& value) {
    Dialect& dialect = settings.dialect.dialect;
    if (option == "delimiter") {
        settings.dialect.sniff_delimiter = value == "auto";
        if (value == "auto") return;
        dialect.delimiter = *byte_of("delimiter", value, false);
        SeparatorLine& line = settings.dialect.preamble.separator_line;
        if (line == SeparatorLine::kDelimiter) line = SeparatorLine::kPreamble;
    } else if (option == "quote") {
        dialect.quote = byte_of("quote", value, true);
    } else if (option == "escape") {
        dialect.escape = byte_of("escape", value, true);
        settings.is_escape_given = true;
    } else if (option == "escape_scope") {
        dialect.escape_scope = value_of(kScopes, "escape_scope", value);
    } else if (option == "quoting") {
        dialect.quoting = value_of(kQuotings, "quoting", value);
    } else if (option == "terminator") {
        settings.dialect.sniff_terminator = value == "auto";
        if (value != "auto") dialect.terminator = value_of(kTerminators, "terminator", value);
    } else if (option == "header") {
        dialect.header = value_of(kHeaders, "header", value);
    } else if (option == "encoding") {
        try {
            settings.encoding = encoding_named(value);
        } catch (const ArgumentError& error) {
            throw ArgumentError(std::string("encoding: ") + error.what());
        }
    } else if (option == "comment") {
        if (value.empty() || value.find_first_of("\r\n") != std::string::npos)
            throw ArgumentError("comment: a prefix without line breaks");
        settings.dialect.preamble.comment = value;
    } else {
        throw ArgumentError("no option " + option);
    }
}

}  // namespace

void add_settings(nb::module_& module) {
    nb::class_<Settings>(module, "Settings")
        .def(
            "__init__",
            [](Settings* self, const std::optional<std::string>& preset) { new (self) Settings(settings_of(preset)); },
            "preset"_a.none() = nb::none())
        .def(
            "set",
            [](Settings& self, const std::string& option, const nb::bytes& value) {
                set(self, option, text_of(value));
            },
            "option"_a, "value"_a)
        .def_rw("has_header", &Settings::has_header)
        .def_prop_rw(
            "skip_lines", [](const Settings& self) { return self.dialect.preamble.lines; },
            [](Settings& self, std::uint64_t value) { self.dialect.preamble.lines = value; })
        .def_prop_rw(
            "preamble", [](const Settings& self) { return self.dialect.dialect.preamble; },
            [](Settings& self, std::uint64_t value) { self.dialect.dialect.preamble = value; })
        .def_rw("allow_open_quote", &Settings::allow_open_quote)
        .def_rw("uses_index", &Settings::uses_index)
        .def_rw("threads", &Settings::threads);
}

}  // namespace cleave::python
