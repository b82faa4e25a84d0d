// Finds the members of a gzip stream without a library (RFC 1952); only the data of a member is left to zlib. Used to
// check the library's decoders, and to repair the checksums of streams that a fuzzer has changed.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace cleave::test {

// A member at the front of some bytes. Part of its trailer may be missing, and its checksums may be wrong.
struct GzipMember {
    std::string text;                       // its data, decompressed
    std::size_t trailer = 0;                // the offset of its CRC32 and ISIZE
    std::optional<std::size_t> header_crc;  // the offset of the CRC16 of its header, if it has one
    std::optional<std::size_t> block_size;  // the offset of the size of its BGZF block, if it has one
};

// Returns nothing if the bytes do not start with a member. The text may be 1032 times as large as the data.
std::optional<GzipMember> read_member(std::string_view bytes);

// The text of a stream of one or more members, with or without zeros after the last one; nothing if the stream is
// invalid.
std::optional<std::string> gunzip(std::string_view bytes);

// Corrects the checksums and sizes of all members, and completes the last trailer as far as there is room. Returns the
// new size.
std::size_t mend_members(std::span<std::uint8_t> room, std::size_t size);

// For LLVMFuzzerCustomMutator, for an input that ends in a gzip stream: libFuzzer changes the input, or a member is
// copied to the end of the stream. Then the checksums are usually corrected, because wrong ones would end the decoding
// of nearly every input. The same arguments always give the same result.
std::size_t mutate_gzip(std::span<std::uint8_t> room, std::size_t size, unsigned seed, std::size_t stream_at);

}  // namespace cleave::test
