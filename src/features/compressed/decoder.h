// Reads compressed streams, with the library of each format. Knows nothing about descriptors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "cleave/compression.h"

namespace cleave {

// A stream of one or more consecutive frames (zstd, lz4) or streams (xz, bzip2), or one zip archive. For one thread at
// a time.
class Decoder {
public:
    Decoder() = default;
    Decoder(const Decoder&) = delete;
    Decoder& operator=(const Decoder&) = delete;
    virtual ~Decoder() = default;

    // Takes bytes from the front of `from` and returns how many it wrote to `into`, which must not be empty. Returns 0
    // only if all of `from` was taken. Throws InputError, without a place, if the bytes are corrupt; std::bad_alloc.
    virtual std::size_t decode(std::span<const std::uint8_t>& from, std::span<std::uint8_t> into) = 0;

    // Says that no bytes follow, and returns like decode() what is still to come; 0 at the end. A decoder that decodes
    // ahead with threads of its own has something to come.
    virtual std::size_t finish(std::span<std::uint8_t> /*into*/) { return 0; }

    // Whether the bytes taken so far form a complete stream, which may end here. Call it after finish().
    virtual bool is_whole() const = 0;

    // How many threads may decode, at least 1. Has no effect after the first decode().
    virtual void set_threads(unsigned /*threads*/) {}

    // Whether the number of bytes taken says where the error is that was thrown.
    virtual bool has_place() const { return true; }
};

// `format` must be neither kNone nor kGzip, for which there is GzipReader.
std::unique_ptr<Decoder> make_decoder(Compression format);

std::unique_ptr<Decoder> make_xz_decoder();
std::unique_ptr<Decoder> make_bzip2_decoder();
std::unique_ptr<Decoder> make_lz4_decoder();
std::unique_ptr<Decoder> make_zip_decoder();

}  // namespace cleave
