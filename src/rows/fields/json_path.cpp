// The syntax of a path is the simple part of jq's: .a.b, ."a name, in quotes", .a[0] for the first element of an array,
// .a[] for each of them, and . for the whole text. A quote inside quotes is doubled, as in the names of columns.
#include "rows/fields/json_path.h"

#include <cstddef>
#include <string_view>

#include "base/json_scan.h"

namespace cleave {
namespace {

JsonStep parse_index(RuleScanner& scanner, JsonPathSyntax syntax) {
    scanner.accept("[");
    if (syntax == JsonPathSyntax::kManyValues && scanner.at_text("]")) {
        scanner.accept("]");
        return JsonEach();
    }
    const std::uint64_t index = scanner.digits();
    if (!scanner.at_text("]")) scanner.expected("']' after the number");
    scanner.accept("]");
    return index;
}

}  // namespace

JsonPath parse_json_path(RuleScanner& scanner, JsonPathSyntax syntax) {
    const bool is_for_many = syntax == JsonPathSyntax::kManyValues;
    const std::string_view stops = is_for_many ? ".[]?*" : ".[]";
    const std::size_t place = scanner.place();
    if (!scanner.next_is(".")) {
        scanner.fail(std::string("in JSON Lines, a ") + (is_for_many ? "value" : "key") +
                         " is named by a path that begins with '.', such as .id or .user.country",
                     place);
    }
    JsonPath path;
    bool is_first = true;
    while (scanner.at_text(".") || scanner.at_text("[")) {
        if (scanner.at_text("[")) {
            path.push_back(parse_index(scanner, syntax));
        } else {
            scanner.accept(".");
            if (scanner.at_text("\"")) {
                path.emplace_back(scanner.quoted());
            } else if (const std::string_view name = scanner.part(stops); !name.empty()) {
                path.emplace_back(std::string(name));
            } else if (!is_first || scanner.at_text(".")) {
                scanner.expected("a key after '.'");
            }
        }
        is_first = false;
        if (path.size() > kMaxJsonDepth) scanner.fail("the path leads deeper than a line of JSON may be nested", place);
    }
    return path;
}

std::string json_path_text(const JsonPath& path) {
    struct Printer {
        std::string text;

        void operator()(const std::string& name) {
            const std::string typed = as_typed(name);
            const bool is_plain = typed.find_first_of(".?") == std::string::npos;
            text += '.';
            text += is_plain ? typed : in_quotes(name);
        }
        void operator()(std::uint64_t index) { add('[' + std::to_string(index) + ']'); }
        void operator()(JsonEach /*each*/) { add("[]"); }

    private:
        void add(const std::string& step) {
            if (text.empty()) text += '.';
            text += step;
        }
    };
    Printer printer;
    for (const JsonStep& step : path) std::visit(printer, step);
    return path.empty() ? "." : printer.text;
}

}  // namespace cleave
