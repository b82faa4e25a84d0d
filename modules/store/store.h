// Objects of one bucket, or files of one server.
//
// Every range is asked for with the entity tag of the object as it was found ("If-Match"), so all bytes that are read
// are of one content, whatever happens to the object meanwhile. Each answer has to say that it is the range that was
// asked for, and of how many bytes in all. Where a transfer breaks off, the next one goes on from there. The first
// bytes, which tell what the file is, come with the answer that finds it, and are kept.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "credentials.h"
#include "features/stores/store_module.h"
#include "http.h"
#include "settings.h"

namespace cleave::store {

class Object;

// Any thread may use it. All functions throw Failure.
class Store {
public:
    Store(const Location& location, cleave_store_call& call);

    std::unique_ptr<Object> find(const std::string& url, cleave_store_call& call);

    const Location& location() const noexcept { return location_; }
    const Settings& settings() const noexcept { return settings_; }
    // Where connections lead: at most CLEAVE_STORE_PORTS.
    std::vector<std::uint16_t> ports() const;

    // The path of a URL of this store, as it is sent.
    std::string path_of(const std::string& url) const;
    // The same of an object that is written or removed.
    std::string written_path_of(const std::string& url) const;

    // What tells the object of this URL from every other; see CLEAVE_STORE_PLACE.
    std::string place_of(const std::string& url) const;

    // Removes an object. Succeeds if it does not exist.
    void remove(const std::string& url, cleave_store_call& call);

    // Repeats the request until it succeeds or fails for good. `make` builds it for each attempt. `take` gets the
    // answer and may throw Transient, too; it may be empty.
    Response perform(const std::function<Exchange()>& make, cleave_store_call& call,
                     const std::function<void(const Response&)>& take = {});
    // The same once. Throws Transient for what another attempt may achieve.
    Response attempt(Exchange exchange, cleave_store_call& call);

    Exchange exchange_of(std::string method, const std::string& path) const;

private:
    [[noreturn]] void refuse(const Response& response);
    std::time_t now() const;
    std::string region();

    const Location location_;
    const Settings settings_;
    Http http_;
    CredentialSource credentials_;
    std::atomic<std::int64_t> skew_s_ = 0;  // what is added to this machine's time
    std::mutex mutex_;
    std::string region_;  // under mutex_
};

class Object {
public:
    // `head` are the first bytes: all, or kHeadSize.
    Object(Store& store, std::string path, std::uint64_t size, std::string tag, std::string modified,
           std::vector<std::uint8_t> head);

    static constexpr std::uint64_t kHeadSize = std::uint64_t{64} << 10;

    const cleave_store_facts& facts() const noexcept { return facts_; }
    const Store& store() const noexcept { return store_; }
    const std::string& path() const noexcept { return path_; }
    // Its entity tag, with quotes, if that vouches for every byte; otherwise empty.
    std::string strong_tag() const;
    void read(std::uint64_t offset, std::span<std::uint8_t> into, cleave_store_call& call) const;

private:
    void check(const Response& response, std::uint64_t offset, std::uint64_t size) const;
    Exchange exchange_of(std::uint64_t offset, std::uint64_t size) const;

    Store& store_;
    std::string path_;
    std::string tag_;       // with its quotes; may be empty
    std::string modified_;  // the header's text; may be empty
    std::vector<std::uint8_t> head_;
    cleave_store_facts facts_;
};

}  // namespace cleave::store
