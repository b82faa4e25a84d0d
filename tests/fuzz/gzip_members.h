// The members of a gzip stream by RFC 1952, found by hand: only the data of a member are left to zlib. Judges the
// decoders of the library, and sets checksums right in what a fuzzer has changed.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace cleave::test {

// A member at the front of some bytes, which may lack a part of its trailer, and whose checksums may be wrong.
struct GzipMember {
    std::string text;                       // what its data become
    std::size_t trailer = 0;                // where its CRC32 and ISIZE begin
    std::optional<std::size_t> header_crc;  // where the CRC16 of its header is, if it has one
    std::optional<std::size_t> block_size;  // where the size of a block of BGZF is, if it gives one
};

// Nothing if there is none. Its text may be 1032 times as large as its data.
std::optional<GzipMember> read_member(std::string_view bytes);

// The text of a stream of one or more members and of zeros after the last one; nothing if it is not sound.
std::optional<std::string> gunzip(std::string_view bytes);

// Sets the checksums and sizes of all members right, and completes the trailer of the last one as far as there is room.
// Returns the new size.
std::size_t mend_members(std::span<std::uint8_t> room, std::size_t size);

// As LLVMFuzzerCustomMutator, for an input that ends in a gzip stream: libFuzzer changes the input, or a member is
// copied to the end of the stream; and mostly the checksums are set right, which else would end the decoding of nearly
// every input. The same arguments always give the same result.
std::size_t mutate_gzip(std::span<std::uint8_t> room, std::size_t size, unsigned seed, std::size_t stream_at);

}  // namespace cleave::test
