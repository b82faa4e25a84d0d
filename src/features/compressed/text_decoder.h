// Converts text to UTF-8, part by part; the parts change neither the result nor an error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "cleave/encoding.h"

namespace cleave {

// For one thread at a time.
class TextDecoder {
public:
    explicit TextDecoder(Encoding encoding) : encoding_(encoding) {}
    TextDecoder(const TextDecoder&) = delete;
    TextDecoder& operator=(const TextDecoder&) = delete;
    virtual ~TextDecoder() = default;

    // The UTF-8 of the next bytes; valid until the next call. Empty if they do not complete a character. What comes
    // before bytes that are not valid is returned first; the next call of a member throws InputError, whose text says
    // where they are. Throws std::bad_alloc.
    std::span<const std::uint8_t> decode(std::span<const std::uint8_t> bytes);

    // Throws InputError if the text ends within a character.
    void finish();

protected:
    bool has_failed() const { return !fault_.empty(); }
    std::uint64_t passed() const { return passed_; }  // bytes of the parts before
    // The byte `at` of the text is not valid.
    void fail(std::string what, std::uint64_t at) {
        fault_ = std::move(what);
        fault_at_ = at;
    }

private:
    virtual std::span<const std::uint8_t> convert(std::span<const std::uint8_t> bytes) = 0;
    virtual void end() {}
    void throw_if_failed() const;

    const Encoding encoding_;
    std::uint64_t passed_ = 0;
    std::uint64_t lines_ = 0;  // of UTF-8
    std::string fault_;
    std::uint64_t fault_at_ = 0;
};

// A byte order mark becomes that of UTF-8. If the decoder keeps what is invalid, UTF-8 passes as it is, and a byte that
// a set does not define becomes what Python's "surrogateescape" makes of it, which is not UTF-8 either. `encoding` is
// what settle_encoding() returns. Null if there is nothing to do.
std::unique_ptr<TextDecoder> make_text_decoder(Encoding encoding, bool keeps_invalid);

// How to read text that begins with `head`: kEncodingSample bytes for Encoding::kAuto, at least 4 for others, or all of
// it if `is_whole`. Throws InputError for a byte order mark that contradicts `wanted`, and if Encoding::kAuto cannot
// tell.
Encoding settle_encoding(Encoding wanted, std::span<const std::uint8_t> head, bool is_whole);

// The same for Encoding::kAuto and text without a byte order mark.
Encoding guess_encoding(std::span<const std::uint8_t> head, bool is_whole);

// How many bytes are complete characters of UTF-8, and whether the rest is the start of one.
struct ValidUtf8 {
    std::size_t size;
    bool is_cut;
};
ValidUtf8 valid_utf8(std::span<const std::uint8_t> text);

}  // namespace cleave
