#include "features/compressed/gzip_encoder.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <deque>
#include <memory>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "base/helpers.h"
#include "cleave/cancel.h"
#include "cleave/compression.h"
#include "cleave/error.h"

namespace cleave {
namespace {

using Buffer = std::vector<std::uint8_t>;

// Starting a block with its dictionary takes 0.03 ms (Zen 4), a thousandth of the time that the block takes at level 6.
constexpr std::size_t kBlock = std::size_t{2} << 20;
constexpr std::size_t kDictionary = std::size_t{32} << 10;  // the furthest that deflate can refer back
constexpr std::size_t kBufferSize = std::size_t{128} << 10;

// A block, and what it contributes to the member's trailer.
struct Deflated {
    Buffer bytes;
    uLong checksum = 0;    // of the bytes before deflating
    std::size_t size = 0;  // the number of those bytes
};

// When to give up work.
struct Stop {
    const Cancellation* cancellation = nullptr;
    std::shared_ptr<std::atomic<bool>> is_dropped = std::make_shared<std::atomic<bool>>(false);  // the encoder is gone

    void throw_if_requested() const {
        if (*is_dropped) throw Cancelled();
        if (cancellation != nullptr) cancellation->throw_if_requested();
    }
};

// Deflates blocks, one after the other.
class Deflater {
public:
    explicit Deflater(int level) : buffer_(kBufferSize) {
        constexpr int kRaw = -MAX_WBITS;  // zlib.h: without header and checksum
        constexpr int kMemoryLevel = 8;   // zlib's default
        if (::deflateInit2(&stream_, level, Z_DEFLATED, kRaw, kMemoryLevel, Z_DEFAULT_STRATEGY) != Z_OK) {
            throw std::bad_alloc();
        }
    }
    Deflater(const Deflater&) = delete;
    Deflater& operator=(const Deflater&) = delete;
    ~Deflater() { ::deflateEnd(&stream_); }

    // `dictionary` has at most kDictionary bytes.
    void begin_block(std::span<const std::uint8_t> dictionary) {
        if (!dictionary.empty()) {
            ::deflateSetDictionary(&stream_, dictionary.data(), static_cast<uInt>(dictionary.size()));
        }
    }

    // Adds bytes to the block. If `stop` throws, so does add(), and the block is incomplete.
    void add(std::span<const std::uint8_t> bytes, const Stop& stop, const Encoder::Take& take) {
        constexpr std::size_t kPart = std::size_t{64} << 10;
        while (!bytes.empty()) {
            stop.throw_if_requested();
            const auto part = bytes.first(std::min(bytes.size(), kPart));
            run(part, Z_NO_FLUSH, take);
            bytes = bytes.subspan(part.size());
        }
    }
    void end_block(const Encoder::Take& take) {
        end(Z_SYNC_FLUSH, take);
        ::deflateReset(&stream_);
    }
    void end_last_block(const Encoder::Take& take) { end(Z_FINISH, take); }

private:
    // Empties the buffer first, so that zlib has more room than it needs to end a block: with less, it could write the
    // end marker twice.
    void end(int flush, const Encoder::Take& take) {
        empty(take);
        run({}, flush, take);
        empty(take);
    }

    void run(std::span<const std::uint8_t> bytes, int flush, const Encoder::Take& take) {
        stream_.next_in = const_cast<std::uint8_t*>(bytes.data());  // zlib only reads it
        stream_.avail_in = static_cast<uInt>(bytes.size());
        for (;;) {
            stream_.next_out = buffer_.data() + used_;
            stream_.avail_out = static_cast<uInt>(buffer_.size() - used_);
            ::deflate(&stream_, flush);  // cannot fail: the stream is sound and there is room
            used_ = buffer_.size() - stream_.avail_out;
            if (stream_.avail_out > 0) return;
            empty(take);
        }
    }

    void empty(const Encoder::Take& take) {
        if (used_ > 0) take(std::span(buffer_).first(used_));
        used_ = 0;
    }

    z_stream stream_{};
    Buffer buffer_;
    std::size_t used_ = 0;  // bytes of buffer_
};

void append(Buffer& bytes, std::span<const std::uint8_t> more) { bytes.insert(bytes.end(), more.begin(), more.end()); }

// A block that a helper deflates.
class Job {
public:
    // `bytes` is the dictionary followed by the block.
    Job(int level, Buffer bytes, std::size_t dictionary, Stop stop)
        : level_(level), bytes_(std::move(bytes)), dictionary_(dictionary), stop_(std::move(stop)) {}

