#include "features/stores/object_upload.h"

#include <cerrno>
#include <system_error>
#include <utility>

#include "cleave/error.h"

namespace cleave {

ObjectUpload::ObjectUpload(const Store& store, std::string url, Present present, const Cancellation* cancellation)
    : store_(store), url_(std::move(url)), present_(present), cancellation_(cancellation) {}

StoreUpload& ObjectUpload::parts() {
    const MutexLock lock(mutex_);
    if (!upload_) {
        if (cancellation_ != nullptr) cancellation_->throw_if_requested();
        if (present_ == Present::kUnknown && store_.has(url_, cancellation_)) {
            throw SystemError(EEXIST, std::generic_category(), url_);
        }
        upload_ = std::make_unique<StoreUpload>(store_, url_, cancellation_);
        may_be_left_ = true;
    }
    return *upload_;
}

void ObjectUpload::complete() {
    is_complete_ = parts().complete(present_ == Present::kReplaced);
    if (!is_complete_) throw SystemError(EEXIST, std::generic_category(), url_);
}

void ObjectUpload::take_back() {
    const MutexLock lock(mutex_);
    if (!upload_) return;
    if (!is_complete_) {
        is_complete_ = !upload_->abort();
        if (is_complete_) return;
    } else if (present_ != Present::kReplaced) {
        store_.remove(url_, cancellation_);
    } else {
        return;
    }
    may_be_left_ = false;
}

}  // namespace cleave
