#include "settings.h"

#include <arpa/inet.h>
#include <strings.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <map>
#include <optional>
#include <string_view>

#include "failure.h"

namespace cleave::store {
namespace {

struct Profile {
    std::map<std::string, std::string> settings;
    bool is_there = false;
    bool has_keys = false;  // in the file of credentials
};

[[noreturn]] void throw_invalid(const std::string& message) { throw Failure(CLEAVE_STORE_INVALID, message); }

std::string environment(const char* name) {
    const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nothing sets variables
    return value == nullptr ? "" : value;
}

std::string first_of(std::initializer_list<std::string> values) {
    for (const std::string& value : values) {
        if (!value.empty()) return value;
    }
    return "";
}

std::string_view trimmed(std::string_view text) {
    const std::size_t begin = text.find_first_not_of(" \t\r");
    if (begin == std::string_view::npos) return "";
    return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

// Adds the settings of one section of an INI file; those that are already there stay. Indented lines belong to the
// setting before them, of which none is needed here.
void read_section(const std::string& path, std::string_view section, Profile& profile) {
    std::ifstream file(path);
    bool is_inside = false;
    for (std::string line; std::getline(file, line);) {
        const std::string_view text = trimmed(line);
        if (text.empty() || text.front() == '#' || text.front() == ';') continue;
        if (text.front() == '[') {
            is_inside = text.back() == ']' && trimmed(text.substr(1, text.size() - 2)) == section;
            profile.is_there = profile.is_there || is_inside;
            continue;
        }
        const std::size_t equals = text.find('=');
        if (!is_inside || line.front() == ' ' || line.front() == '\t' || equals == std::string_view::npos) continue;
        profile.settings.try_emplace(std::string(trimmed(text.substr(0, equals))), trimmed(text.substr(equals + 1)));
    }
}

std::string profile_name() {
    return first_of({environment("AWS_PROFILE"), environment("AWS_DEFAULT_PROFILE"), "default"});
}

Profile read_profile() {
    const std::string home = environment("HOME");
    const std::string name = profile_name();
    Profile profile;
    read_section(first_of({environment("AWS_SHARED_CREDENTIALS_FILE"), home + "/.aws/credentials"}), name, profile);
    profile.has_keys = profile.settings.contains("aws_access_key_id");
    const std::string config = first_of({environment("AWS_CONFIG_FILE"), home + "/.aws/config"});
    read_section(config, name == "default" ? name : "profile " + name, profile);
    return profile;
}

[[noreturn]] void throw_unresolved(const std::string& setting) {
    throw_invalid(setting + " is not resolved; set the variables that " +
                  "\"aws configure export-credentials --format env\" prints");
}

// Roles, single sign-on and programs give other credentials than the keys that may be there, too. The order is that of
// the AWS tools.
void refuse_others(const Profile& profile) {
    const auto refuse = [&](std::initializer_list<const char*> names) {
        for (const char* const name : names) {
            if (profile.settings.contains(name)) throw_unresolved("the profile's " + std::string(name));
        }
    };
    if (!environment("AWS_WEB_IDENTITY_TOKEN_FILE").empty()) throw_unresolved("AWS_WEB_IDENTITY_TOKEN_FILE");
    refuse({"role_arn", "web_identity_token_file", "sso_account_id", "sso_role_name"});
    if (!profile.has_keys) refuse({"login_session", "credential_process"});
    if (!profile.settings.contains("aws_access_key_id")) refuse({"sso_session", "sso_start_url"});
}

// `is_amazons`: the store has the interface of Amazon's, and not just its signatures, so roles may be meant for it.
Credentials credentials_of(Profile& profile, bool is_amazons) {
    Credentials own{environment("AWS_ACCESS_KEY_ID"), environment("AWS_SECRET_ACCESS_KEY"),
                    environment("AWS_SESSION_TOKEN")};
    if (own.key_id.empty() != own.secret.empty()) {
        throw_invalid("only one of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY is set");
    }
    if (!own.is_empty()) return own;
    if (!profile.is_there && profile_name() != "default")
        throw_invalid("the profile that AWS_PROFILE names does not exist");
    if (is_amazons) refuse_others(profile);
    auto& settings = profile.settings;
    Credentials found{settings["aws_access_key_id"], settings["aws_secret_access_key"], settings["aws_session_token"]};
    if (found.key_id.empty() != found.secret.empty()) throw_invalid("the profile has only half of its credentials");
    return found;
}

// The port that `host` ends with, or the one that is used if it has none. Throws Failure; `what` is whose it is.
std::uint16_t port_of(const std::string& host, std::uint16_t otherwise, const std::string& what) {
    const std::size_t colon = host.rfind(':');
    if (colon == std::string::npos || host.find(']', colon) != std::string::npos) return otherwise;
    std::uint16_t port = 0;
    const char* const end = host.data() + host.size();
    const auto [last, error] = std::from_chars(host.data() + colon + 1, end, port);
    if (error != std::errc() || last != end || port == 0) throw_invalid("the port of " + what + " is not a number");
    return port;
}

// The host of "host:port" or "[host]:port".
std::string_view name_of(std::string_view host) {
    return host.starts_with('[') ? host.substr(1, host.find(']') - 1) : host.substr(0, host.find(':'));
}

bool is_host(std::string_view host) {
    const auto is_allowed = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               std::string_view(".-_:[]").find(c) != std::string_view::npos;
    };
    if (host.starts_with('[')) {
        const std::size_t end = host.find(']');
        if (end == std::string_view::npos || (end + 1 < host.size() && host[end + 1] != ':')) return false;
    }
    return !host.empty() && std::ranges::all_of(host, is_allowed);
}

// libcurl finds the proxy itself, in the same way. The server is reached without it if NO_PROXY says so.
void add_ports(Settings& settings) {
    settings.ports = {port_of(settings.host, settings.scheme == "http" ? 80 : 443, "the server")};
    const std::string proxy = first_of({environment((settings.scheme + "_proxy").c_str()),
                                        settings.scheme == "https" ? environment("HTTPS_PROXY") : "",
                                        environment("all_proxy"), environment("ALL_PROXY")});
    if (proxy.empty()) return;
    const std::size_t colon = proxy.find("://");
    std::string host = proxy.substr(colon == std::string::npos ? 0 : colon + 3);
    host = host.substr(0, host.find('/'));
    host = host.substr(host.rfind('@') + 1);  // npos + 1 is 0
    if (host.ends_with(':')) host.pop_back();
    const bool is_encrypted = ::strncasecmp(proxy.c_str(), "https://", 8) == 0;
    settings.ports.push_back(port_of(host, is_encrypted ? 443 : 1080, "the proxy"));
    settings.proxy = host;
}

struct Endpoint {
    std::string scheme;
    std::string host;  // with the port
    std::string path;  // with the query
};

// Splits "https://host:port/path". `what` gave the URL.
Endpoint split(const std::string& url, const std::string& what) {
    const std::size_t colon = url.find("://");
    Endpoint endpoint{url.substr(0, colon), {}, {}};
    if (colon == std::string::npos || (endpoint.scheme != "https" && endpoint.scheme != "http")) {
        throw_invalid(what + " is not a URL that begins with https:// or http://");
    }
    const std::string rest = url.substr(colon + 3);
    const std::size_t slash = std::min(rest.find('/'), rest.size());
    endpoint.host = rest.substr(0, slash);
    if (!is_host(endpoint.host)) throw_invalid(what + " is not the URL of a server");
    endpoint.path = rest.substr(slash);
    return endpoint;
}

void set_endpoint(Settings& settings, const std::string& url) {
    auto [scheme, host, prefix] = split(url, "the endpoint");
    settings.scheme = scheme;
    settings.host = host;
    while (prefix.ends_with('/')) prefix.pop_back();
    settings.prefix = percent_encoded(prefix, true);
    settings.server = settings.scheme + "://" + settings.host + settings.prefix;
    add_ports(settings);
}

// Whether credentials may come from this host without encryption: this machine, and the addresses of platforms.
bool is_near(std::string_view host) {
    const std::string name(name_of(host));
    if (name == "localhost") return true;
    std::array<std::uint8_t, 4> four{};
    if (::inet_pton(AF_INET, name.c_str(), four.data()) == 1) {
        return four[0] == 127 || name == "169.254.170.2" || name == "169.254.170.23";
    }
    std::array<std::uint8_t, 16> six{};
    std::array<std::uint8_t, 16> near{};
    if (::inet_pton(AF_INET6, name.c_str(), six.data()) != 1) return false;
    for (const char* const address : {"::1", "fd00:ec2::23"}) {
        if (::inet_pton(AF_INET6, address, near.data()) == 1 && six == near) return true;
    }
    return false;
}

bool is_printable(std::string_view text) {
    return std::ranges::all_of(text, [](char c) { return c > ' ' && c <= '~'; });
}

Metadata metadata_at(const std::string& url, const std::string& what) {
    auto [scheme, host, path] = split(url, what);
    path = path.substr(0, path.find('#'));
    if (!is_printable(path)) throw_invalid(what + " is not a URL");
    return {false, scheme, host, port_of(host, scheme == "http" ? 80 : 443, "the metadata"), path, {}, {}};
}

// Who is asked for credentials, if anybody. A container's platform sets the variables for this very process.
std::optional<Metadata> metadata() {
    const std::string relative = environment("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
    const std::string full = environment("AWS_CONTAINER_CREDENTIALS_FULL_URI");
    if (!relative.empty() || !full.empty()) {
        if (!relative.empty() && !relative.starts_with('/')) {
            throw_invalid("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI does not begin with /");
        }
        Metadata container =
            relative.empty() ? metadata_at(full, "AWS_CONTAINER_CREDENTIALS_FULL_URI")
                             : metadata_at("http://169.254.170.2" + relative, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
        if (container.scheme == "http" && !is_near(container.host)) {
            throw_invalid(
                "AWS_CONTAINER_CREDENTIALS_FULL_URI must begin with https:// unless it leads to this machine or"
                " to 169.254.170.2, 169.254.170.23 or [fd00:ec2::23]");
        }
        container.token_file = environment("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
        if (container.token_file.empty()) container.token = environment("AWS_CONTAINER_AUTHORIZATION_TOKEN");
        return container;
    }
    std::string disabled = environment("AWS_EC2_METADATA_DISABLED");
    std::ranges::transform(disabled, disabled.begin(),
                           [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    if (disabled != "false") return std::nullopt;
    constexpr const char* kEndpoint = "AWS_EC2_METADATA_SERVICE_ENDPOINT";
    Metadata instance = metadata_at(first_of({environment(kEndpoint), "http://169.254.169.254"}), kEndpoint);
    instance.is_instance = true;
    while (instance.path.ends_with('/')) instance.path.pop_back();
    return instance;
}

}  // namespace

Location parse_location(const std::string& url) {
    const std::size_t colon = url.find("://");
    Location location{url.substr(0, colon), {}, {}};
    constexpr std::array<std::string_view, 4> kSchemes{"s3", "gs", "https", "http"};
    if (colon == std::string::npos || std::ranges::find(kSchemes, location.scheme) == kSchemes.end()) {
        throw_invalid("only URLs that begin with s3://, gs://, https:// or http:// are read");
    }
    const std::string rest = url.substr(colon + 3);
    const std::size_t end = std::min(rest.find_first_of(location.is_bucket() ? "/" : "/?#"), rest.size());
    location.bucket = rest.substr(0, end);
    if (location.bucket.find('@') != std::string::npos) {
        throw_invalid("a URL with a user name or password is not used, as others can see it");
    }
    if (!is_host(location.bucket))
        throw_invalid("the URL has no " + std::string(location.is_bucket() ? "bucket" : "server"));
    location.key = rest.substr(end);
    if (location.key.starts_with('/')) location.key.erase(0, 1);
    if (location.is_bucket() && location.key.empty()) throw_invalid("the URL names a bucket, and not an object");
    return location;
}

Settings settings_for(const Location& location) {
    Settings settings;
    settings.certificates = environment("AWS_CA_BUNDLE");
    if (!location.is_bucket()) {
        settings.scheme = location.scheme;
        settings.host = location.bucket;
        add_ports(settings);
        return settings;
    }
    Profile profile = read_profile();
    const bool is_amazons = location.scheme == "s3";
    settings.credentials = credentials_of(profile, is_amazons);
    if (settings.credentials.is_empty() && is_amazons) settings.metadata = metadata();
    const std::string endpoint = first_of(
        {environment("AWS_ENDPOINT_URL_S3"), environment("AWS_ENDPOINT_URL"), profile.settings["endpoint_url"]});
    settings.region = first_of({environment("AWS_REGION"), environment("AWS_DEFAULT_REGION"),
                                profile.settings["region"], location.scheme == "gs" ? "auto" : "us-east-1"});
    const std::string in_path = '/' + percent_encoded(location.bucket, false);
    if (!endpoint.empty() || location.scheme == "gs") {
        set_endpoint(settings, endpoint.empty() ? "https://storage.googleapis.com" : endpoint);
        settings.prefix += in_path;
        return settings;
    }
    settings.scheme = "https";
    settings.host = "s3." + settings.region + ".amazonaws.com";
    // A certificate for *.s3.amazonaws.com is not one for names with more dots.
    add_ports(settings);
    if (location.bucket.find('.') == std::string::npos) {
        settings.host = location.bucket + '.' + settings.host;
    } else {
        settings.prefix = in_path;
    }
    return settings;
}

}  // namespace cleave::store
