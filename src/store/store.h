// Object stores: the buckets and servers that URLs lead to.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cleave/cancel.h"
#include "cleave/encoding.h"
#include "cleave/error.h"
#include "cleave/input.h"
#include "io/remote_file.h"
#include "store/store_module.h"

namespace cleave {

// A store does not do what it was asked for. `what()` begins with the URL, as messages show it.
class StoreError : public ErrorOf<std::runtime_error> {
public:
    using ErrorOf::ErrorOf;
};

// Whether the path is a URL of a kind that stores have, such as "s3://bucket/key".
bool is_store_url(const std::string& path) noexcept;

// The URL as messages show it: without its query, which may contain a signature.
std::string shown_url(const std::string& url);

// A bucket or a server. Any thread may use it.
class Store {
public:
    // Loads the first existing module of `paths`, which stays loaded until the process ends, and finds the settings and
    // credentials for `url`. Throws ArgumentError if there is no module, if it cannot be used, or if the URL or a
    // setting cannot be, and StoreError.
    Store(const std::vector<std::string>& paths, const std::string& url);
    // The same with the paths where modules are.
    explicit Store(const std::string& url);

    // The ports that its connections lead to.
    std::vector<std::uint16_t> ports() const;

    // An object, as it is now, which the store and `cancellation`, if not null, must outlive. Throws ArgumentError,
    // StoreError, InputError if the server cannot send ranges of it, and Cancelled.
    std::unique_ptr<const RemoteFile> find(const std::string& url, const Cancellation* cancellation = nullptr) const;

    // The same as an input, which is read ahead.
    Input open(const std::string& url, const Cancellation* cancellation, Encoding encoding) const;

private:
    const cleave_store_module& module_;
    std::unique_ptr<void, void (*)(void*)> store_;
};

}  // namespace cleave