    // Call this once, from any thread.
    void run() noexcept {
        try {
            deflate();
        } catch (const std::bad_alloc&) {
            lacks_memory_ = true;
        } catch (const Cancelled&) {
            is_cancelled_ = true;
        }
        is_done_ = true;
        is_done_.notify_one();
    }

    bool is_done() const noexcept { return is_done_; }

    // Waits for the result. If the helper ran out of memory, this thread deflates the block. Throws std::bad_alloc,
    // Cancelled.
    Deflated take() {
        is_done_.wait(false);
        if (is_cancelled_) throw Cancelled();
        if (lacks_memory_) deflate();
        return std::move(result_);
    }

private:
    void deflate() {
        const auto block = std::span(bytes_).subspan(dictionary_);
        result_ = {};
        result_.checksum = ::crc32_z(0, block.data(), block.size());
        result_.size = block.size();
        Deflater deflater(level_);
        deflater.begin_block(std::span(bytes_).first(dictionary_));
        const auto take = [this](std::span<const std::uint8_t> part) { append(result_.bytes, part); };
        deflater.add(block, stop_, take);
        deflater.end_block(take);
        Buffer().swap(bytes_);  // the result may be kept for a long time
    }

    const int level_;
    Buffer bytes_;
    const std::size_t dictionary_;
    const Stop stop_;
    Deflated result_;
    bool lacks_memory_ = false;
    bool is_cancelled_ = false;
    std::atomic<bool> is_done_ = false;
};

class GzipEncoder : public Encoder {
public:
    GzipEncoder(int level, Helpers* helpers, const Cancellation* cancellation)
        : level_(level), helpers_(helpers), stop_{cancellation}, deflater_(level) {
        if (helpers_ != nullptr) worker_.emplace(*helpers_);
        // RFC 1952: no name, no time, a hint about the level, made on Unix.
        const auto hint = static_cast<std::uint8_t>(level_ == most_level(Compression::kGzip)    ? 2
                                                    : level_ == least_level(Compression::kGzip) ? 4
                                                                                                : 0);
        output_ = {0x1F, 0x8B, 8, 0, 0, 0, 0, 0, hint, 3};
    }
    GzipEncoder(const GzipEncoder&) = delete;
    GzipEncoder& operator=(const GzipEncoder&) = delete;
    ~GzipEncoder() override { *stop_.is_dropped = true; }

    void encode(std::span<const std::uint8_t> bytes, const Take& take) override {
        while (!bytes.empty()) {
            // A block is ended only once there are bytes for the next one, because the last block ends in a different
            // way.
            if (size_ == kBlock) end_block(take);
            if (size_ == 0) begin_block(take);
            const auto part = bytes.first(std::min(bytes.size(), kBlock - size_));
            if (is_for_helper_) {
                append(collected_, part);
            } else {
                deflate(part, take);
            }
            constexpr std::size_t kTail = kBlock - kDictionary;
            if (size_ + part.size() > kTail) append(tail_, part.subspan(size_ < kTail ? kTail - size_ : 0));
            size_ += part.size();
            bytes = bytes.subspan(part.size());
        }
    }

    void finish(const Take& take) override {
        if (size_ == 0) begin_block(take);  // an empty block
        if (is_for_helper_) {               // this thread has no other block to deflate in the meantime
            begin_own_block();
            deflate(std::span(collected_).subspan(dictionary_.size()), take);
        }
        deflater_.end_last_block(taker(take));
        end_own_block();
        while (!waiting_.empty()) take_first(take);
        put_trailer(take);
        empty(take);
    }

private:
    // A block that is deflated while an earlier one is unfinished.
    struct Waiting {
        std::shared_ptr<Job> by_helper;
        Deflated by_this;  // if no helper deflates it
    };

    void begin_block(const Take& take) {
        take_ready(take);
        dictionary_.swap(tail_);
        tail_.clear();
        // This thread deflates the first block, because most members have only one.
        is_for_helper_ = helpers_ != nullptr && !dictionary_.empty() && helpers_->has_room() && begin_collecting();
        if (!is_for_helper_) begin_own_block();
    }

