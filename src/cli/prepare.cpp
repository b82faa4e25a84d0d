#include "cli/prepare.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <utility>

#include "cleave/error.h"
#include "cleave/index_file.h"
#include "cleave/names.h"
#include "cli/feature_parts.h"
#include "cli/formatted.h"
#include "cli/messages.h"
#include "cli/sandbox.h"
#include "cli/verbs.h"
#include "core/reader/fd.h"
#include "core/reader/temporary_file.h"
#include "core/writer/destination.h"
#include "core/writer/stream_path.h"

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
    for (const Location& input : arguments.inputs.all()) open_if_url(context, input);
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

// Permits creating a file at the path, or writing to the stream that the path leads to.
void permit_making(Permissions& permissions, const std::string& path) {
    if (path.empty() || Location::is_url(path)) return;
    permissions.write.push_back(leads_to_stream(path) ? path : nearest_directory(std::string(folder_of(path))));
}

// NVIDIA's driver opens these files repeatedly, including whenever it allocates memory.
void permit_device(Permissions& permissions) {
    permissions.read.insert(permissions.read.end(), {"/proc", "/sys"});
    std::error_code error;  // if the folder does not exist, there is nothing to permit
    for (const auto& entry : std::filesystem::directory_iterator("/dev", error)) {
        if (entry.path().filename().string().starts_with("nvidia")) permissions.write.push_back(entry.path());
    }
}

// The inputs and their indexes. Of many inputs that are only read, their folders: each rule takes a descriptor.
void permit_inputs(Permissions& permissions, const Arguments& arguments) {
    constexpr std::size_t kMostRules = 64;
    const bool has_many = arguments.inputs.size() > kMostRules && arguments.verb != Verb::kIndex;
    std::set<std::string> folders;
    for (const Location& input : arguments.inputs.all()) {
        if (input.is_url()) continue;
        const std::string& path = input.name();
        const std::string folder(folder_of(path));
        std::error_code error;  // a link may lead out of the folder
        if (has_many && !std::filesystem::is_symlink(path, error)) {
            folders.insert(folder.empty() ? "." : folder);
            continue;
        }
        permissions.read.push_back(path);
        if (arguments.index != IndexUse::kNever || arguments.verifies) permissions.read.push_back(index_path(path));
        if (arguments.verb == Verb::kIndex) permissions.write.push_back(nearest_directory(folder));
    }
    permissions.read.insert(permissions.read.end(), folders.begin(), folders.end());
}

}  // namespace

void disable_core_dumps() {
    if (::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) throw_errno("PR_SET_DUMPABLE");
}

void prepare(Context& context) {
    list_inputs(context.arguments);
    load_secrets(context);
    open_stores(context);
    if (!destination_of(context.arguments.output).starts_commands) close_sandbox(context);
}

std::string nearest_directory(std::string path) {
    while (!path.empty() && ::access(path.c_str(), F_OK) != 0) {
        path.resize(path.find_last_not_of('/') + 1);
        path.resize(path.rfind('/') + 1);  // npos + 1 is 0
    }
    return path.empty() ? "." : path;
}

Permissions permissions_of(const Context& context) {
    const Arguments& arguments = context.arguments;
    Permissions permissions{{}, {temporary_directory()}};
    permit_inputs(permissions, arguments);
    permit_stores(permissions, context);
    if (arguments.execution.offload) permit_device(permissions);
    if (!arguments.output.dry_run) permit_making(permissions, arguments.output.report);
    if (arguments.verb == Verb::kKey) return permissions_of_key(arguments);
    if (arguments.verb == Verb::kVerify) return permissions_of_verify(arguments, std::move(permissions));
    if (arguments.rejects) permit_making(permissions, arguments.rejects->path);
    if (!arguments.rejected.empty()) permissions.read.push_back(arguments.rejected.name());
    if (!arguments.plan.empty()) permissions.read.push_back(arguments.plan.name());
    if (arguments.verb == Verb::kJoin) permit_making(permissions, arguments.output.names);
    if (arguments.verb != Verb::kSplit) return permissions;
    if (arguments.policy.pieces || arguments.policy.by) {  // read by available_memory() to choose a method
        permissions.read.insert(permissions.read.end(), {"/proc/meminfo", "/proc/self/cgroup", "/sys/fs/cgroup"});
    }
    permit_making(permissions, arguments.output.dry_run ? "" : arguments.output.manifest);
    if (destination_of(arguments.output).is_store) return permissions;
    const auto& by = arguments.policy.by;
    const auto pieces_of_value = by && !by->buckets ? std::optional<std::uint64_t>(1) : std::nullopt;
    const PieceNamer namer(arguments.output.names, arguments.inputs.front().name(), arguments.output.first_index, 1,
                           pieces_of_value);
    const std::string folder = nearest_directory(namer.folder());
    if (arguments.output.dry_run) {  // --resume compares the existing files
        permissions.read.insert(permissions.read.end(), {folder, arguments.output.manifest, arguments.output.report});
        return permissions;
    }
    permissions.write.push_back(folder);
    return permissions;
}

}  // namespace cleave::cli
