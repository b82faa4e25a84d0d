// In place of what knows columns.
#include "cleave/error.h"
#include "core/scan/cut_rule.h"

namespace cleave {

std::unique_ptr<CutRule> make_cut_rule(const RecordIndex& /*index*/, Locator& /*locator*/, const Together& /*together*/,
                                       bool /*has_header*/) {
    throw ArgumentError("this build of cleave does not know columns");
}

}  // namespace cleave
