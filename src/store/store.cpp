#include "store/store.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/module.h"
#include "base/module_paths.h"
#include "memory/plugin.h"
#include "store/read_ahead_file.h"

namespace cleave {
namespace {

// A function rather than a constant, which would have to be relocated whenever the command starts.
ModuleKind module_kind() {
    return {.file = "cleave_store.so",
            .function = CLEAVE_STORE_SYMBOL,
            .version = CLEAVE_STORE_VERSION,
            .size = sizeof(cleave_store_module),
            .need = "URLs need",
            .page = "doc/guide/stores.md"};
}

const cleave_store_module& open_module(const std::vector<std::string>& paths) {
    return load_module<cleave_store_module>(module_kind(), paths);
}

// One call of the module: what it may need, and how it ends.
class Call {
public:
    Call(std::string name, const Cancellation* cancellation)
        : name_(std::move(name)),
          cancellation_(cancellation),
          call_{is_cancelled, this, message_.data(), message_.size()} {}
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

    cleave_store_call* get() noexcept { return &call_; }

    void judge(cleave_store_result result) {
        message_.back() = 0;
        const std::string message = printable(message_.data());
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
        const Call& call = *static_cast<Call*>(context);
        return call.cancellation_ != nullptr && call.cancellation_->requested() ? 1 : 0;
    }

    std::string name_;
    const Cancellation* cancellation_;
    std::array<char, 256> message_{};
    cleave_store_call call_;
};

std::unique_ptr<void, void (*)(void*)> open_store(const cleave_store_module& module, const std::string& url) {
    Call call(shown_url(url), nullptr);
    void* store = nullptr;
    call.judge(module.open(url.c_str(), &store, call.get()));
    return {store, module.close};
}

class StoredObject final : public RemoteFile {
public:
    StoredObject(const cleave_store_module& module, void* store, const std::string& url,
                 const Cancellation* cancellation)
        : module_(module), name_(shown_url(url)), cancellation_(cancellation), object_(nullptr, module.release) {
        Call call(name_, cancellation);
        void* object = nullptr;
        call.judge(module.find(store, url.c_str(), &object, call.get()));
        object_.reset(object);
    }

    std::uint64_t size() const noexcept override { return module_.facts(object_.get())->size; }
    std::string version() const override { return module_.facts(object_.get())->version; }

    void read(std::uint64_t offset, std::span<std::uint8_t> into) const override {
        Call call(name_, cancellation_);
        call.judge(module_.read(object_.get(), offset, into.data(), into.size(), call.get()));
    }

private:
    const cleave_store_module& module_;
    std::string name_;
    const Cancellation* cancellation_;
    std::unique_ptr<void, void (*)(void*)> object_;
};

}  // namespace

bool is_store_url(const std::string& path) noexcept {
    const std::string_view text = path;
    switch (text.empty() ? '\0' : text.front()) {
        case 's': return text.starts_with("s3://");
        case 'g': return text.starts_with("gs://");
        case 'h': return text.starts_with("https://") || text.starts_with("http://");
        default: return false;
    }
}

std::string shown_url(const std::string& url) { return url.substr(0, url.find('?')); }

Store::Store(const std::vector<std::string>& paths, const std::string& url)
    : module_(open_module(paths)), store_(open_store(module_, url)) {}

Store::Store(const std::string& url) : Store(module_paths(module_kind().file), url) {}

std::vector<std::uint16_t> Store::ports() const {
    std::vector<std::uint16_t> ports(CLEAVE_STORE_PORTS);
    ports.resize(std::min(ports.size(), module_.ports(store_.get(), ports.data())));
    return ports;
}

std::unique_ptr<const RemoteFile> Store::find(const std::string& url, const Cancellation* cancellation) const {
    return std::make_unique<StoredObject>(module_, store_.get(), url, cancellation);
}

Input Store::open(const std::string& url, const Cancellation* cancellation, Encoding encoding) const {
    const auto open = [&](const Cancellation& stop) { return find(url, &stop); };
    return Input::of_remote(std::unique_ptr<const RemoteFile>(std::make_unique<ReadAheadFile>(open, cancellation)),
                            shown_url(url), cancellation, encoding);
}

}  // namespace cleave
