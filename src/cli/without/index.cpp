// In place of indexes.
#include "cli/feature_parts.h"
#include "cli/features.h"
#include "cli/verbs.h"

namespace cleave {

std::string index_path(const std::string& path) { return path + kIndexSuffix; }

}  // namespace cleave

namespace cleave::cli {

std::shared_ptr<const IndexFile> find_index(const Context& /*context*/, OpenInput& /*opened*/) { return nullptr; }

void index_input(Context& /*context*/, const Location& /*location*/, const Cancellation& /*cancellation*/) {
    refuse_without("index");
}

}  // namespace cleave::cli
