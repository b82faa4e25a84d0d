#include "credentials.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <limits>
#include <string_view>
#include <thread>
#include <utility>

namespace cleave::store {
namespace {

// Seconds.
constexpr std::time_t kEarly = 300;
constexpr std::time_t kTried = 60;  // for how long to try credentials that seem to have expired when they come
constexpr std::time_t kPause = 5;   // for how long all calls fail after one got no credentials
constexpr int kLimit = 2;           // for a request: metadata is near
constexpr const char* kTokenLife = "60";

constexpr std::time_t kNever = std::numeric_limits<std::time_t>::max();
constexpr unsigned kAttempts = 3;

[[noreturn]] void throw_denied(const std::string& message) { throw Failure(CLEAVE_STORE_DENIED, message); }

std::string token_in(const std::string& path) {
    std::ifstream file(path);
    std::string token{std::istreambuf_iterator<char>(file), {}};
    while (token.ends_with('\n') || token.ends_with('\r')) token.pop_back();
    if (token.empty()) throw_denied("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE has no token that can be read");
    return token;
}

// As names of roles are.
bool is_role(std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               std::string_view("_+=,.@-").find(c) != std::string_view::npos;
    });
}

std::string answer_of(const Response& response) { return "it answers " + std::to_string(response.status); }

}  // namespace

Credentials CredentialSource::current(std::time_t now, cleave_store_call& call) {
    if (!settings_.metadata) return settings_.credentials;
    if (auto known = known_at(now)) return std::move(*known);
    std::unique_lock turn(turn_, std::defer_lock);
    while (!turn.try_lock()) {  // somebody else asks
        if (auto good = good_at(now)) return std::move(*good);
        throw_if_cancelled(call);
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    if (auto known = known_at(now)) return std::move(*known);  // somebody else has asked meanwhile
    try {
        take(fetch(call), now);
    } catch (const Failure& failure) {
        if (failure.result() == CLEAVE_STORE_CANCELLED) throw;
        do_without(failure, now);
    }
    const std::scoped_lock lock(mutex_);
    return issued_.credentials;
}

// Nothing if it is time to ask.
std::optional<Credentials> CredentialSource::known_at(std::time_t now) {
    const std::scoped_lock lock(mutex_);
    if (now >= due_) return std::nullopt;
    if (failure_) throw Failure(*failure_);
    return issued_.credentials;
}

// Nothing if the store refuses the credentials, or if they have expired or never came.
std::optional<Credentials> CredentialSource::good_at(std::time_t now) {
    const std::scoped_lock lock(mutex_);
    return are_good(now) ? std::optional(issued_.credentials) : std::nullopt;
}

bool CredentialSource::are_good(std::time_t now) const {
    return refusal_ == Refusal::kNone && !issued_.credentials.is_empty() && issued_.expires.value_or(kNever) > now;
}

void CredentialSource::take(Issued newer, std::time_t now) {
    const std::scoped_lock lock(mutex_);
    const bool are_same = newer.credentials == issued_.credentials;
    if (are_same && refusal_ == Refusal::kCertain) {
        throw_denied("the credentials have expired, and the metadata has no newer ones");
    }
    are_confirmed_ = are_same && (are_confirmed_ || refusal_ == Refusal::kPossible);
    issued_ = std::move(newer);
    refusal_ = Refusal::kNone;
    failure_.reset();
    set_due(now);
}

// Throws the failure if there are no credentials that are still good.
void CredentialSource::do_without(const Failure& failure, std::time_t now) {
    const std::scoped_lock lock(mutex_);
    if (refusal_ == Refusal::kPossible) {
        refusal_ = Refusal::kNone;
        are_confirmed_ = true;
    }
    if (!are_good(now)) {
        failure_ = failure;
        due_ = now + kPause;
        throw Failure(failure);
    }
    set_due(now);
}

// This machine's clock may be wrong: it is for the store to refuse what has expired.
void CredentialSource::set_due(std::time_t now) {
    const std::time_t expires = issued_.expires.value_or(kNever);
    const std::time_t left = expires > now ? expires - now : kTried;
    due_ = now + std::max(left - kEarly, left / 2);
}

bool CredentialSource::expire(const Credentials& used, Refusal refusal) {
    if (!settings_.metadata) return false;
    const std::scoped_lock lock(mutex_);
    if (used != issued_.credentials) return true;
    if (refusal == Refusal::kPossible && are_confirmed_) return false;
    if (refusal_ == Refusal::kNone) due_ = 0;
    refusal_ = std::max(refusal_, refusal);
    return true;
}

Issued CredentialSource::fetch(cleave_store_call& call) {
    const bool is_instance = settings_.metadata->is_instance;
    try {
        auto issued = issued_credentials(is_instance ? ask_instance(call) : ask_container(call));
        if (!issued) throw_denied("it answers something else");
        return std::move(*issued);
    } catch (const Failure& failure) {
        if (failure.result() == CLEAVE_STORE_CANCELLED) throw;
        throw_denied(std::string("no credentials from the metadata of the ") +
                     (is_instance ? "instance: " : "container: ") + failure.what());
    }
}

Exchange CredentialSource::exchange_of(std::string method, const std::string& path) const {
    Exchange exchange;
    exchange.scheme = settings_.metadata->scheme;
    exchange.request.method = std::move(method);
    exchange.request.host = settings_.metadata->host;
    exchange.request.path = settings_.metadata->path + path;
    exchange.limit_s = kLimit;
    exchange.is_direct = true;
    return exchange;
}

// Asks until there is an answer.
Response CredentialSource::ask(const Exchange& exchange, cleave_store_call& call) {
    for (unsigned number = 1;; ++number) {
        try {
            Response response = http_.send(exchange, call);
            if (response.status == 429 || response.status >= 500) throw Transient(answer_of(response));
            return response;
        } catch (const Transient& error) {
            if (number == kAttempts) throw_denied(error.what());
            wait_before(number, 0, call);
        }
    }
}

std::string CredentialSource::ask_container(cleave_store_call& call) {
    const Metadata& metadata = *settings_.metadata;
    Exchange exchange = exchange_of("GET", "");
    const std::string token = metadata.token_file.empty() ? metadata.token : token_in(metadata.token_file);
    if (!token.empty()) {
        if (!is_header_value(token)) throw_denied("the token for it has characters that cannot be sent");
        exchange.request.headers["authorization"] = token;
    }
    const Response response = ask(exchange, call);
    if (response.status != 200) throw_denied(answer_of(response));
    return response.body;
}

std::string CredentialSource::ask_instance(cleave_store_call& call) {
    Exchange exchange = exchange_of("PUT", "/latest/api/token");
    exchange.request.headers["x-aws-ec2-metadata-token-ttl-seconds"] = kTokenLife;
    const Response token = ask(exchange, call);
    if (token.status != 200 || !is_header_value(token.body)) {
        throw_denied(answer_of(token) + " to the request for a token (IMDSv2)");
    }
    const auto get = [&](const std::string& path) {
        Exchange with_token = exchange_of("GET", path);
        with_token.request.headers["x-aws-ec2-metadata-token"] = token.body;
        return ask(with_token, call);
    };
    const std::string path = "/latest/meta-data/iam/security-credentials/";
    const Response roles = get(path);
    const std::string role = roles.body.substr(0, roles.body.find('\n'));
    if (roles.status != 200 && roles.status != 404) throw_denied(answer_of(roles));
    if (roles.status == 404 || !is_role(role)) throw_denied("the instance has no role");
    const Response credentials = get(path + role);
    if (credentials.status != 200) throw_denied(answer_of(credentials));
    return credentials.body;
}

}  // namespace cleave::store
