// Where StageWorker puts records: RecordWriter keeps them in memory, RecordSizer only counts their bytes. Both are
// Sinks of stage/record.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

#include "rows/memory/value_buffer.h"

namespace cleave {

// Short runs are copied kFirstPart bytes at a time, possibly past their end, if kSlack more bytes can be read. The
// output always has that much room. Most fields are no longer than the first part.
constexpr std::size_t kSlack = 64;
constexpr std::size_t kShortRun = 4 * kSlack;
constexpr std::size_t kFirstPart = 32;
constexpr std::size_t kEndPart = 4;  // the same for terminators

// Returns the end of the copy. `out` must have room for `size` + kSlack bytes.
inline std::uint8_t* copy_run(std::uint8_t* out, const std::uint8_t* from, std::size_t size,
                              const std::uint8_t* readable_end) {
    if (size <= kShortRun && size + kSlack <= static_cast<std::size_t>(readable_end - from)) {
        std::memcpy(out, from, kFirstPart);
        for (std::size_t done = kFirstPart; done < size; done += kFirstPart) {
            std::memcpy(out + done, from + done, kFirstPart);
        }
    } else {
        std::memcpy(out, from, size);
    }
    return out + size;
}

// Writes to memory. Plain data, so that it can be kept in registers.
class RecordWriter {
public:
    static constexpr bool kWrites = true;
    static constexpr bool kKeeps = true;
    static constexpr bool kGrows = true;

    RecordWriter(ValueBuffer& buffer, std::size_t size, std::span<const std::uint8_t> input)
        : buffer_(&buffer), to_(buffer.data() + size), readable_end_(input.data() + input.size()) {}

    // The number of bytes in the buffer.
    std::size_t size() const { return static_cast<std::size_t>(to_ - buffer_->data()); }
    // The bytes from `begin` onwards.
    std::span<const std::uint8_t> since(std::size_t begin) const {
        return {buffer_->data() + begin, static_cast<std::size_t>(to_ - buffer_->data()) - begin};
    }
    // Removes the bytes from `begin` onwards.
    void take_back(std::size_t begin) { to_ = buffer_->data() + begin; }

    // Announces at most `size` bytes for the next record, not counting changed values: unchanged fields, delimiters,
    // the terminator and the quotes of an empty value.
    void begin_record(std::size_t size) {
        stays_ = size;
        ensure(0);
    }
    void append(const std::uint8_t* from, std::size_t size) { to_ = copy_run(to_, from, size, readable_end_); }
    // Like append(), but for the terminator of a record, which is rarely longer than a few bytes.
    void append_end(const std::uint8_t* from, std::size_t size) {
        if (size > kEndPart || std::cmp_less(readable_end_ - from, kEndPart)) return append(from, size);
        std::memcpy(to_, from, kEndPart);
        to_ += size;
    }
    void put(std::uint8_t byte) { *to_++ = byte; }
    void put_text(const std::uint8_t* text, std::size_t size) {
        std::memcpy(room_for(size), text, size);
        commit(size);
    }
    // Returns memory for `size` more bytes. commit() says how many were written.
    [[gnu::always_inline]] std::uint8_t* room_for(std::size_t size) {
        ensure(size);
        return to_;
    }
    void commit(std::size_t size) { to_ += size; }

private:
    [[gnu::always_inline]] void ensure(std::size_t more) {
        const std::size_t done = size();
        const std::size_t wanted = more + stays_ + kSlack;
        if (buffer_->size() - done >= wanted) return;
        buffer_->reserve(done + wanted);
        to_ = buffer_->data() + done;
    }

    ValueBuffer* buffer_;
    std::uint8_t* to_;
    const std::uint8_t* readable_end_;
    std::size_t stays_ = 0;
};

// Only counts the bytes. Changed fields are written to `buffer`, where each overwrites the one before.
class RecordSizer {
public:
    static constexpr bool kWrites = false;
    static constexpr bool kKeeps = true;
    static constexpr bool kGrows = true;

    explicit RecordSizer(ValueBuffer& buffer) : buffer_(&buffer) {}

    std::size_t size() const { return size_; }
    void begin_record(std::size_t) {}
    void append(const std::uint8_t*, std::size_t size) { size_ += size; }
    void append_end(const std::uint8_t*, std::size_t size) { size_ += size; }
    void put(std::uint8_t) { ++size_; }
    void put_text(const std::uint8_t*, std::size_t size) { size_ += size; }
    std::uint8_t* room_for(std::size_t size) {
        buffer_->reserve(size);
        return buffer_->data();
    }
    void commit(std::size_t size) { size_ += size; }

private:
    ValueBuffer* buffer_;
    std::size_t size_ = 0;
};

}  // namespace cleave
