// An object that a run writes: a piece, a manifest or a report. Nobody sees it before it is complete.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/mutex.h"
#include "features/stores/store.h"

namespace cleave {

// What is to be done if there is an object of the name already.
enum class Present : std::uint8_t {
    kUnknown,  // look, before anything is sent, and fail
    kNone,     // somebody has looked, and there was none; fail if there is one now
    kReplaced  // replace it
};

// Thread-safe, but for the constructor, complete() and take_back().
class ObjectUpload {
public:
    // The arguments must outlive the object.
    ObjectUpload(const Store& store, std::string url, Present present, const Cancellation* cancellation);
    ObjectUpload(const ObjectUpload&) = delete;
    ObjectUpload& operator=(const ObjectUpload&) = delete;

    const std::string& url() const noexcept { return url_; }

    // The upload, which the first call begins. Throws StoreError, ArgumentError, Cancelled, and SystemError (EEXIST).
    StoreUpload& parts();

    // Makes the object visible. Its parts are all there. Throws StoreError, Cancelled, and SystemError (EEXIST).
    void complete();

    // Whether the object is there, or may be. For the thread that has waited for complete() or take_back().
    bool is_complete() const noexcept { return is_complete_; }

    // Aborts the upload, or removes the object if it is complete. An object that may have replaced another one stays,
    // because that one cannot be had back. If the upload turns out to have become the object, perhaps, that is all:
    // is_complete() is true then, and another call removes it. Throws StoreError, Cancelled.
    void take_back();
    // Whether something may be in the store after take_back(). For the thread that has waited for it.
    bool may_be_left() const noexcept { return may_be_left_; }

private:
    const Store& store_;
    const std::string url_;
    const Present present_;
    const Cancellation* cancellation_;
    Mutex mutex_;
    std::unique_ptr<StoreUpload> upload_ CLEAVE_GUARDED_BY(mutex_);
    bool is_complete_ = false;
    bool may_be_left_ = false;
};

}  // namespace cleave
