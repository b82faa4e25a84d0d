#include "cli/feature_parts.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "core/reader/temporary_file.h"
#include "features/stores/store.h"

namespace cleave::cli {
namespace {

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

void open_store(Context& context, const Location& url) {
    if (!context.stores) context.stores = std::make_shared<Stores>();
    context.stores->open(url);
}

const Store* store_of(const Context& context, const Location& location) {
    return context.stores ? context.stores->find(location) : nullptr;
}

bool has_object(const Store& store, const std::string& url) { return store.has(url, nullptr); }

std::unique_ptr<const RemoteFile> find_object(const Store& store, const std::string& url,
                                              const Cancellation* cancellation) {
    return store.find(url, cancellation);
}

Input open_object(const Store& store, const std::string& url, const Cancellation* cancellation, Encoding encoding) {
    return store.open(url, cancellation, encoding);
}

void permit_stores(Permissions& permissions, const Context& context) {
    if (!context.stores) return;
    permissions.ports = context.stores->ports();
    if (!permissions.ports.empty()) permit_connections(permissions, *context.stores);
}

}  // namespace cleave::cli
