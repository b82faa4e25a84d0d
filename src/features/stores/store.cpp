#include "features/stores/store.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <utility>

#include "base/content_hash.h"
#include "base/module.h"
#include "core/reader/input_parts.h"
#include "features/stores/read_ahead_file.h"

namespace cleave {
namespace {

// A function rather than a constant, which would have to be relocated whenever the command starts.
ModuleKind module_kind() {
    return {.file = "cleave_store.so",
            .function = CLEAVE_STORE_SYMBOL,
            .type = "cleave_store_module",
            .version = CLEAVE_STORE_VERSION,
            .size = sizeof(cleave_store_module),
            .need = "URLs need",
            .page = "doc/guide/stores.md, or pip install cleave-csv"};
}

const cleave_store_module& open_module(const std::vector<std::string>& paths) {
    return load_module<cleave_store_module>(module_kind(), paths);
}

// What stands for the version of an object in a FileIdentity: as many bits of its SHA-256 as an inode has.
std::uint64_t digest_of(const std::string& version) {
    ContentHash hash;
    hash.add({reinterpret_cast<const std::uint8_t*>(version.data()), version.size()});
    constexpr std::size_t kDigits = 16;
    return std::stoull(hash.digest().sha256.substr(0, kDigits), nullptr, 16);
}

using Clock = std::chrono::steady_clock;

// For how long a run that is cancelled waits for an object to be complete, and for each of those that it takes back.
constexpr std::chrono::seconds kCompletionGrace(5);
constexpr std::chrono::seconds kTakeBackGrace(30);

// One call of the module: what it may need, and how it ends. It goes on for `grace` after the cancellation.
class Call {
public:
    Call(std::string name, const Cancellation* cancellation, Clock::duration grace = {})
        : name_(std::move(name)),
          cancellation_(cancellation),
          grace_(grace),
          call_{is_cancelled, this, message_.data(), message_.size()} {}
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

    cleave_store_call* get() noexcept { return &call_; }

    void judge(cleave_store_result result) {
        const std::string message = message_.text();
        switch (result) {
            case CLEAVE_STORE_DONE: return;
            case CLEAVE_STORE_CHANGED: throw InputChangedError(message);
            case CLEAVE_STORE_UNSUPPORTED: throw InputError(message);
            case CLEAVE_STORE_INVALID: throw ArgumentError(message);
            case CLEAVE_STORE_CANCELLED: throw Cancelled();
            default: throw StoreError(name_ + ": " + message);
        }
    }

private:
    static int is_cancelled(void* context) {
        Call& call = *static_cast<Call*>(context);
        if (call.cancellation_ == nullptr || !call.cancellation_->requested()) return 0;
        const Clock::time_point now = Clock::now();
        if (!call.cancelled_) call.cancelled_ = now;
        return now >= *call.cancelled_ + call.grace_ ? 1 : 0;
    }

    std::string name_;
    const Cancellation* cancellation_;
    const Clock::duration grace_;
    std::optional<Clock::time_point> cancelled_;  // when that was noticed
    ModuleMessage message_;
    cleave_store_call call_;
};

std::unique_ptr<void, void (*)(void*)> open_store(const cleave_store_module& module, const std::string& url) {
    Call call(shown_url(url), nullptr);
    void* store = nullptr;
    call.judge(module.open(url.c_str(), &store, call.get()));
    return {store, module.close};
}

}  // namespace

class StoredObject final : public RemoteFile {
public:
    // Returns nullptr if there is no such object.
    static std::unique_ptr<const StoredObject> find(const Store& store, const std::string& url,
                                                    const Cancellation* cancellation, bool may_be_absent) {
        Call call(shown_url(url), cancellation);
        void* object = nullptr;
        const cleave_store_result result = store.module_.find(store.store_.get(), url.c_str(), &object, call.get());
        if (may_be_absent && result == CLEAVE_STORE_ABSENT) return nullptr;
        call.judge(result);
        return std::make_unique<const StoredObject>(store, url, cancellation, object);
    }

    // Owns `object`, which is the module's.
    StoredObject(const Store& store, std::string url, const Cancellation* cancellation, void* object)
        : store_(store), url_(std::move(url)), cancellation_(cancellation), object_(object, store.module_.release) {}

    std::uint64_t size() const noexcept override { return module().facts(object_.get())->size; }
    std::string version() const override { return module().facts(object_.get())->version; }
    std::string place() const override { return store_.place(url_); }

    void read(std::uint64_t offset, std::span<std::uint8_t> into) const override {
        Call call(shown_url(url_), cancellation_);
        call.judge(module().read(object_.get(), offset, into.data(), into.size(), call.get()));
    }

    std::unique_ptr<const RemoteFile> find_beside(const std::string& suffix) const override {
        return Location(url_).is_bucket() && is_told_apart() ? store_.find_present(url_ + suffix, cancellation_)
                                                             : nullptr;
    }
    void write_beside(const std::string& suffix, std::span<const std::uint8_t> bytes) const override {
        if (!is_told_apart()) throw ArgumentError("the store gives the object no ETag that tells its versions apart");
        store_.put(url_ + suffix, bytes, cancellation_);
    }

    const void* object_of(const void* other) const noexcept override {
        return other == &module() ? object_.get() : nullptr;
    }

private:
    const cleave_store_module& module() const noexcept { return store_.module_; }

    // Whether a version can be known by its bytes: what is beside a file is often about these. Weak tags and times
    // cannot.
    bool is_told_apart() const { return version().starts_with('"'); }