    // Returns false if there is too little memory. This thread then does without help.
    bool begin_collecting() {
        try {
            collected_.reserve(kDictionary + kBlock);
        } catch (const std::bad_alloc&) {
            return false;
        }
        collected_.assign(dictionary_.begin(), dictionary_.end());
        return true;
    }

    void end_block(const Take& take) {
        if (is_for_helper_) {
            pass_to_helper();
        } else {
            deflater_.end_block(taker(take));
            end_own_block();
        }
        size_ = 0;
    }

    void begin_own_block() {
        deflater_.begin_block(dictionary_);
        checksum_ = 0;
        is_direct_ = waiting_.empty();
        if (!is_direct_) waiting_.emplace_back();
    }

    void deflate(std::span<const std::uint8_t> bytes, const Take& take) {
        if (!bytes.empty()) checksum_ = ::crc32_z(checksum_, bytes.data(), bytes.size());
        deflater_.add(bytes, stop_, taker(take));
    }

    // Returns the function that takes the bytes of this thread's block.
    Take taker(const Take& take) {
        if (is_direct_) return [&](std::span<const std::uint8_t> part) { put(part, take); };
        return [this](std::span<const std::uint8_t> part) { append(waiting_.back().by_this.bytes, part); };
    }

    void end_own_block() {
        if (is_direct_) {
            count(checksum_, size_);
        } else {
            waiting_.back().by_this.checksum = checksum_;
            waiting_.back().by_this.size = size_;
        }
    }

    void pass_to_helper() {
        const auto job = std::make_shared<Job>(level_, std::move(collected_), dictionary_.size(), stop_);
        waiting_.emplace_back().by_helper = job;
        if (!helpers_->try_run([job] { job->run(); })) job->run();  // another encoder was faster
    }

    // Takes the finished blocks, from the front. Waits for a slow block rather than letting the other blocks pile up.
    void take_ready(const Take& take) {
        const auto is_ready = [](const Waiting& block) { return !block.by_helper || block.by_helper->is_done(); };
        while (!waiting_.empty() && (waiting_.size() > helpers_->threads() || is_ready(waiting_.front()))) {
            take_first(take);
        }
    }

    void take_first(const Take& take) {
        Waiting& first = waiting_.front();
        const Deflated block = first.by_helper ? first.by_helper->take() : std::move(first.by_this);
        waiting_.pop_front();
        put(block.bytes, take);
        count(block.checksum, block.size);
    }

    void put(std::span<const std::uint8_t> bytes, const Take& take) {
        if (output_.size() + bytes.size() > kBufferSize) empty(take);
        if (bytes.size() < kBufferSize) {
            append(output_, bytes);
        } else {
            take(bytes);
        }
    }

    void empty(const Take& take) {
        if (!output_.empty()) take(output_);
        output_.clear();
    }

    void count(uLong checksum, std::size_t size) {
        member_checksum_ = ::crc32_combine(member_checksum_, checksum, static_cast<z_off_t>(size));
        member_size_ += size;
    }

    void put_trailer(const Take& take) {
        std::array<std::uint8_t, 8> trailer{};
        for (unsigned i = 0; i < 4; ++i) {
            trailer[i] = static_cast<std::uint8_t>(member_checksum_ >> (8 * i));
            trailer[4 + i] = static_cast<std::uint8_t>(member_size_ >> (8 * i));
        }
        put(trailer, take);
    }

    const int level_;
    Helpers* const helpers_;
    std::optional<Helpers::Worker> worker_;
    const Stop stop_;
    Deflater deflater_;
    Buffer output_;              // bytes of the member that have yet to be passed on
    uLong member_checksum_ = 0;  // of the blocks taken so far
    std::uint64_t member_size_ = 0;
    std::deque<Waiting> waiting_;

    // The current block.
    std::size_t size_ = 0;
    Buffer dictionary_;
    Buffer tail_;                 // the end of the block, which is the dictionary of the next block
    bool is_for_helper_ = false;  // if so, its bytes are collected
    Buffer collected_;            // preceded by the dictionary
    bool is_direct_ = true;       // no earlier block is waiting
    uLong checksum_ = 0;          // unused if the block is for a helper
};

}  // namespace

std::unique_ptr<Encoder> make_gzip_encoder(int level, Helpers* helpers, const Cancellation* cancellation) {
    return std::make_unique<GzipEncoder>(level, helpers, cancellation);
}

}  // namespace cleave
