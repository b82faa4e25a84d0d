#include "cli/diagnostics.h"

#include "cli/formatted.h"
#include "features/redact/stage/rules.h"

namespace cleave::cli {

void Diagnostics::take(const cleave::Stage& stage) const {
    if (stage.dialect().preamble > 0) {
        remark(formatted("the first {} bytes, before the {}, are dropped, because no rule applies to them",
                         stage.dialect().preamble, context_.has_header() ? "header" : "records"));
    }
    const std::vector<std::string> names = stage.unnamed_columns();
    if (stage.rules().empty() || names.empty() || context_.arguments.stage.options.default_action) return;
    std::string list;
    for (const std::string& name : names) {
        list += (list.empty() ? "" : ", ") + (is_for_messages(name) ? name : "a column whose name may hold values");
    }
    remark(formatted("no rule for {}; {} unchanged", list, names.size() == 1 ? "it stays" : "they stay"));
}

}  // namespace cleave::cli
