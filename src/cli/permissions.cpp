#include "cli/permissions.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "cleave/error.h"
#include "cleave/index_file.h"
#include "cleave/names.h"
#include "core/reader/temporary_file.h"
#include "core/writer/destination.h"
#include "core/writer/stream_path.h"
#include "features/redact/stage/key_versions.h"

namespace cleave::cli {
namespace {

// The directory or, if it does not exist, its nearest existing ancestor.
std::string nearest_directory(std::string path) {
    while (!path.empty() && ::access(path.c_str(), F_OK) != 0) {
        path.resize(path.find_last_not_of('/') + 1);
        path.resize(path.rfind('/') + 1);  // npos + 1 is 0
    }
    return path.empty() ? "." : path;
}

// Permits creating a file at the path, or writing to the stream that the path leads to.
void permit_making(Permissions& permissions, const std::string& path) {
    if (path.empty() || is_store_url(path)) return;
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
    const std::string& report = arguments.inputs.front();
    if (!is_store_url(report))
        permissions.read.push_back(leads_to_stream(report) ? "." : nearest_directory(std::string(folder_of(report))));
    permissions.read.push_back(arguments.reported_input);
    permissions.write.clear();
    return permissions;
}

// The indexes of the inputs.
void permit_indexes(Permissions& permissions, const Arguments& arguments) {
    for (const std::string& input : arguments.inputs) {
        if (is_store_url(input)) continue;
        if (arguments.index != IndexUse::kNever || arguments.verifies) permissions.read.push_back(index_path(input));
        if (arguments.verb == Verb::kIndex)
            permissions.write.push_back(nearest_directory(std::string(folder_of(input))));
    }
}

std::string environment(const char* name) {
    const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nothing sets variables
    return value == nullptr ? "" : value;
}

// The token for the metadata of a container, if that is asked for credentials. A new token comes in a new file of that
// name, so its folder is permitted, too.
void permit_token(Permissions& permissions, const Stores& stores) {
    const std::string token = environment("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
    const bool asks = !environment("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI").empty() ||
                      !environment("AWS_CONTAINER_CREDENTIALS_FULL_URI").empty();
    if (token.empty() || !asks || !environment("AWS_ACCESS_KEY_ID").empty() || !stores.has("s3://")) return;
    permissions.read.push_back(token);
    const std::string folder(folder_of(token).empty() ? "." : folder_of(token));
    std::error_code error;  // if it does not exist, there is nothing to permit
    if (!std::filesystem::equivalent(folder, "/", error)) permissions.read.push_back(folder);
}

// What resolving a server's name and checking its certificate read. Debian's files of certificates are links to others.
void permit_connections(Permissions& permissions, const Stores& stores) {
    permit_token(permissions, stores);
    if (const std::string bundle = environment("AWS_CA_BUNDLE"); !bundle.empty()) permissions.read.push_back(bundle);
    permissions.read.insert(
        permissions.read.end(),
        {"/etc/resolv.conf", "/etc/hosts", "/etc/host.conf", "/etc/nsswitch.conf", "/etc/gai.conf", "/etc/services",
         "/etc/ssl", "/etc/pki", "/usr/lib/ssl", "/usr/share/ca-certificates", "/usr/local/share/ca-certificates"});
}

}  // namespace

Permissions permissions_of(const Arguments& arguments, const Stores& stores) {
    Permissions permissions{arguments.inputs, {temporary_directory()}, stores.ports()};
    if (!permissions.ports.empty()) permit_connections(permissions, stores);
    if (arguments.execution.offload) permit_device(permissions);
    if (!arguments.output.dry_run) permit_making(permissions, arguments.output.report);
    if (arguments.verb == Verb::kKey) return permissions_of_key(arguments);
    if (arguments.verb == Verb::kVerify) return permissions_of_verify(arguments, std::move(permissions));
    permit_indexes(permissions, arguments);
    if (!arguments.plan.empty()) permissions.read.push_back(arguments.plan);
    if (arguments.verb == Verb::kJoin) permit_making(permissions, arguments.output.names);
    if (arguments.verb != Verb::kSplit) return permissions;
    if (arguments.policy.pieces || arguments.policy.by) {  // read by available_memory() to choose a method
        permissions.read.insert(permissions.read.end(), {"/proc/meminfo", "/proc/self/cgroup", "/sys/fs/cgroup"});
    }
    permit_making(permissions, arguments.output.dry_run ? "" : arguments.output.manifest);
    if (destination_of(arguments.output).is_store) return permissions;
    const auto& by = arguments.policy.by;
    const auto pieces_of_value = by && !by->buckets ? std::optional<std::uint64_t>(1) : std::nullopt;
    const PieceNamer namer(arguments.output.names, arguments.inputs.front(), arguments.output.first_index, 1,
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
