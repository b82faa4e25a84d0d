// Requests over HTTP, by libcurl. A request that fails for reasons that may pass is sent again, after a wait that
// grows.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "features/stores/store_module.h"
#include "sign.h"

namespace cleave::store {

struct Response {
    int status = 0;
    Headers headers;   // names in lower case
    std::string body;  // at most kMostBody bytes, if no sink took it

    // What Store adds.
    std::string code;          // of the error that the body names; empty if it names none
    bool may_be_done = false;  // an earlier attempt may have had its effect, although no answer said so
};

inline constexpr std::size_t kMostBody = 1 << 20;

// What a server is sent, and what becomes of its answer.
struct Exchange {
    std::string scheme;  // "https" or "http"
    Request request;
    std::span<const std::uint8_t> body;  // of PUT and POST; stays where it is until the answer is there
    bool follows = false;                // redirections
    int stall_s = 20;                    // for how long no byte may go either way
    int limit_s = 0;                     // for how long it may take in all; 0: for as long as bytes go
    bool is_direct = false;              // not through a proxy, whatever the environment says
    // libcurl sends a request again by itself if a connection that it had kept breaks. This one goes out once, over a
    // connection of its own, and is given a while to end when it is cancelled.
    bool is_once = false;

    // Whether an answer that is not one of success is taken all the same. May be empty.
    std::function<bool(const Response&)> also;

    // Called when the headers of a successful answer are there; throws to refuse it. May be empty.
    std::function<void(const Response&)> check;
    // Takes the body of a successful answer, which comes in any number of parts; throws to refuse it. If it is empty,
    // the body goes to Response::body.
    std::function<void(std::span<const std::uint8_t>)> sink;
};

// Any thread may use it.
class Http {
public:
    // `certificates` is the file of those that vouch for servers; empty: the system's.
    explicit Http(std::string certificates);
    Http(const Http&) = delete;
    Http& operator=(const Http&) = delete;
    ~Http();

    // Sends a request once. Throws Transient if it may be worth sending it again, Failure, and what `check` and `sink`
    // throw.
    Response send(const Exchange& exchange, cleave_store_call& call);

private:
    struct Handle;

    std::unique_ptr<Handle> take();
    void give_back(std::unique_ptr<Handle> handle);

    const std::string certificates_;
    std::mutex mutex_;
    std::vector<std::unique_ptr<Handle>> idle_;  // each with its open connections
};

// Something failed that may work the next time.
class Transient : public std::runtime_error {
public:
    explicit Transient(const std::string& message, double wait_s = 0, bool may_be_done = true)
        : std::runtime_error(message), wait_s_(wait_s), may_be_done_(may_be_done) {}

    // For how long the server asks to wait; 0 if it does not say.
    double wait_s() const noexcept { return wait_s_; }
    // Whether the request may have had its effect.
    bool may_be_done() const noexcept { return may_be_done_; }

private:
    double wait_s_;
    bool may_be_done_;
};

// Throws Failure if the call was cancelled.
void throw_if_cancelled(const cleave_store_call& call);

// Waits before the attempt of this number, from 1. Throws Failure if the call is cancelled meanwhile.
void wait_before(unsigned attempt, double asked_s, const cleave_store_call& call);

// How many attempts there are at most in a row that bring nothing.
inline constexpr unsigned kMostAttempts = 6;

}  // namespace cleave::store
