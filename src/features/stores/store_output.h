// Writes one piece to a store, in parts that are sent while the next ones are made.
//
// The bytes of an object that is in the store already are not fetched and sent: the store copies them. But it takes a
// part of less than 5 MiB only as the last one, so a piece that begins with a header begins with an uploaded part:
//
//     | header, and some of the body: 5 MiB | the rest of the body, in parts of 64 MiB |
//     '------------- uploaded --------------'------------ copied by the store ---------'
//
// A range of the input is therefore kept until it is known what follows it. If nothing does, its end may be a small
// part; otherwise, what is too small to be a part is read and goes before the bytes that follow.
//
// Whether the store copies is known only when it has been asked. The first copy is awaited, and if it is refused, its
// bytes and all others are sent.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/helpers.h"
#include "base/mutex.h"
#include "cleave/blob.h"
#include "cleave/compression.h"
#include "cleave/input.h"
#include "core/writer/encoder.h"
#include "core/writer/piece_target.h"
#include "features/stores/object_upload.h"
#include "features/stores/request_queue.h"

namespace cleave {

// Whether a store copies ranges of an input. Thread-safe.
class StoreCopies {
public:
    // `input` must outlive the object.
    explicit StoreCopies(const Input& input);

    bool may_work() const noexcept { return file_.remote != nullptr && state_ != State::kRefused; }

    // Copies a range of the input as a part. Returns false if the store refuses. Until one copy has worked, others wait
    // for it.
    bool copy(StoreUpload& upload, std::uint32_t number, BlobRange range);

    bool is_known() const noexcept { return state_ != State::kUnknown; }

    // Call this when all copies are made. Throws InputChangedError if the input may have been replaced meanwhile: not
    // every store copies only from the version that it was told.
    void check() const;

private:
    enum class State : std::uint8_t { kUnknown, kWork, kRefused };

    BlobBacking file_;
    std::atomic<State> state_ = State::kUnknown;
    Mutex first_;  // held by the first copy
};

class StoreOutput final : public PieceOutput {
public:
    static constexpr std::uint64_t kPartSize = std::uint64_t{8} << 20;   // of bytes that are sent
    static constexpr std::uint64_t kCopySize = std::uint64_t{64} << 20;  // of parts that are copied

    // The arguments must outlive the output, and `input` and `object` what the queue does with them.
    StoreOutput(RequestQueue& queue, ObjectUpload& object, const Input& input, StoreCopies& copies,
                const CompressionOptions& compression, Helpers& helpers, const Cancellation* cancellation);

    void write(std::span<const std::uint8_t> bytes) override;
    void write_body(const Input& input, const Piece& piece, std::uint64_t header_size, Meter* meter) override;
    PieceResult finish(const Piece& piece) override;

private:
    using Bytes = std::shared_ptr<std::vector<std::uint8_t>>;

    Encoder::Take putter();
    void put(std::span<const std::uint8_t> bytes);
    std::uint64_t part_size() const noexcept;
    std::uint32_t next_part();
    void settle_range(bool is_last);
    void send_buffer();
    void send_buffer_with(std::uint64_t size);
    void send_copies();
    bool copy_now(BlobRange range);
    void read_range();
    BlobRange take_range(std::uint64_t size);

    RequestQueue& queue_;
    ObjectUpload& object_;
    const Input& input_;
    StoreCopies& copies_;
    const Cancellation* cancellation_;
    std::unique_ptr<Encoder> encoder_;
    std::vector<std::uint8_t> buffer_;
    BlobRange range_{0, 0};  // of the input; follows the buffer
    std::uint32_t parts_ = 0;
    std::uint64_t written_ = 0;  // bytes of the object
};

}  // namespace cleave
