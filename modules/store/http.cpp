#include "http.h"

#include <pthread.h>
#include <csignal>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstring>
#include <exception>
#include <optional>
#include <random>
#include <thread>
#include <tuple>

#include "failure.h"
#include "libcurl.h"

namespace cleave::store {
namespace {

using Number = long;  // NOLINT(google-runtime-int): what libcurl takes

// Seconds.
constexpr Number kConnectTime = 10;
constexpr double kLongestWait = 5;
constexpr double kLongestAskedWait = 30;
constexpr std::chrono::seconds kGrace(5);  // for a request that is cancelled, but cannot be repeated

bool is_cancelled(const cleave_store_call& call) {
    return call.is_cancelled != nullptr && call.is_cancelled(call.context) != 0;
}

// Libraries for TLS write to connections that the server has closed, which would end the process. The signal of such a
// write stays in this thread, and is taken away.
class PipeSignalBlocked {
public:
    PipeSignalBlocked() {
        sigset_t pending;
        ::sigpending(&pending);
        was_pending_ = ::sigismember(&pending, SIGPIPE) != 0;
        ::sigemptyset(&pipe_);
        ::sigaddset(&pipe_, SIGPIPE);
        ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
    }
    PipeSignalBlocked(const PipeSignalBlocked&) = delete;
    PipeSignalBlocked& operator=(const PipeSignalBlocked&) = delete;
    ~PipeSignalBlocked() {
        constexpr timespec kAtOnce{};
        if (!was_pending_) ::sigtimedwait(&pipe_, nullptr, &kAtOnce);
        ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }

private:
    sigset_t pipe_;
    sigset_t before_;
    bool was_pending_ = false;
};

struct Freed {
    void operator()(curl_slist* list) const noexcept { libcurl().slist_free_all(list); }
};
using HeaderList = std::unique_ptr<curl_slist, Freed>;

// What one transfer needs in the functions that libcurl calls.
struct Transfer {
    const Exchange& exchange;
    cleave_store_call& call;
    Response response = {};
    std::exception_ptr error = nullptr;
    bool is_checked = false;
    std::optional<std::chrono::steady_clock::time_point> cancelled = {};  // when that was noticed
    std::size_t sent = 0;                                                 // bytes of the request's body

