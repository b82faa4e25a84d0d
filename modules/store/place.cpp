#include "place.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "sign.h"

namespace cleave::store {
namespace {

// The name of the server as it is sent, without a port that schemes have of their own.
std::string server_of(std::string_view host) {
    for (const std::string_view port : {":80", ":443"}) {
        if (host.ends_with(port)) host.remove_suffix(port.size());
    }
    std::string server(host);
    std::ranges::transform(server, server.begin(),
                           [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    return server;
}

struct Names {
    std::string_view server;  // one for all names that a provider's servers have
    std::string_view bucket;  // in the name of the server; empty if it is in the path
};

// "BUCKET.s3.REGION.amazonaws.com", "s3.REGION.amazonaws.com"; "s3-REGION" is an older form.
Names names_at_amazon(std::string_view server, std::string_view suffix) {
    for (const std::string_view service : {".s3.", ".s3-"}) {
        const std::size_t at = server.rfind(service);
        if (at != std::string_view::npos) return {suffix, server.substr(0, at)};
    }
    const bool is_store = server.starts_with("s3.") || server.starts_with("s3-");
    return {is_store ? suffix : server, {}};
}

Names names_in(std::string_view server) {
    constexpr std::array<std::string_view, 2> kAmazon{".amazonaws.com", ".amazonaws.com.cn"};
    for (const std::string_view suffix : kAmazon) {
        if (server.ends_with(suffix)) return names_at_amazon(server, suffix);
    }
    constexpr std::string_view kGoogle = ".storage.googleapis.com";
    if (server.ends_with(kGoogle)) return {kGoogle.substr(1), server.substr(0, server.size() - kGoogle.size())};
    return {server, {}};
}

}  // namespace

std::string place_of(std::string_view host, std::string_view path) {
    const std::string server = server_of(host);
    const Names names = names_in(server);
    std::string place(names.server);
    if (!names.bucket.empty()) place.append("/").append(names.bucket);
    return place + percent_decoded(path.substr(0, path.find('?')));
}

}  // namespace cleave::store
