#include "cli/feature_parts.h"

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>

#include "cleave/error.h"
#include "cleave/keys.h"
#include "cleave/memory.h"
#include "cleave/names.h"
#include "cli/formatted.h"
#include "cli/prepare.h"
#include "core/reader/location.h"
#include "core/reader/temporary_file.h"
#include "core/writer/stream_path.h"
#include "features/redact/stage/key_versions.h"

namespace cleave::cli {
namespace {

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

}  // namespace

void load_secrets(Context& context) {
    Arguments& arguments = context.arguments;
    const bool has_rules = !arguments.stage.options.is_empty();
    if (!has_rules && arguments.verb != Verb::kVerify) return;
    disable_core_dumps();
    if (has_rules) {
        choose_memory(arguments);
        choose_device(arguments);
    }
    const auto keys = std::make_shared<const KeyRing>(arguments.key_sources);
    if (!arguments.sign.empty() && std::ranges::find(keys->names(), arguments.sign) == keys->names().end())
        throw UsageError(formatted("--sign: no key has the name '{}'", arguments.sign));
    context.keys = keys;
    arguments.stage.keys = keys.get();
}

// The folder of the key, which also has its versions; and what links in it lead to.
Permissions permissions_of_key(const Arguments& arguments) {
    const bool is_new = arguments.key_command == KeyCommand::kNew;
    const std::string path = is_new ? arguments.key_file : followed(file_source(arguments.key_file).path);
    const std::string folder = nearest_directory(std::string(folder_of(path)));
    Permissions permissions{{folder}, {}};
    if (is_new || arguments.key_command == KeyCommand::kRotate) permissions.write.push_back(folder);
    if (is_new) return permissions;
    try {
        for (const KeyVersion& version : versions_of_key(path)) {
            if (version.path != path) permissions.read.push_back(version.path);
        }
    } catch (const SystemError&) {  // reported where the key is read
    }
    return permissions;
}

// The report, what it lists, and the input.
Permissions permissions_of_verify(const Arguments& arguments, Permissions permissions) {
    const Location& report = arguments.inputs.front();
    if (!report.is_url()) permissions.read.push_back(nearest_directory(folder_beside(report.name())));
    permissions.read.push_back(arguments.reported_input.name());
    permissions.write.clear();
    return permissions;
}

}  // namespace cleave::cli
