#include "store.h"

#include <netdb.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>

#include "answers.h"
#include "failure.h"
#include "libcurl.h"
#include "place.h"

namespace cleave::store {
namespace {

constexpr int kNoSuchRange = 416;
constexpr char kTooMuch[] = "the server sent more than it was asked for";
constexpr char kTooLittle[] = "the server sent less than it said";

struct ContentRange {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::uint64_t total = 0;
};

// "bytes 0-99/1234"
std::optional<ContentRange> content_range(std::string_view text) {
    if (!text.starts_with("bytes ")) return std::nullopt;
    text.remove_prefix(6);
    const std::size_t hyphen = text.find('-');
    const std::size_t slash = text.find('/');
    if (hyphen == std::string_view::npos || slash == std::string_view::npos || slash < hyphen) return std::nullopt;
    const auto first = number(text.substr(0, hyphen));
    const auto last = number(text.substr(hyphen + 1, slash - hyphen - 1));
    const auto total = number(text.substr(slash + 1));
    if (!first || !last || !total || *last < *first || *last >= *total) return std::nullopt;
    return ContentRange{*first, *last + 1, *total};
}

// The system's resolver loads what it is configured to use, which it could not do later. Whether it finds the name does
// not matter here.
void resolve(const std::string& host) {
    const std::string name =
        host.starts_with('[') ? host.substr(1, host.find(']') - 1) : host.substr(0, host.find(':'));
    addrinfo* found = nullptr;
    if (::getaddrinfo(name.c_str(), nullptr, nullptr, &found) == 0) ::freeaddrinfo(found);
}

bool is_weak(const std::string& tag) { return tag.starts_with("W/"); }

// Whether the server says that a later attempt may succeed.
bool is_passing(const Response& response) {
    constexpr std::array<int, 6> kStatuses{408, 429, 500, 502, 503, 504};
    constexpr std::array<std::string_view, 3> kUndone{"RequestTimeout", "ConditionalRequestConflict",
                                                      "OperationAborted"};
    constexpr std::array<std::string_view, 3> kInSuccess{"InternalError", "SlowDown", "ServiceUnavailable"};
    return std::ranges::find(kStatuses, response.status) != kStatuses.end() ||
           std::ranges::find(kUndone, response.code) != kUndone.end() ||
           (response.status < 300 && std::ranges::find(kInSuccess, response.code) != kInSuccess.end());
}

bool is_expired(const Response& response) {
    return response.code == "ExpiredToken" || response.code == "TokenRefreshRequired";
}

// The answer to HEAD has no body that would say so.
Refusal refusal_of(const Exchange& exchange, const Response& response) {
    if (is_expired(response)) return Refusal::kCertain;
    return exchange.request.method == "HEAD" && response.status == 400 &&
                   header(response, "x-amz-bucket-region").empty()
               ? Refusal::kPossible
               : Refusal::kNone;
}

std::uint64_t head_size(std::uint64_t size) { return std::min(size, Object::kHeadSize); }

[[noreturn]] void throw_no_ranges() {
    throw Failure(CLEAVE_STORE_UNSUPPORTED, "the server does not send ranges of this file; download it first");
}

}  // namespace

Store::Store(const Location& location, cleave_store_call& call)
    : location_(location),
      settings_(settings_for(location)),
      http_(settings_.certificates),
      credentials_(settings_, http_),
      region_(settings_.region) {
    throw_if_cancelled(call);
    if (!settings_.proxy.empty()) resolve(settings_.proxy);
    resolve(settings_.host);            // also where a proxy does that, as not everything need go through it
    credentials_.current(now(), call);  // throws if metadata should provide some and does not
}

std::vector<std::uint16_t> Store::ports() const {
    std::vector<std::uint16_t> ports = settings_.ports;
    if (settings_.metadata) ports.push_back(settings_.metadata->port);
    return ports;
}

std::time_t Store::now() const { return std::time(nullptr) + skew_s_; }

std::string Store::region() {
    const std::scoped_lock lock(mutex_);
    return region_;
}

Exchange Store::exchange_of(std::string method, const std::string& path) const {
    Exchange exchange;
    exchange.scheme = settings_.scheme;
    exchange.request.method = std::move(method);
    exchange.request.host = settings_.host;
    exchange.request.path = path;
    exchange.request.body_hash = sha256_hex("");
    exchange.follows = !location_.is_bucket();
    return exchange;
}

Response Store::attempt(Exchange exchange, cleave_store_call& call) {
    const Credentials credentials = credentials_.current(now(), call);
    if (!credentials.is_empty()) sign(exchange.request, credentials, region(), now());
    Response response = http_.send(exchange, call);
    const bool is_success = response.status >= 200 && response.status < 300;
    // Servers begin to answer before they have finished, so an answer of success may name an error.
    if (is_success && !is_error(response.body)) return response;
    response.code = element(response.body, "Code");
    if (exchange.also && exchange.also(response)) return response;
    const Refusal refusal = refusal_of(exchange, response);
    if (refusal != Refusal::kNone && credentials_.expire(credentials, refusal)) {
        throw Transient("the credentials have expired", 0, false);
    }
    refuse(response);
}

Response Store::perform(const std::function<Exchange()>& make, cleave_store_call& call,
                        const std::function<void(const Response&)>& take) {
    bool may_be_done = false;
    try {
        for (unsigned number = 1;; ++number) {
            try {
                Response response = attempt(make(), call);
                response.may_be_done = may_be_done;
                if (take) take(response);
                return response;
            } catch (const Transient& error) {
                may_be_done = may_be_done || error.may_be_done();
                if (number == kMostAttempts) throw Failure(CLEAVE_STORE_FAILED, error.what());
                wait_before(number, error.wait_s(), call);
            }
        }
    } catch (const Failure& failure) {  // a call can be cancelled while its request is on its way
        const bool is_cancelled = failure.result() == CLEAVE_STORE_CANCELLED;
        throw Failure(failure.result(), failure.what(), may_be_done || is_cancelled);
    }
}

void Store::refuse(const Response& response) {
    const std::string& code = response.code;
    const std::string status =
        "the server answers " + std::to_string(response.status) + (code.empty() ? "" : ", " + code);
    const std::string& bucket_region = header(response, "x-amz-bucket-region");
    const std::string named = bucket_region.empty() ? element(response.body, "Region") : bucket_region;
    if (!named.empty() && location_.scheme == "s3" && response.status != 403) {
        const std::scoped_lock lock(mutex_);
        if (std::exchange(region_, named) != named) throw Transient(status, 0, false);
    }
    if (code == "RequestTimeTooSkewed") {
        const std::time_t there = libcurl().getdate(header(response, "date").c_str(), nullptr);
        const std::int64_t skew = there - std::time(nullptr);
        if (there > 0 && std::abs(skew_s_.exchange(skew) - skew) > 60) throw Transient(status, 0, false);
        throw Failure(CLEAVE_STORE_DENIED, "this machine's clock differs too much from the server's");
    }
    if (is_expired(response)) {
        throw Failure(CLEAVE_STORE_DENIED, "the credentials have expired");
    }
    if (is_passing(response)) {
        const bool may_be_done = (response.status >= 500 || response.status < 300) && code != "SlowDown";
        const auto wait = number(header(response, "retry-after"));
        throw Transient(status, static_cast<double>(wait.value_or(0)), may_be_done);
    }
    switch (response.status) {
        case 404:
            if (code == "NoSuchBucket") throw Failure(CLEAVE_STORE_ABSENT, "there is no such bucket");
            // Some servers answer so if they do not know the user.
            if (!code.empty() && code != "NoSuchKey") throw Failure(CLEAVE_STORE_ABSENT, status);
            throw Failure(CLEAVE_STORE_ABSENT, "there is no such object");
        case 412: throw Failure(CLEAVE_STORE_CHANGED, "the object has changed");
        case 401:
        case 403:
            throw Failure(CLEAVE_STORE_DENIED,
                          settings_.credentials.is_empty() && !settings_.metadata && location_.is_bucket()
                              ? status + "; there are no credentials"
                              : status);
        default: throw Failure(CLEAVE_STORE_FAILED, status);
    }
}

std::string Store::path_of(const std::string& url) const {
    const Location location = parse_location(url);
    if (location.scheme != location_.scheme || location.bucket != location_.bucket) {
        throw Failure(CLEAVE_STORE_INVALID, "all URLs of a run must be of one bucket or server");
    }
    return settings_.prefix + '/' +
           (location.is_bucket() ? percent_encoded(location.key, true)
                                 : location.key.substr(0, location.key.find('#')));
}

std::string Store::written_path_of(const std::string& url) const {
    if (!parse_location(url).is_bucket()) {
        throw Failure(CLEAVE_STORE_INVALID, "objects are written only under s3:// and gs://");
    }
    return path_of(url);
}

std::string Store::place_of(const std::string& url) const {
    return sha256_hex(cleave::store::place_of(settings_.host, path_of(url)));
}

void Store::remove(const std::string& url, cleave_store_call& call) {
    const std::string path = written_path_of(url);
    const auto make = [&] {
        Exchange exchange = exchange_of("DELETE", path);
        exchange.also = [](const Response& response) { return response.status == 404; };
        return exchange;
    };
    perform(make, call);
}

std::unique_ptr<Object> Store::find(const std::string& url, cleave_store_call& call) {
    const std::string path = path_of(url);
    std::uint64_t size = 0;
    std::vector<std::uint8_t> head;
    const auto first_bytes = [&] {
        Exchange exchange = exchange_of("GET", path);
        exchange.request.headers["range"] = "bytes=0-" + std::to_string(Object::kHeadSize - 1);
        exchange.also = [](const Response& response) { return response.status == kNoSuchRange; };
        exchange.check = [&](const Response& response) {
            size = 0;
            head.clear();
            if (response.status == 200 && header(response, "content-length") == "0") return;
            const auto range = content_range(header(response, "content-range"));
            if (response.status != 206 || !range) throw_no_ranges();
            size = range->total;
            if (range->begin != 0 || range->end != head_size(size)) throw Transient("the server sent another range");
        };
        exchange.sink = [&](std::span<const std::uint8_t> bytes) {
            if (bytes.size() > head_size(size) - head.size()) throw Transient(kTooMuch);
            head.insert(head.end(), bytes.begin(), bytes.end());
        };
        return exchange;
    };
    const auto take = [&](const Response& response) {
        if (response.status != kNoSuchRange && head.size() < head_size(size)) throw Transient(kTooLittle);
    };
    Response response = perform(first_bytes, call, take);
    if (response.status == kNoSuchRange) {  // an empty object has no first byte
        response = perform([&] { return exchange_of("HEAD", path); }, call);
        if (header(response, "content-length") != "0") throw_no_ranges();
        size = 0;
        head.clear();
    }
    const std::string& tag = header(response, "etag");
    const std::string& modified = header(response, "last-modified");
    if (size > 0 && tag.empty() && modified.empty()) {
        throw Failure(
            CLEAVE_STORE_UNSUPPORTED,
            "the server does not tell versions of this file apart, by ETag or Last-Modified; download it first");
    }
    return std::make_unique<Object>(*this, path, size, tag, modified, std::move(head));
}

Object::Object(Store& store, std::string path, std::uint64_t size, std::string tag, std::string modified,
               std::vector<std::uint8_t> head)
    : store_(store),
      path_(std::move(path)),
      tag_(std::move(tag)),
      modified_(std::move(modified)),
      head_(std::move(head)),
      facts_{size, tag_.empty() ? modified_.c_str() : tag_.c_str()} {}

std::string Object::strong_tag() const { return is_weak(tag_) ? "" : tag_; }

Exchange Object::exchange_of(std::uint64_t offset, std::uint64_t size) const {
    Exchange exchange = store_.exchange_of("GET", path_);
    Headers& headers = exchange.request.headers;
    headers["range"] = "bytes=" + std::to_string(offset) + '-' + std::to_string(offset + size - 1);
    if (const std::string tag = strong_tag(); !tag.empty()) {
        headers["if-match"] = tag;
    } else if (!modified_.empty()) {
        headers["if-unmodified-since"] = modified_;
    }
    exchange.check = [this, offset, size](const Response& response) { check(response, offset, size); };
    return exchange;
}

void Object::check(const Response& response, std::uint64_t offset, std::uint64_t size) const {
    if (header(response, "etag") != tag_ || header(response, "last-modified") != modified_) {
        throw Failure(CLEAVE_STORE_CHANGED, "the object has changed");
    }
    const auto range = content_range(header(response, "content-range"));
    if (response.status != 206 || !range) throw_no_ranges();
    if (range->total != facts_.size) throw Failure(CLEAVE_STORE_CHANGED, "the object has changed");
    if (range->begin != offset || range->end != offset + size) throw Transient("the server sent another range");
}

void Object::read(std::uint64_t offset, std::span<std::uint8_t> into, cleave_store_call& call) const {
    std::size_t done = 0;
    if (offset < head_.size()) {
        done = std::min<std::size_t>(into.size(), head_.size() - offset);
        std::copy_n(head_.begin() + static_cast<std::ptrdiff_t>(offset), done, into.begin());
    }
    unsigned failed = 0;  // attempts since the last byte
    while (done < into.size()) {
        const std::size_t before = done;
        try {
            Exchange exchange = exchange_of(offset + done, into.size() - done);
            exchange.sink = [&](std::span<const std::uint8_t> bytes) {
                if (bytes.size() > into.size() - done) throw Transient(kTooMuch);
                std::ranges::copy(bytes, into.begin() + static_cast<std::ptrdiff_t>(done));
                done += bytes.size();
            };
            store_.attempt(std::move(exchange), call);
            if (done < into.size()) throw Transient(kTooLittle);
        } catch (const Transient& error) {
            failed = done > before ? 1 : failed + 1;
            if (failed == kMostAttempts) throw Failure(CLEAVE_STORE_FAILED, error.what());
            wait_before(failed, error.wait_s(), call);
        } catch (const Failure& failure) {
            // It was there before.
            if (failure.result() != CLEAVE_STORE_ABSENT) throw;
            throw Failure(CLEAVE_STORE_CHANGED, "the object is no longer there");
        }
    }
}

}  // namespace cleave::store
