#include "features/redact/stage/operations/date.h"

#include "features/redact/stage/arguments.h"

namespace cleave {

Date Date::parse(const OperationSyntax& syntax, RuleScope&) {
    Arguments arguments(syntax, "date(year|month|day)");
    const ArgumentSyntax& unit = arguments.take_first("year, month or day");
    arguments.finish();
    Date date;
    if (unit.value == "year") {
        date.size = 4;
    } else if (unit.value == "month") {
        date.size = 7;
    } else if (unit.value == "day") {
        date.size = 10;
    } else {
        Arguments::fail("a date is cut to year, month or day", unit);
    }
    return date;
}

}  // namespace cleave
