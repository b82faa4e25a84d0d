// In place of the verb check.
#include "cli/features.h"
#include "cli/verbs.h"

namespace cleave::cli {

bool check_input(Context& /*context*/, const Location& /*location*/, StandardOutput& /*out*/) {
    refuse_without("check");
}

}  // namespace cleave::cli
