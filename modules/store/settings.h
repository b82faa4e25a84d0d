// Where a store is, and with which credentials it is used: from a URL, the environment and the files of the AWS tools.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sign.h"

namespace cleave::store {

struct Location {
    std::string scheme;  // "s3", "gs", "https" or "http"
    std::string bucket;  // of s3 and gs; otherwise the server, with its port if one is given
    std::string key;     // without the leading "/", as in the URL; of https and http, with the query

    bool is_bucket() const noexcept { return scheme == "s3" || scheme == "gs"; }
};

// Throws Failure unless it is such a URL, with a bucket and a key or with a server, and without a user name or
// password. The message does not contain the URL.
Location parse_location(const std::string& url);

// The service that a container's platform or an instance of EC2 has for the credentials of its programs.
struct Metadata {
    bool is_instance = false;
    std::string scheme;  // "https" or "http"
    std::string host;    // with the port, if it is not the scheme's own
    std::uint16_t port = 0;
    std::string path;        // encoded; of a container's credentials, with the query; of an instance, before all paths
    std::string token;       // what a container has to send as "authorization"; may be empty
    std::string token_file;  // the file that contains it; may be empty

    bool operator==(const Metadata&) const = default;
};

struct Settings {
    std::string scheme;                // "https" or "http"
    std::string host;                  // with the port, if it is not the scheme's own
    std::string prefix;                // of paths, encoded; begins with "/" unless it is empty
    std::string server;                // the URL of the endpoint, without a bucket; of Amazon's own: empty
    std::vector<std::uint16_t> ports;  // of the server and, if the environment names one, of the proxy
    std::string proxy;                 // its host, with the port if one is given
    std::string certificates;          // of AWS_CA_BUNDLE
    std::string region;
    Credentials credentials;  // if empty, the metadata provides them; without metadata, nothing is signed
    std::optional<Metadata> metadata;
};

// Reads, in this order, AWS_ACCESS_KEY_ID and its like, and the profile AWS_PROFILE or "default" of ~/.aws/credentials
// and ~/.aws/config, or of the files that AWS_SHARED_CREDENTIALS_FILE and AWS_CONFIG_FILE name. Without keys in either,
// and only for s3://, it looks whether AWS_CONTAINER_CREDENTIALS_RELATIVE_URI or ..._FULL_URI is set, or
// AWS_EC2_METADATA_DISABLED is "false". The endpoint is that of AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL or the profile,
// the region that of AWS_REGION, AWS_DEFAULT_REGION or the profile. Throws Failure for settings that contradict each
// other or are for credentials of other kinds, without their values.
Settings settings_for(const Location& location);

}  // namespace cleave::store
