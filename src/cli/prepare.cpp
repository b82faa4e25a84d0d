#include "cli/prepare.h"

#include <sys/prctl.h>

#include <string>

#include "cli/formatted.h"
#include "cli/messages.h"
#include "cli/permissions.h"
#include "cli/sandbox.h"
#include "cli/secrets.h"
#include "cli/stores.h"
#include "cli/verbs.h"
#include "core/reader/fd.h"
#include "core/writer/destination.h"

namespace cleave::cli {
namespace {

// Opens the store of a URL. Core dumps are disabled because they would contain the credentials.
void open_if_url(Context& context, const Location& location) {
    if (!location.is_url()) return;
    disable_core_dumps();
    context.location = location;
    open_store(context, location);
}

// Stores, with their module and credentials, are loaded before the sandbox closes. So is the list of what to join.
void open_stores(Context& context) {
    const Arguments& arguments = context.arguments;
    if (arguments.verb == Verb::kJoin) {
        open_if_url(context, Location(arguments.output.manifest));
        list_pieces(context);
    }
    for (const Location& input : arguments.inputs) open_if_url(context, input);
    open_if_url(context, arguments.reported_input);
    open_if_url(context, arguments.plan);
    if (arguments.verb == Verb::kSplit && destination_of(arguments.output).is_store)
        open_if_url(context, Location(arguments.output.names));
}

void close_sandbox(const Context& context) {
    const Arguments& arguments = context.arguments;
    const std::string fault = confine(permissions_of(context));
    if (arguments.verbose && !fault.empty()) print_message(formatted("the sandbox is not active: {}", fault));
}

}  // namespace

void disable_core_dumps() {
    if (::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) throw_errno("PR_SET_DUMPABLE");
}

void prepare(Context& context) {
    load_secrets(context);
    open_stores(context);
    if (!destination_of(context.arguments.output).starts_commands) close_sandbox(context);
}

}  // namespace cleave::cli
