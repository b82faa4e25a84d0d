// Object stores: the buckets and servers that URLs lead to.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cleave/cancel.h"
#include "cleave/encoding.h"
#include "cleave/error.h"
#include "cleave/input.h"
#include "core/reader/location.h"
#include "core/reader/remote_file.h"
#include "features/stores/store_module.h"

namespace cleave {

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

    // The same, or null if there is no such object.
    std::unique_ptr<const RemoteFile> find_present(const std::string& url, const Cancellation* cancellation) const;

    // The same as find(), as an input, which is read ahead.
    Input open(const std::string& url, const Cancellation* cancellation, Encoding encoding) const;

    // What tells the object of this URL from every other: RemoteFile::place(). Asks nobody. Throws ArgumentError.
    std::string place(const std::string& url) const;

    // Whether there is an object. Throws what find() throws.
    bool has(const std::string& url, const Cancellation* cancellation) const {
        return find_present(url, cancellation) != nullptr;
    }
    // Writes a small object, which appears at once, and replaces another one. Throws ArgumentError, StoreError and
    // Cancelled.
    void put(const std::string& url, std::span<const std::uint8_t> bytes, const Cancellation* cancellation) const;
    // Removes an object, if there is one. Goes on for a while if it is cancelled. Throws StoreError, Cancelled.
    void remove(const std::string& url, const Cancellation* cancellation) const;
    // Aborts all uploads of this name, whoever began them. Throws StoreError, Cancelled.
    void abort_uploads(const std::string& url, const Cancellation* cancellation) const;

private:
    friend class StoreUpload;
    friend class StoredObject;
    const cleave_store_module& module_;
    std::unique_ptr<void, void (*)(void*)> store_;
};

// An object that is being written, in parts that are numbered from 1. Nobody sees it before it is complete. Every part
// but the last has at least kLeastPart bytes, and there are at most kMostParts. All functions throw StoreError and
// Cancelled. complete() and abort() go on for a while after they were cancelled, as what they have begun is better
// ended. put() and copy() may be called from several threads at once.
class StoreUpload {
public:
    static constexpr std::uint64_t kLeastPart = CLEAVE_STORE_LEAST_PART;
    static constexpr std::uint32_t kMostParts = CLEAVE_STORE_MOST_PARTS;

    // `store` and `cancellation`, if not null, must outlive the upload. Throws ArgumentError for a URL that is not of
    // the store's bucket, or where nothing can be written.
    StoreUpload(const Store& store, const std::string& url, const Cancellation* cancellation);

    void put(std::uint32_t number, std::span<const std::uint8_t> bytes);
    // Lets the store copy a range of the file. Returns false if it cannot: then the part is still missing. Throws
    // InputChangedError if the file is no longer the one that was found.
    bool copy(std::uint32_t number, const RemoteFile& file, std::uint64_t offset, std::uint64_t size);

    // The object consists of all parts. Returns false if there is an object of that name already, unless it is to be
    // replaced.
    bool complete(bool replaces);
    // Makes the store forget the parts. An upload that is neither completed nor aborted stays in the store. Returns
    // false if it is gone because it may have become the object: complete() failed and could not find out.
    bool abort();

private:
    const cleave_store_module& module_;
    std::string name_;
    const Cancellation* cancellation_;
    std::unique_ptr<void, void (*)(void*)> upload_;
};

// The stores of a run, each opened once. Use from one thread while stores are added.
class Stores {
public:
    // Opens the store that the URL leads to, unless it is open. Throws what Store() throws.
    const Store& open(const Location& url);
    // The store that the location is in if it is open, or null.
    const Store* find(const Location& location) const noexcept;

    // Whether there is one whose URLs begin so.
    bool has(std::string_view beginning) const noexcept;
    // The ports that the connections of all stores lead to.
    std::vector<std::uint16_t> ports() const;

private:
    std::map<std::string, Store, std::less<>> stores_;  // by what their URLs begin with
};

}  // namespace cleave
