#include "io/gzip_encoder.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <deque>
#include <future>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "base/helpers.h"
#include "cleave/compression.h"

namespace cleave {
namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr std::size_t kBlock = std::size_t{1} << 20;
constexpr std::size_t kDictionary = std::size_t{32} << 10;  // as far back as deflate can refer
constexpr std::size_t kBufferSize = std::size_t{128} << 10;

// A block that is made, with its header and trailer left to the member.
struct Deflated {
    Bytes bytes;
    uLong checksum = 0;    // of what was deflated
    std::size_t size = 0;  // its number of bytes
};

// Deflates one block after the other.
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

    // At most kDictionary bytes.
    void begin_block(std::span<const std::uint8_t> dictionary) {
        ::deflateReset(&stream_);
        if (!dictionary.empty()) {
            ::deflateSetDictionary(&stream_, dictionary.data(), static_cast<uInt>(dictionary.size()));
        }
    }

    // At most kBlock bytes at a time. The flush of the last ones is Z_FINISH at the end of the member, else
    // Z_SYNC_FLUSH; before them it is Z_NO_FLUSH.
    void run(std::span<const std::uint8_t> bytes, int flush, const Encoder::Take& take) {
        stream_.next_in = const_cast<std::uint8_t*>(bytes.data());  // zlib only reads it
        stream_.avail_in = static_cast<uInt>(bytes.size());
        do {
            stream_.next_out = buffer_.data();
            stream_.avail_out = static_cast<uInt>(buffer_.size());
            ::deflate(&stream_, flush);  // cannot fail: the stream is sound and there is room
            const std::size_t size = buffer_.size() - stream_.avail_out;
            if (size > 0) take(std::span(buffer_).first(size));
        } while (stream_.avail_out == 0);
    }

private:
    z_stream stream_{};
    Bytes buffer_;
};

void append(Bytes& bytes, std::span<const std::uint8_t> more) { bytes.insert(bytes.end(), more.begin(), more.end()); }

// What a helper does. `bytes` are the dictionary and the block; they are freed before the result is taken.
Deflated deflate_block(int level, Bytes bytes, std::size_t dictionary) {
    const auto block = std::span(bytes).subspan(dictionary);
    Deflated result;
    result.checksum = ::crc32_z(0, block.data(), block.size());
    result.size = block.size();
    Deflater deflater(level);
    deflater.begin_block(std::span(bytes).first(dictionary));
    deflater.run(block, Z_SYNC_FLUSH, [&](std::span<const std::uint8_t> part) { append(result.bytes, part); });
    return result;
}

class GzipEncoder : public Encoder {
public:
    GzipEncoder(int level, Helpers* helpers) : level_(level), helpers_(helpers), deflater_(level) {
        if (helpers_ != nullptr) worker_.emplace(*helpers_);
    }

    void encode(std::span<const std::uint8_t> bytes, const Take& take) override {
        while (!bytes.empty()) {
            // A block ends when there are bytes for the next one: the last one ends in another way.
            if (size_ == kBlock) end_block(take);
            if (size_ == 0) begin_block(take);
            const auto part = bytes.first(std::min(bytes.size(), kBlock - size_));
            if (is_for_helper_) {
                append(collected_, part);
            } else {
                deflate(part, Z_NO_FLUSH, take);
            }
            constexpr std::size_t kTail = kBlock - kDictionary;
            if (size_ + part.size() > kTail) append(tail_, part.subspan(size_ < kTail ? kTail - size_ : 0));
            size_ += part.size();
            bytes = bytes.subspan(part.size());
        }
    }

    void finish(const Take& take) override {
        if (size_ == 0) begin_block(take);  // of no bytes
        if (is_for_helper_) {               // which cannot be faster
            begin_own_block();
            deflate(std::span(collected_).subspan(dictionary_.size()), Z_FINISH, take);
        } else {
            deflate({}, Z_FINISH, take);
        }
        end_own_block();
        while (!waiting_.empty()) take_first(take);
        take_trailer(take);
    }

private:
    // A block that is made while an earlier one is not done.
    struct Waiting {
        std::future<Deflated> by_helper;
        Deflated by_this;  // if it is not made by a helper
    };

