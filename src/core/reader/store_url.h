// URLs of objects in stores.
#pragma once

#include <string>
#include <string_view>

namespace cleave {

// Whether the path is a URL of a kind that stores have, such as "s3://bucket/key".
inline bool is_store_url(std::string_view path) noexcept {
    switch (path.empty() ? '\0' : path.front()) {
        case 's': return path.starts_with("s3://");
        case 'g': return path.starts_with("gs://");
        case 'h': return path.starts_with("https://") || path.starts_with("http://");
        default: return false;
    }
}

// Whether it is the URL of an object in a bucket, which can be written; the others are files of web servers.
inline bool is_bucket_url(std::string_view path) noexcept {
    return path.starts_with("s3://") || path.starts_with("gs://");
}

// What the URLs of one bucket or server have in common: "s3://bucket".
inline std::string_view store_root(std::string_view url) noexcept {
    const std::size_t name = url.find("://");
    return name == std::string_view::npos ? std::string_view() : url.substr(0, url.find_first_of("/?#", name + 3));
}

// The URL as messages show it: without its query, which may contain a signature.
inline std::string shown_url(const std::string& url) { return url.substr(0, url.find('?')); }

// The same of a path or a URL.
inline std::string shown_name(const std::string& name) { return is_store_url(name) ? shown_url(name) : name; }

}  // namespace cleave
