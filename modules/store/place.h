// Which object a request means, whatever URL led to it.
#pragma once

#include <string>
#include <string_view>

namespace cleave::store {

// The same text for every server name and path that mean one object, and another for every other object. Amazon's and
// Google's stores take a bucket in the name of the server or in the path, and have many names. `host` may contain a
// port, and `path` a query, which says nothing about the object; both are as they are sent.
std::string place_of(std::string_view host, std::string_view path);

}  // namespace cleave::store
