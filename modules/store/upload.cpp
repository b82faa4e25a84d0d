#include "upload.h"

#include <chrono>
#include <string_view>
#include <utility>
#include <vector>

#include "answers.h"
#include "failure.h"

namespace cleave::store {
namespace {

// For how many seconds a server may be busy without a sign. What was sent may still be on its way for a while.
constexpr int kPartStall = 60;
constexpr int kCopyStall = 120;
constexpr int kCompletionStall = 300;

// For how long a call that failed or was cancelled may find out what it has left.
constexpr std::chrono::seconds kAftermath(15);

constexpr std::uint64_t kLeastCopied = CLEAVE_STORE_LEAST_PART;  // no range of a smaller object is copied
constexpr std::string_view kPerPage = "200";                     // uploads; they are far shorter than kMostBody

std::string_view text_of(std::span<const std::uint8_t> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::span<const std::uint8_t> bytes_of(const std::string& text) {
    return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

[[noreturn]] void throw_gone() { throw Failure(CLEAVE_STORE_FAILED, "the upload is gone"); }

bool is_gone(const Response& response) {
    return response.code == "NoSuchUpload" || (response.status == 404 && response.code.empty());
}

bool is_unknown_request(const Response& response) {
    return response.status == 501 || response.status == 405 || response.code == "NotImplemented";
}

// Whether tags are MD5s, if they look so. Those of what is encrypted with keys of the user's are not.
bool has_md5(const Response& response) {
    return !header(response, "x-amz-server-side-encryption").starts_with("aws:") &&
           header(response, "x-amz-server-side-encryption-customer-algorithm").empty();
}

// Looks at what a call has left, even if that call was cancelled.
class Aftermath {
public:
    Aftermath() = default;
    Aftermath(const Aftermath&) = delete;
    Aftermath& operator=(const Aftermath&) = delete;

    cleave_store_call& call() noexcept { return call_; }

private:
    using Clock = std::chrono::steady_clock;

    static int is_over(void* context) { return Clock::now() >= static_cast<Aftermath*>(context)->end_ ? 1 : 0; }

    const Clock::time_point end_ = Clock::now() + kAftermath;
    cleave_store_call call_{is_over, this, nullptr, 0};
};

Exchange abort_exchange_of(const Store& store, const std::string& path, const std::string& id) {
    Exchange exchange = store.exchange_of("DELETE", path);
    exchange.request.query = {{"uploadId", id}};
    exchange.also = [](const Response& response) { return response.status == 404; };
    return exchange;
}

// The IDs of the uploads of this path that the store has.
std::vector<std::string> ids_of(Store& store, const std::string& url, cleave_store_call& call) {
    const std::string key = parse_location(url).key;
    std::vector<std::string> ids;
    UploadList list;
    do {
        const auto make = [&] {
            Exchange exchange = store.exchange_of("GET", store.settings().prefix + '/');
            Query& query = exchange.request.query;
            query = {
                {"uploads", ""}, {"prefix", key}, {"encoding-type", "url"}, {"max-uploads", std::string(kPerPage)}};
            if (list.is_truncated) {
                query["key-marker"] = list.next_key;
                query["upload-id-marker"] = list.next_id;
            }
            return exchange;
        };
        UploadList next = upload_list(store.perform(make, call).body);
        if (next.is_truncated && next.next_key == list.next_key && next.next_id == list.next_id) {
            throw Failure(CLEAVE_STORE_FAILED, "the server's list of uploads does not end");
        }
        list = std::move(next);
        for (UploadList::Entry& upload : list.uploads) {
            if (upload.key == key) ids.push_back(std::move(upload.id));
        }
    } while (list.is_truncated);
    return ids;
}

// Aborts the uploads of this name, but for one.
void abort_others(Store& store, const std::string& url, const std::string& kept, cleave_store_call& call) {
    const std::string path = store.written_path_of(url);
    for (const std::string& id : ids_of(store, url, call)) {
        if (id != kept) store.perform([&] { return abort_exchange_of(store, path, id); }, call);
    }
}

// The same for uploads that requests may have begun whose answers were lost.
// Returns whether that worked: who may write need not be allowed to list.
bool abort_unknown(Store& store, const std::string& url, const std::string& kept) {
    Aftermath aftermath;
    try {
        abort_others(store, url, kept, aftermath.call());
        return true;
    } catch (const Failure&) {
        return false;
    }
}

// "/bucket/key", as it is sent.
std::string source_of(const Object& object) {
    const Store& store = object.store();
    return '/' + store.location().bucket + object.path().substr(store.settings().prefix.size());
}

// Whether one server has both stores and, as it is asked once, lets the same user into both.
bool are_of_one_server(const Store& one, const Store& other) {
    return one.location().scheme == other.location().scheme && one.settings().server == other.settings().server &&
           one.settings().credentials == other.settings().credentials &&
           one.settings().metadata == other.settings().metadata;
}

}  // namespace

Upload::Upload(Store& store, std::string path, std::string id)
    : store_(store), path_(std::move(path)), id_(std::move(id)) {}

std::unique_ptr<Upload> Upload::begin(Store& store, const std::string& url, cleave_store_call& call) {
    const std::string path = store.written_path_of(url);
    std::string id;
    const auto make = [&] {
        Exchange exchange = store.exchange_of("POST", path);
        exchange.request.query = {{"uploads", ""}};
        exchange.is_once = true;
        return exchange;
    };
    const auto take = [&](const Response& response) {
        id = text_in(response.body, "UploadId").value_or("");
        if (id.empty()) throw Transient("the server does not say which upload it has begun");
    };
    try {
        if (store.perform(make, call, take).may_be_done) abort_unknown(store, url, id);
    } catch (const Failure& failure) {
        if (!failure.may_be_done() || abort_unknown(store, url, "")) throw;
        throw Failure(failure.result(), failure.what() + std::string("; an upload of this name may be left"));
    }
    return std::unique_ptr<Upload>(new Upload(store, path, id));
}

void Upload::abort_all(Store& store, const std::string& url, cleave_store_call& call) {
    abort_others(store, url, "", call);
}

Exchange Upload::exchange_of(std::string method, std::span<const std::uint8_t> body,
                             const std::string& body_hash) const {
    Exchange exchange = store_.exchange_of(std::move(method), path_);
    exchange.request.query = {{"uploadId", id_}};
    exchange.request.body_hash = body_hash;
    exchange.body = body;
    return exchange;
}

Exchange Upload::part_exchange_of(std::uint32_t number, std::span<const std::uint8_t> body,
                                  const std::string& body_hash) const {
    Exchange exchange = exchange_of("PUT", body, body_hash);
    exchange.request.query["partNumber"] = std::to_string(number);
    return exchange;
}

void Upload::keep(std::uint32_t number, std::string tag, std::uint64_t size) {
    const std::scoped_lock lock(mutex_);
    parts_[number] = Part{std::move(tag), size};
}

// TLS protects a part on its way. Otherwise the server checks it against the hash that is signed.
void Upload::send(std::uint32_t number, std::span<const std::uint8_t> bytes, cleave_store_call& call) {
    const bool is_encrypted = store_.settings().scheme == "https";
    const std::string hash = is_encrypted ? std::string(kUnsignedBody) : sha256_hex(text_of(bytes));
    std::string tag;
    const auto make = [&] {
        Exchange exchange = part_exchange_of(number, bytes, hash);
        exchange.stall_s = kPartStall;
        exchange.also = is_gone;
        return exchange;
    };
    const auto take = [&](const Response& response) {
        if (is_gone(response)) throw_gone();
        tag = quoted_tag(header(response, "etag"));
        if (tag.empty()) throw Transient("the server sent no ETag of a part");
    };
    store_.perform(make, call, take);
    keep(number, std::move(tag), bytes.size());
}

void Upload::copy(std::uint32_t number, const Object& source, std::uint64_t offset, std::uint64_t size,
                  cleave_store_call& call) {
    const auto throw_unsupported = [] {
        throw Failure(CLEAVE_STORE_UNSUPPORTED, "the store does not copy a range of this object");
    };
    const std::string source_tag = source.strong_tag();
    if (store_.location().scheme != "s3" || !are_of_one_server(store_, source.store()) || source_tag.empty() ||
        source.facts().size < kLeastCopied) {
        throw_unsupported();
    }
    std::string tag;
    const auto make = [&] {
        Exchange exchange = part_exchange_of(number, {}, sha256_hex(""));
        Headers& headers = exchange.request.headers;
        headers["x-amz-copy-source"] = source_of(source);
        headers["x-amz-copy-source-range"] =
            "bytes=" + std::to_string(offset) + '-' + std::to_string(offset + size - 1);
        headers["x-amz-copy-source-if-match"] = source_tag;
        exchange.stall_s = kCopyStall;
        exchange.also = [](const Response& response) {
            return is_unknown_request(response) || is_gone(response) || response.code == "InvalidRequest" ||
                   response.code == "NoSuchKey";
        };
        return exchange;
    };
    const auto take = [&](const Response& response) {
        if (is_unknown_request(response) || response.code == "InvalidRequest") throw_unsupported();
        if (is_gone(response)) throw_gone();
        if (response.code == "NoSuchKey") throw Failure(CLEAVE_STORE_CHANGED, "the object is no longer there");
        tag = quoted_tag(text_in(response.body, "ETag").value_or(""));
        if (tag.empty()) throw Transient("the server sent no ETag of a part");
    };
    store_.perform(make, call, take);
    keep(number, std::move(tag), size);
}

std::string Upload::part_list() const {
    const std::scoped_lock lock(mutex_);
    std::string xml = "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">";
    for (const auto& [number, part] : parts_) {
        xml += "<Part><PartNumber>" + std::to_string(number) + "</PartNumber><ETag>" + xml_escaped(part.tag) +
               "</ETag></Part>";
    }
    return xml + "</CompleteMultipartUpload>";
}

// Asks for the object with this name. The status is 404 if it does not exist.
Response Upload::look(cleave_store_call& call) const {
    const auto make = [&] {
        Exchange exchange = store_.exchange_of("HEAD", path_);
        exchange.also = [](const Response& response) { return response.status == 404; };
        return exchange;
    };
    return store_.perform(make, call);
}

// Whether there is an object that this upload can have made.
bool Upload::is_there(cleave_store_call& call) const {
    const Response response = look(call);
    if (response.status == 404) return false;
    const std::scoped_lock lock(mutex_);
    std::uint64_t size = 0;
    std::vector<std::string> tags;
    for (const auto& [number, part] : parts_) {
        size += part.size;
        tags.push_back(part.tag);
    }
    if (number(header(response, "content-length")) != size) return false;
    const std::string& tag = header(response, "etag");
    const std::size_t hyphen = tag.rfind('-');
    const std::string expected = tag_of_parts(tags);
    if (has_md5(response) && !expected.empty() && hyphen != std::string::npos && is_md5(tag.substr(0, hyphen) + '"')) {
        return tag == expected;
    }
    return is_of_parts(tag, tags.size()).value_or(true);
}

// The same after a failure, which is what matters if this fails, too.
bool Upload::is_found_there() {
    Aftermath aftermath;
    try {
        return is_there(aftermath.call());
    } catch (const Failure&) {
        is_in_doubt_ = true;
        return false;
    }
}

void Upload::complete(bool replaces, cleave_store_call& call) {
    try {
        ask_to_complete(replaces, call);
    } catch (const Failure& failure) {
        if (!failure.may_be_done() || failure.result() == CLEAVE_STORE_TAKEN || !is_found_there()) throw;
    }
}

void Upload::ask_to_complete(bool replaces, cleave_store_call& call) {
    const std::string xml = part_list();
    const std::string hash = sha256_hex(xml);
    const auto throw_taken = [] { throw Failure(CLEAVE_STORE_TAKEN, "there is an object of that name"); };
    // For servers that do not look at the moment of completion.
    const auto throw_if_taken = [&] {
        if (look(call).status != 404) throw_taken();
    };
    bool is_conditional = !replaces && store_.location().scheme == "s3";
    if (!replaces && !is_conditional) throw_if_taken();
    const auto make = [&] {
        Exchange exchange = exchange_of("POST", bytes_of(xml), hash);
        if (is_conditional) exchange.request.headers.emplace("if-none-match", "*");
        exchange.stall_s = kCompletionStall;
        exchange.is_once = true;
        exchange.also = [&](const Response& response) {
            return is_gone(response) || response.status == 412 || response.code == "PreconditionFailed" ||
                   (is_conditional && is_unknown_request(response));
        };
        return exchange;
    };
    const auto take = [&](const Response& response) {
        if (response.status < 300 && response.code.empty()) {
            if (response.body.find("<CompleteMultipartUploadResult") != std::string::npos) return;
            throw Transient("the server does not say whether the object is complete");
        }
        if (is_conditional && is_unknown_request(response)) {
            throw_if_taken();
            is_conditional = false;
            throw Transient("the server does not know conditions", 0, false);
        }
        if (response.may_be_done && is_there(call)) return;
        if (is_gone(response)) throw_gone();
        throw_taken();
    };
    store_.perform(make, call, take);
}

void Upload::abort(cleave_store_call& call) const {
    const Response response = store_.perform([&] { return abort_exchange_of(store_, path_, id_); }, call);
    if (is_in_doubt_ && response.status == 404) {
        throw Failure(CLEAVE_STORE_ABSENT, "the upload is gone, so the object may be there");
    }
}

}  // namespace cleave::store