    const Store& store_;
    std::string url_;
    const Cancellation* cancellation_;
    std::unique_ptr<void, void (*)(void*)> object_;
};

Store::Store(const std::vector<std::string>& paths, const std::string& url)
    : module_(open_module(paths)), store_(open_store(module_, url)) {}

Store::Store(const std::string& url) : Store(module_paths(module_kind().file), url) {}

std::string Store::place(const std::string& url) const {
    Call call(shown_url(url), nullptr);
    std::array<char, CLEAVE_STORE_PLACE> place{};
    call.judge(module_.place(store_.get(), url.c_str(), place.data(), call.get()));
    return place.data();
}

std::vector<std::uint16_t> Store::ports() const {
    std::vector<std::uint16_t> ports(CLEAVE_STORE_PORTS);
    ports.resize(std::min(ports.size(), module_.ports(store_.get(), ports.data())));
    return ports;
}

std::unique_ptr<const RemoteFile> Store::find(const std::string& url, const Cancellation* cancellation) const {
    return StoredObject::find(*this, url, cancellation, false);
}

std::unique_ptr<const RemoteFile> Store::find_present(const std::string& url, const Cancellation* cancellation) const {
    return StoredObject::find(*this, url, cancellation, true);
}

void Store::put(const std::string& url, std::span<const std::uint8_t> bytes, const Cancellation* cancellation) const {
    constexpr std::size_t kPartSize = std::size_t{8} << 20;
    StoreUpload upload(*this, url, cancellation);
    try {
        std::uint32_t number = 0;
        do {
            const auto part = bytes.first(std::min(bytes.size(), kPartSize));
            upload.put(++number, part);
            bytes = bytes.subspan(part.size());
        } while (!bytes.empty());
        upload.complete(true);
    } catch (const std::exception&) {
        try {
            upload.abort();
        } catch (const std::exception&) {  // the first error says more
        }
        throw;
    }
}

void Store::remove(const std::string& url, const Cancellation* cancellation) const {
    Call call(shown_url(url), cancellation, kTakeBackGrace);
    call.judge(module_.remove(store_.get(), url.c_str(), call.get()));
}

void Store::abort_uploads(const std::string& url, const Cancellation* cancellation) const {
    Call call(shown_url(url), cancellation);
    call.judge(module_.abort_uploads(store_.get(), url.c_str(), call.get()));
}

StoreUpload::StoreUpload(const Store& store, const std::string& url, const Cancellation* cancellation)
    : module_(store.module_),
      name_(shown_url(url)),
      cancellation_(cancellation),
      upload_(nullptr, store.module_.release_upload) {
    Call call(name_, cancellation);
    void* upload = nullptr;
    call.judge(module_.begin_upload(store.store_.get(), url.c_str(), &upload, call.get()));
    upload_.reset(upload);
}

void StoreUpload::put(std::uint32_t number, std::span<const std::uint8_t> bytes) {
    Call call(name_, cancellation_);
    call.judge(module_.upload_part(upload_.get(), number, bytes.data(), bytes.size(), call.get()));
}

bool StoreUpload::copy(std::uint32_t number, const RemoteFile& file, std::uint64_t offset, std::uint64_t size) {
    const void* object = file.origin().object_of(&module_);
    if (object == nullptr) return false;
    Call call(name_, cancellation_);
    const cleave_store_result result = module_.copy_part(upload_.get(), number, object, offset, size, call.get());
    if (result == CLEAVE_STORE_UNSUPPORTED) return false;
    call.judge(result);
    return true;
}

bool StoreUpload::complete(bool replaces) {
    Call call(name_, cancellation_, kCompletionGrace);
    const cleave_store_result result = module_.complete_upload(upload_.get(), replaces ? 1 : 0, call.get());
    if (result == CLEAVE_STORE_TAKEN) return false;
    call.judge(result);
    return true;
}

bool StoreUpload::abort() {
    Call call(name_, cancellation_, kTakeBackGrace);
    const cleave_store_result result = module_.abort_upload(upload_.get(), call.get());
    if (result == CLEAVE_STORE_ABSENT) return false;
    call.judge(result);
    return true;
}

const Store& Stores::open(const Location& url) {
    const auto found = stores_.find(url.root());
    return (found != stores_.end() ? found : stores_.try_emplace(std::string(url.root()), url.name()).first)->second;
}

const Store* Stores::find(const Location& location) const noexcept {
    const auto found = stores_.empty() ? stores_.end() : stores_.find(location.root());
    return found == stores_.end() ? nullptr : &found->second;
}

bool Stores::has(std::string_view beginning) const noexcept {
    return std::ranges::any_of(stores_, [&](const auto& one) { return one.first.starts_with(beginning); });
}

std::vector<std::uint16_t> Stores::ports() const {
    std::vector<std::uint16_t> all;
    for (const auto& [root, store] : stores_) {
        const std::vector<std::uint16_t> ports = store.ports();
        all.insert(all.end(), ports.begin(), ports.end());
    }
    return all;
}

Input Store::open(const std::string& url, const Cancellation* cancellation, Encoding encoding) const {
    const auto open = [&](const Cancellation& stop) { return find(url, &stop); };
    auto file = std::make_shared<const ReadAheadFile>(open, cancellation);
    const std::uint64_t inode = digest_of(file->version());
    return InputParts::of_remote(std::move(file), inode, shown_url(url), cancellation, encoding);
}

}  // namespace cleave
