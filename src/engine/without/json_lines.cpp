// In place of what finds values in JSON.
#include "cleave/error.h"
#include "rows/values/key_path.h"

namespace cleave {

std::shared_ptr<const KeyPath> parse_key_path(RuleScanner& /*scanner*/) {
    throw ArgumentError("this build of cleave does not know values in JSON Lines");
}

}  // namespace cleave
