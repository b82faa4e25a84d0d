// Objects that are written in parts: S3's multipart uploads.
// (https://docs.aws.amazon.com/AmazonS3/latest/userguide/mpuoverview.html)
//
// The store keeps the parts, and makes the object of them when it is told their entity tags. A part that is sent again
// replaces the one before, so an answer that was lost does no harm there. Two requests have an effect that must not be
// taken for somebody else's when they are repeated:
//   begin     may leave an upload whose ID nobody knows. Uploads of this name with other IDs are aborted then.
//   complete  may have created the object already. The second answer then says that the upload does not exist, or that
//             the object does. The object is this upload's if its size and its tag are those that the parts make; if
//             the tag does not say that much, the number of parts or the size alone decides.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "features/stores/store_module.h"
#include "store.h"

namespace cleave::store {

// Any thread may use it, and send and copy parts at the same time. All functions throw Failure. The store outlives it.
class Upload {
public:
    static std::unique_ptr<Upload> begin(Store& store, const std::string& url, cleave_store_call& call);
    // Aborts all uploads of this name.
    static void abort_all(Store& store, const std::string& url, cleave_store_call& call);

    void send(std::uint32_t number, std::span<const std::uint8_t> bytes, cleave_store_call& call);
    // The store copies the range. The failure is UNSUPPORTED, mostly without a request, if it cannot.
    void copy(std::uint32_t number, const Object& source, std::uint64_t offset, std::uint64_t size,
              cleave_store_call& call);
    // The failure is TAKEN if there is such an object, unless it `replaces` it.
    void complete(bool replaces, cleave_store_call& call);
    // Succeeds if the upload no longer exists, unless it may have become the object: then the failure is ABSENT.
    void abort(cleave_store_call& call) const;

private:
    struct Part {
        std::string tag;  // in quotes
        std::uint64_t size = 0;
    };

    Upload(Store& store, std::string path, std::string id);

    Exchange exchange_of(std::string method, std::span<const std::uint8_t> body, const std::string& body_hash) const;
    Exchange part_exchange_of(std::uint32_t number, std::span<const std::uint8_t> body,
                              const std::string& body_hash) const;
    void keep(std::uint32_t number, std::string tag, std::uint64_t size);
    std::string part_list() const;
    Response look(cleave_store_call& call) const;
    bool is_there(cleave_store_call& call) const;
    void ask_to_complete(bool replaces, cleave_store_call& call);
    bool is_found_there();

    Store& store_;
    const std::string path_;
    const std::string id_;
    mutable std::mutex mutex_;
    std::map<std::uint32_t, Part> parts_;   // by number; under mutex_
    std::atomic<bool> is_in_doubt_{false};  // whether the object is complete
};

}  // namespace cleave::store
