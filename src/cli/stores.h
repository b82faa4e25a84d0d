// Objects that the user names. The feature `stores` defines all of it; a build without it has without/stores.cpp.
#pragma once

#include <memory>
#include <string>

#include "cleave/cancel.h"
#include "cleave/encoding.h"
#include "cleave/input.h"
#include "cli/context.h"
#include "cli/sandbox.h"
#include "core/reader/remote_file.h"

namespace cleave {

class Store;

}  // namespace cleave

namespace cleave::cli {

// Opens the store that the URL leads to, unless it is open. Throws what Store() throws.
void open_store(Context& context, const Location& url);

// The store that the location is in if it is open, or null.
const Store* store_of(const Context& context, const Location& location);

// These throw what the member of Store throws.
bool has_object(const Store& store, const std::string& url);
std::unique_ptr<const RemoteFile> find_object(const Store& store, const std::string& url,
                                              const Cancellation* cancellation);
Input open_object(const Store& store, const std::string& url, const Cancellation* cancellation, Encoding encoding);

// Permits what the connections of open stores need.
void permit_stores(Permissions& permissions, const Context& context);

}  // namespace cleave::cli