    bool is_success() const noexcept { return response.status >= 200 && response.status < 300; }
};

// Exceptions must not pass through libcurl.
template <class Work>
bool guarded(Transfer& transfer, Work work) noexcept {
    try {
        work();
        return true;
    } catch (...) {
        transfer.error = std::current_exception();
        return false;
    }
}

std::string lower(std::string text) {
    std::ranges::transform(text, text.begin(),
                           [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    return text;
}

std::size_t take_header(char* data, std::size_t one, std::size_t count, void* context) {
    auto& transfer = *static_cast<Transfer*>(context);
    const std::size_t size = one * count;
    const bool is_good = guarded(transfer, [&] {
        std::string line(data, size);
        while (!line.empty() && (line.back() == '\r' || line.back() == '\n')) line.pop_back();
        if (line.starts_with("HTTP/")) {  // also after 100 Continue and after a redirection
            transfer.response.headers.clear();
            const std::size_t space = line.find(' ');
            transfer.response.status = 0;
            if (space != std::string::npos) {
                std::from_chars(line.data() + space + 1, line.data() + line.size(), transfer.response.status);
            }
            return;
        }
        const std::size_t colon = line.find(':');
        if (colon == std::string::npos) return;
        const std::size_t begin = std::min(line.find_first_not_of(" \t", colon + 1), line.size());
        transfer.response.headers[lower(line.substr(0, colon))] = line.substr(begin);
    });
    return is_good ? size : 0;
}

std::size_t take_body(char* data, std::size_t one, std::size_t count, void* context) {
    auto& transfer = *static_cast<Transfer*>(context);
    const std::size_t size = one * count;
    const bool is_good = guarded(transfer, [&] {
        if (!transfer.is_checked && transfer.is_success() && transfer.exchange.check) {
            transfer.is_checked = true;
            transfer.exchange.check(transfer.response);
        }
        if (transfer.is_success() && transfer.exchange.sink) {
            transfer.exchange.sink({reinterpret_cast<const std::uint8_t*>(data), size});
        } else {
            if (transfer.response.body.size() + size > kMostBody) throw Transient("an answer that is too long");
            transfer.response.body.append(data, size);
        }
    });
    return is_good ? size : 0;
}

std::size_t give_body(char* into, std::size_t one, std::size_t count, void* context) {
    auto& transfer = *static_cast<Transfer*>(context);
    const auto left = transfer.exchange.body.subspan(transfer.sent);
    const std::size_t size = std::min(left.size(), one * count);
    if (size > 0) std::memcpy(into, left.data(), size);
    transfer.sent += size;
    return size;
}

// libcurl goes back to the beginning to send a request again.
int seek_body(void* context, curl_off_t offset, int origin) {
    auto& transfer = *static_cast<Transfer*>(context);
    const auto size = static_cast<curl_off_t>(transfer.exchange.body.size());
    if (origin != SEEK_SET || offset < 0 || offset > size) return CURL_SEEKFUNC_FAIL;
    transfer.sent = static_cast<std::size_t>(offset);
    return CURL_SEEKFUNC_OK;
}

// Ends a transfer that is cancelled. If the request cannot be repeated, its answer is worth a wait, because it tells
// what the server has done.
int watch(void* context, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
    auto& transfer = *static_cast<Transfer*>(context);
    return guarded(transfer,
                   [&] {
                       using Clock = std::chrono::steady_clock;
                       if (transfer.exchange.is_once && is_cancelled(transfer.call)) {
                           if (!transfer.cancelled) transfer.cancelled = Clock::now();
                           if (Clock::now() < *transfer.cancelled + kGrace) return;
                       }
                       throw_if_cancelled(transfer.call);
                   })
               ? 0
               : 1;
}

void set(CURL* handle, CURLoption option, auto value) {
    if (libcurl().easy_setopt(handle, option, value) != CURLE_OK) {
        throw Failure(CLEAVE_STORE_FAILED, "libcurl lacks an option");
    }
}

// A request must not go out without one of its headers.
void add_header(HeaderList& headers, const char* line) {
    curl_slist* const longer = libcurl().slist_append(headers.get(), line);
    if (longer == nullptr) throw std::bad_alloc();
    std::ignore = headers.release();
    headers.reset(longer);
}

HeaderList headers_of(const Request& request) {
    HeaderList headers;
    for (const auto& [name, value] : request.headers) {
        std::string line = name;
        line.append(": ").append(value);
        add_header(headers, line.c_str());
    }
    // libcurl adds none of its own.
    add_header(headers, "Accept:");
    add_header(headers, "Expect:");
    return headers;
}

void set_limits(CURL* curl) {
    set(curl, CURLOPT_PATH_AS_IS, 1L);
    set(curl, CURLOPT_USERAGENT, "cleave");
    set(curl, CURLOPT_NOSIGNAL, 1L);
    set(curl, CURLOPT_MAXREDIRS, 5L);
    set(curl, CURLOPT_CONNECTTIMEOUT, kConnectTime);
    set(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
    set(curl, CURLOPT_BUFFERSIZE, 256L << 10);
    set(curl, CURLOPT_UPLOAD_BUFFERSIZE, 256L << 10);
}

void set_request(CURL* curl, Transfer& transfer) {
    const Exchange& exchange = transfer.exchange;
    const Request& request = exchange.request;
    const std::string query = encoded_query(request.query);
    std::string url = exchange.scheme + "://" + request.host + request.path;
    if (!query.empty()) url.append("?").append(query);
    set(curl, CURLOPT_URL, url.c_str());
    // The options that take names instead are newer than the libcurl of Ubuntu 22.04 and of RHEL 9.
    const Number protocol = exchange.scheme == "https" ? CURLPROTO_HTTPS : CURLPROTO_HTTP;
    set(curl, CURLOPT_PROTOCOLS, protocol);
    set(curl, CURLOPT_REDIR_PROTOCOLS, protocol);
    set(curl, CURLOPT_FOLLOWLOCATION, exchange.follows ? 1L : 0L);
    set(curl, CURLOPT_HEADERFUNCTION, take_header);
    set(curl, CURLOPT_HEADERDATA, static_cast<void*>(&transfer));
    set(curl, CURLOPT_WRITEFUNCTION, take_body);
    set(curl, CURLOPT_WRITEDATA, static_cast<void*>(&transfer));
    set(curl, CURLOPT_NOPROGRESS, 0L);
    set(curl, CURLOPT_XFERINFOFUNCTION, watch);
    set(curl, CURLOPT_XFERINFODATA, static_cast<void*>(&transfer));
    set(curl, CURLOPT_LOW_SPEED_TIME, static_cast<Number>(exchange.stall_s));
    set(curl, CURLOPT_TIMEOUT, static_cast<Number>(exchange.limit_s));
    if (exchange.is_direct) set(curl, CURLOPT_PROXY, "");
    set(curl, CURLOPT_FRESH_CONNECT, exchange.is_once ? 1L : 0L);
    if (request.method == "HEAD") set(curl, CURLOPT_NOBODY, 1L);
    if (request.method == "PUT" || request.method == "POST") {
        set(curl, CURLOPT_UPLOAD, 1L);
        set(curl, CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(exchange.body.size()));
        set(curl, CURLOPT_READFUNCTION, give_body);
        set(curl, CURLOPT_READDATA, static_cast<void*>(&transfer));
        set(curl, CURLOPT_SEEKFUNCTION, seek_body);
        set(curl, CURLOPT_SEEKDATA, static_cast<void*>(&transfer));
    }
    set(curl, CURLOPT_CUSTOMREQUEST, request.method.c_str());
}

// Failures that another attempt does not mend.
bool is_final(CURLcode code) {
    constexpr std::array<CURLcode, 9> kFinal{
        CURLE_UNSUPPORTED_PROTOCOL, CURLE_URL_MALFORMAT,   CURLE_PEER_FAILED_VERIFICATION,
        CURLE_SSL_CACERT_BADFILE,   CURLE_SSL_CERTPROBLEM, CURLE_OUT_OF_MEMORY,
        CURLE_TOO_MANY_REDIRECTS,   CURLE_NOT_BUILT_IN,    CURLE_BAD_FUNCTION_ARGUMENT};
    return std::ranges::find(kFinal, code) != kFinal.end();
}

// Failures after which the server knows nothing of the request.
bool is_unsent(CURLcode code) {
    return code == CURLE_COULDNT_RESOLVE_HOST || code == CURLE_COULDNT_RESOLVE_PROXY || code == CURLE_COULDNT_CONNECT;
}

}  // namespace

struct Http::Handle {
    Handle() : curl(libcurl().easy_init()) {
        if (curl == nullptr) throw std::bad_alloc();
    }
    Handle(const Handle&) = delete;
    Handle& operator=(const Handle&) = delete;
    ~Handle() { libcurl().easy_cleanup(curl); }

    CURL* curl;
};

Http::Http(std::string certificates) : certificates_(std::move(certificates)) {
    if (libcurl().global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        throw Failure(CLEAVE_STORE_FAILED, "libcurl does not start");
    }
}

Http::~Http() {
    idle_.clear();
    libcurl().global_cleanup();
}

std::unique_ptr<Http::Handle> Http::take() {
    {
        const std::scoped_lock lock(mutex_);
        if (!idle_.empty()) {
            auto handle = std::move(idle_.back());
            idle_.pop_back();
            return handle;
        }
    }
    return std::make_unique<Handle>();
}

void Http::give_back(std::unique_ptr<Handle> handle) {
    libcurl().easy_reset(handle->curl);  // keeps its connections
    const std::scoped_lock lock(mutex_);
    idle_.push_back(std::move(handle));
}

Response Http::send(const Exchange& exchange, cleave_store_call& call) {
    throw_if_cancelled(call);
    auto handle = take();
    CURL* const curl = handle->curl;
    Transfer transfer{exchange, call};
    const HeaderList headers = headers_of(exchange.request);
    if (!certificates_.empty()) set(curl, CURLOPT_CAINFO, certificates_.c_str());
    set(curl, CURLOPT_HTTPHEADER, headers.get());
    set_request(curl, transfer);
    set_limits(curl);

    const PipeSignalBlocked blocked;
    const CURLcode code = libcurl().easy_perform(curl);
    if (code == CURLE_OK) give_back(std::move(handle));  // otherwise its connection is in an unknown state
    if (transfer.error) std::rethrow_exception(transfer.error);
    if (code != CURLE_OK) {
        // Never what CURLOPT_ERRORBUFFER gets, which may contain the URL with its query.
        const std::string message = libcurl().easy_strerror(code);
        if (is_final(code)) throw Failure(CLEAVE_STORE_FAILED, message);
        throw Transient(message, 0, !is_unsent(code));
    }
    if (transfer.is_success() && exchange.check && !transfer.is_checked) exchange.check(transfer.response);
    return std::move(transfer.response);
}

void throw_if_cancelled(const cleave_store_call& call) {
    if (is_cancelled(call)) throw Failure(CLEAVE_STORE_CANCELLED, "cancelled");
}

// Waits are random, so that many threads do not ask again at the same moment.
void wait_before(unsigned attempt, double asked_s, const cleave_store_call& call) {
    thread_local std::minstd_rand random(std::random_device{}());
    const double longest = std::min(kLongestWait, 0.1 * static_cast<double>(1U << std::min(attempt, 10U)));
    double left =
        std::max(std::min(asked_s, kLongestAskedWait), std::uniform_real_distribution(longest / 2, longest)(random));
    while (left > 0) {
        throw_if_cancelled(call);
        const double step = std::min(left, 0.1);
        std::this_thread::sleep_for(std::chrono::duration<double>(step));
        left -= step;
    }
    throw_if_cancelled(call);
}

}  // namespace cleave::store
