#include "cli/prepare.h"

#include <sys/prctl.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "cleave/memory.h"
#include "cli/device.h"
#include "cli/formatted.h"
#include "cli/messages.h"
#include "cli/named.h"
#include "cli/permissions.h"
#include "cli/sandbox.h"
#include "cli/verbs.h"
#include "core/reader/fd.h"
#include "core/writer/destination.h"

namespace cleave::cli {
namespace {

void disable_core_dumps() {
    if (::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) throw_errno("PR_SET_DUMPABLE");
}

// Under rules, buffers come from the memory manager that the user chooses.
void choose_memory(Arguments& arguments) {
    if (arguments.memory_manager.empty()) return;
    const std::string& origin = arguments.memory_manager_origin;
    try {
        arguments.execution.memory = MemoryManager::open(arguments.memory_manager);
    } catch (const MemoryManagerNameError& error) {
        throw UsageError(formatted("{}: {}", origin, error.what()));
    } catch (const MemoryManagerError& error) {
        throw std::runtime_error(formatted("{}: {}", origin, error.what()));
    }
}

// Under rules, and with keys, core dumps are disabled so that they cannot reveal a value or a key. Keys and a memory
// manager's library are loaded before the sandbox closes.
void guard_secrets(Context& context) {
    Arguments& arguments = context.arguments;
    const bool has_rules = !arguments.stage.options.is_empty();
    if (!has_rules && arguments.verb != Verb::kVerify) return;
    disable_core_dumps();
    if (has_rules) {
        choose_memory(arguments);
        choose_device(arguments);
    }
    context.keys.emplace(arguments.key_sources);
    if (!arguments.sign.empty() &&
        std::ranges::find(context.keys->names(), arguments.sign) == context.keys->names().end())
        throw UsageError(formatted("--sign: no key has the name '{}'", arguments.sign));
    arguments.stage.keys = &*context.keys;
}

// Opens the store of a name that is a URL. Core dumps are disabled because they would contain the credentials.
void open_store(Context& context, const std::string& name) {
    if (!is_store_url(name)) return;
    disable_core_dumps();
    context.path = shown_url(name);
    context.stores.open(name);
}

// Stores, with their module and credentials, are loaded before the sandbox closes. So is the list of what to join.
void open_stores(Context& context) {
    const Arguments& arguments = context.arguments;
    const auto open_inputs = [&] {
        for (const std::string& input : arguments.inputs) open_store(context, input);
    };
    if (arguments.verb == Verb::kKey) return;
    open_inputs();
    open_store(context, arguments.reported_input);
    open_store(context, arguments.plan);
    if (arguments.verb == Verb::kSplit && arguments.output.filter.empty()) open_store(context, arguments.output.names);
    if (arguments.verb != Verb::kJoin) return;
    open_store(context, arguments.output.manifest);
    list_pieces(context);
    open_inputs();
}

void close_sandbox(const Context& context) {
    const Arguments& arguments = context.arguments;
    const std::string fault = confine(permissions_of(arguments, context.stores));
    if (arguments.verbose && !fault.empty()) print_message(formatted("the sandbox is not active: {}", fault));
}

}  // namespace

void prepare(Context& context) {
    guard_secrets(context);
    open_stores(context);
    if (!destination_of(context.arguments.output).starts_commands) close_sandbox(context);
}

}  // namespace cleave::cli