    void begin_block(const Take& take) {
        take_ready(take);
        dictionary_.swap(tail_);
        tail_.clear();
        is_for_helper_ = helpers_ != nullptr && helpers_->has_room();
        if (is_for_helper_) {
            collected_.reserve(kDictionary + kBlock);
            collected_.assign(dictionary_.begin(), dictionary_.end());
        } else {
            begin_own_block();
        }
    }

    void end_block(const Take& take) {
        if (is_for_helper_) {
            pass_to_helper();
        } else {
            deflate({}, Z_SYNC_FLUSH, take);
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

    void deflate(std::span<const std::uint8_t> bytes, int flush, const Take& take) {
        if (!bytes.empty()) checksum_ = ::crc32_z(checksum_, bytes.data(), bytes.size());
        deflater_.run(bytes, flush, [&](std::span<const std::uint8_t> part) {
            if (is_direct_) {
                put(part, take);
            } else {
                append(waiting_.back().by_this.bytes, part);
            }
        });
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
        const auto task = std::make_shared<std::packaged_task<Deflated()>>(
            [level = level_, bytes = std::move(collected_), dictionary = dictionary_.size()]() mutable {
                return deflate_block(level, std::move(bytes), dictionary);
            });
        waiting_.emplace_back().by_helper = task->get_future();
        if (!helpers_->try_run([task] { (*task)(); })) (*task)();  // another encoder was faster
    }

    // Takes the blocks that are done, from the front.
    void take_ready(const Take& take) {
        constexpr std::size_t kMostWaiting = 64;  // one slow block must not let the others pile up
        const auto is_ready = [](const std::future<Deflated>& block) {
            return !block.valid() || block.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
        };
        while (!waiting_.empty() && (waiting_.size() > kMostWaiting || is_ready(waiting_.front().by_helper))) {
            take_first(take);
        }
    }

    void take_first(const Take& take) {
        Waiting& first = waiting_.front();
        const Deflated block =
            first.by_helper.valid() ? first.by_helper.get() : std::move(first.by_this);  // throws what the helper threw
        waiting_.pop_front();
        put(block.bytes, take);
        count(block.checksum, block.size);
    }

    void put(std::span<const std::uint8_t> bytes, const Take& take) {
        if (!has_header_) {
            // RFC 1952: no name, no time, a hint of the level, made on Unix.
            const auto hint = static_cast<std::uint8_t>(level_ == most_level(Compression::kGzip)    ? 2
                                                        : level_ == least_level(Compression::kGzip) ? 4
                                                                                                    : 0);
            take(std::array<std::uint8_t, 10>{0x1F, 0x8B, 8, 0, 0, 0, 0, 0, hint, 3});
            has_header_ = true;
        }
        take(bytes);
    }

    void count(uLong checksum, std::size_t size) {
        member_checksum_ = ::crc32_combine(member_checksum_, checksum, static_cast<z_off_t>(size));
        member_size_ += size;
    }

    void take_trailer(const Take& take) const {
        std::array<std::uint8_t, 8> trailer{};
        for (unsigned i = 0; i < 4; ++i) {
            trailer[i] = static_cast<std::uint8_t>(member_checksum_ >> (8 * i));
            trailer[4 + i] = static_cast<std::uint8_t>(member_size_ >> (8 * i));
        }
        take(trailer);
    }

    const int level_;
    Helpers* const helpers_;
    std::optional<Helpers::Worker> worker_;
    Deflater deflater_;
    bool has_header_ = false;
    uLong member_checksum_ = 0;  // of the blocks that were taken
    std::uint64_t member_size_ = 0;
    std::deque<Waiting> waiting_;

    // Of the current block.
    std::size_t size_ = 0;
    Bytes dictionary_;
    Bytes tail_;                  // of its end, for the next block
    bool is_for_helper_ = false;  // then its bytes are collected
    Bytes collected_;             // the dictionary comes first
    bool is_direct_ = true;       // no earlier block is waiting
    uLong checksum_ = 0;          // unless it is for a helper
};

}  // namespace

std::unique_ptr<Encoder> make_gzip_encoder(int level, Helpers* helpers) {
    return std::make_unique<GzipEncoder>(level, helpers);
}

}  // namespace cleave
