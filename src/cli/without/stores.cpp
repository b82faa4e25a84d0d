// In place of objects.
#include "cli/feature_parts.h"
#include "cli/features.h"

namespace cleave::cli {

void open_store(Context& /*context*/, const Location& /*url*/) { refuse_without("stores"); }

const Store* store_of(const Context& /*context*/, const Location& /*location*/) { return nullptr; }

bool has_object(const Store& /*store*/, const std::string& /*url*/) { return false; }

std::unique_ptr<const RemoteFile> find_object(const Store& /*store*/, const std::string& /*url*/,
                                              const Cancellation* /*cancellation*/) {
    return nullptr;
}

Input open_object(const Store& /*store*/, const std::string& /*url*/, const Cancellation* /*cancellation*/,
                  Encoding /*encoding*/) {
    refuse_without("stores");
}

void permit_stores(Permissions& /*permissions*/, const Context& /*context*/) {}

}  // namespace cleave::cli
