// In place of rules.
#include "cli/diagnostics.h"
#include "cli/feature_parts.h"
#include "cli/features.h"
#include "cli/option_groups.h"
#include "cli/verbs.h"

namespace cleave::cli {

void take_stage(const Given& /*given*/, Arguments& /*arguments*/) {}

void load_secrets(Context& /*context*/) {}

Permissions permissions_of_key(const Arguments& /*arguments*/) { return {}; }

Permissions permissions_of_verify(const Arguments& /*arguments*/, Permissions permissions) { return permissions; }

void Diagnostics::take(const cleave::Stage& /*stage*/) const {}

void print_changed_records(Context& /*context*/, OpenInput& /*opened*/) { refuse_without("redact"); }

void print_changed_sample(Context& /*context*/, OpenInput& /*opened*/) { refuse_without("redact"); }

bool check_rules(Context& /*context*/, OpenInput& /*opened*/, StandardOutput& /*out*/) { refuse_without("redact"); }

void print_columns(const Context& /*context*/, OpenInput& /*opened*/, StandardOutput& /*out*/) {
    refuse_without("redact");
}

void print_template(const Context& /*context*/, OpenInput& /*opened*/, StandardOutput& /*out*/) {
    refuse_without("redact");
}

bool run_verify(Context& /*context*/) { refuse_without("redact"); }

void run_key(const Arguments& /*arguments*/) { refuse_without("redact"); }

}  // namespace cleave::cli
