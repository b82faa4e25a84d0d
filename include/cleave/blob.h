// Bytes with random access, in memory or in a file. For bytes in order, see stream.h. Knows nothing about CSV.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

#include "cleave/error.h"

namespace cleave {

// A temporary that owns its bytes, such as a vector returned by a function. Everything that keeps a view of bytes
// rejects one at compile time, because the view would outlive the bytes.
template <class T>
concept TemporaryBytes = !std::is_lvalue_reference_v<T> && !std::ranges::enable_borrowed_range<std::remove_cv_t<T>> &&
                         std::is_convertible_v<T, std::span<const std::uint8_t>>;

// A part of a blob.
struct BlobRange {
    std::uint64_t offset;
    std::uint64_t size;
};

class RemoteFile;

// The file that holds a blob's bytes as they are, and where they begin in it. At most one of the two is set.
struct BlobBacking {
    int descriptor = -1;                 // of a local file, or -1
    const RemoteFile* remote = nullptr;  // such as an object in a store
    std::uint64_t offset = 0;
};

// All members may be called from any thread.
class Blob {
public:
    Blob() = default;
    Blob(const Blob&) = delete;
    Blob& operator=(const Blob&) = delete;
    virtual ~Blob() = default;

    virtual std::uint64_t size() const noexcept = 0;

    // The bytes [offset, offset + size), or ArgumentError if they are not within the blob: either a view, valid for as
    // long as the blob exists, or a copy in `buffer`, valid until `buffer` is changed. Each thread needs its own
    // buffer. Throws SystemError, and InputChangedError if the file has become shorter.
    virtual std::span<const std::uint8_t> lend(std::uint64_t offset, std::size_t size,
                                               std::vector<std::uint8_t>& buffer) const = 0;

    // Fills `into` with the bytes from `offset` on. A file is read with pread(), even if it is mapped, so that no
    // signal is raised if it has become shorter. Throws what lend() and throw_if_lost() throw.
    virtual void read(std::uint64_t offset, std::span<std::uint8_t> into) const {
        std::vector<std::uint8_t> buffer;
        const auto bytes = lend(offset, into.size(), buffer);
        if (!bytes.empty()) std::memcpy(into.data(), bytes.data(), bytes.size());
        throw_if_lost();
    }

    // The bytes [offset, offset + size), which are within the blob, if a file is mapped; otherwise empty.
    virtual std::span<const std::uint8_t> mapped(std::uint64_t /*offset*/, std::uint64_t /*size*/) const noexcept {
        return {};
    }

    virtual BlobBacking backing() const noexcept { return {}; }

    // Says that the bytes of this range, which are within the blob, will soon be read, roughly in order. A remote file
    // is then fetched in larger parts, many at a time, but none of it beyond the range.
    virtual void will_read(BlobRange /*range*/) const noexcept {}

    // How many bytes are best asked for at once by a thread that reads a long range alone.
    virtual std::uint64_t best_size() const noexcept { return std::uint64_t{1} << 20; }

    // How many bytes from `offset` on, at most `size`, are best asked for at once: fewer than `size` where lend() would
    // have to put the rest together.
    virtual std::uint64_t unbroken(std::uint64_t /*offset*/, std::uint64_t size) const { return size; }

    // Throws InputChangedError if lent bytes could not be read and read as zeros instead. Cheap: call it after reading
    // the bytes of each lend().
    virtual void throw_if_lost() const {}

    // Throws what Input::throw_if_changed() throws if the bytes may have changed.
    virtual void throw_if_changed() const {}

protected:
    // For lend().
    void check_range(std::uint64_t offset, std::size_t size) const {
        if (offset > this->size() || size > this->size() - offset) {
            throw ArgumentError("blob: these bytes are not within it");
        }
    }
};

// Bytes in memory, which must outlive the blob.
class MemoryBlob final : public Blob {
public:
    explicit MemoryBlob(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}
    explicit MemoryBlob(TemporaryBytes auto&& bytes) = delete;

    std::uint64_t size() const noexcept override { return bytes_.size(); }
    std::span<const std::uint8_t> lend(std::uint64_t offset, std::size_t size,
                                       std::vector<std::uint8_t>& /*buffer*/) const override {
        check_range(offset, size);
        return bytes_.subspan(offset, size);
    }

private:
    std::span<const std::uint8_t> bytes_;
};

// A range of another blob, which must outlive it.
class RangeBlob final : public Blob {
public:
    // Throws ArgumentError if the range is not within the blob.
    RangeBlob(const Blob& blob, std::uint64_t begin, std::uint64_t end) : blob_(&blob), begin_(begin), end_(end) {
        if (begin > end || end > blob.size()) throw ArgumentError("range: it is not within the blob");
    }
    RangeBlob(const Blob&& blob, std::uint64_t begin, std::uint64_t end) = delete;

    std::uint64_t size() const noexcept override { return end_ - begin_; }
    std::span<const std::uint8_t> lend(std::uint64_t offset, std::size_t size,
                                       std::vector<std::uint8_t>& buffer) const override {
        check_range(offset, size);
        return blob_->lend(begin_ + offset, size, buffer);
    }
    void read(std::uint64_t offset, std::span<std::uint8_t> into) const override {
        check_range(offset, into.size());
        blob_->read(begin_ + offset, into);
    }
    std::span<const std::uint8_t> mapped(std::uint64_t offset, std::uint64_t size) const noexcept override {
        return blob_->mapped(begin_ + offset, size);
    }
    BlobBacking backing() const noexcept override {
        BlobBacking backing = blob_->backing();
        backing.offset += begin_;
        return backing;
    }
    void will_read(BlobRange range) const noexcept override { blob_->will_read({begin_ + range.offset, range.size}); }
    std::uint64_t best_size() const noexcept override { return blob_->best_size(); }
    void throw_if_lost() const override { blob_->throw_if_lost(); }
    void throw_if_changed() const override { blob_->throw_if_changed(); }

private:
    const Blob* blob_;
    std::uint64_t begin_;
    std::uint64_t end_;
};

}  // namespace cleave
