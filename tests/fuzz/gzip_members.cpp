#include "gzip_members.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <new>

#include "inputs.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace cleave::test {
namespace {

constexpr std::size_t kTrailerSize = 8;

std::uint32_t number_at(std::string_view bytes, std::size_t at, std::size_t size) {
    std::uint32_t number = 0;
    for (std::size_t i = size; i > 0; --i) number = number << 8 | static_cast<unsigned char>(bytes[at + i - 1]);
    return number;
}

void store(std::span<std::uint8_t> bytes, std::size_t at, std::size_t size, std::uint64_t number) {
    for (std::size_t i = 0; i < size; ++i) bytes[at + i] = static_cast<std::uint8_t>(number >> (8 * i));
}

std::uint32_t crc_of(std::string_view bytes) {
    return static_cast<std::uint32_t>(
        ::crc32(0, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(bytes.size())));
}

// The BC subfield of the extra field bytes[at, end), if its sizes fit.
std::optional<std::size_t> find_block_size(std::string_view bytes, std::size_t at, std::size_t end) {
    while (at + 4 <= end) {
        const std::size_t size = number_at(bytes, at + 2, 2);
        if (at + 4 + size > end) return std::nullopt;
        if (bytes.substr(at, 2) == "BC" && size == 2) return at + 4;
        at += 4 + size;
    }
    return std::nullopt;
}

// Where the member's data begins; 0 if its header is incomplete or invalid.
std::size_t read_header(std::string_view bytes, GzipMember& member) {
    constexpr unsigned kHasHeaderCrc = 2;
    constexpr unsigned kHasExtra = 4;
    constexpr unsigned kHasName = 8;
    constexpr unsigned kHasComment = 16;
    constexpr unsigned kReserved = 0xE0;
    if (bytes.size() < 10 || !bytes.starts_with("\x1F\x8B\x08")) return 0;
    const auto flags = static_cast<unsigned char>(bytes[3]);
    if ((flags & kReserved) != 0) return 0;
    std::size_t at = 10;
    if ((flags & kHasExtra) != 0) {
        if (bytes.size() < at + 2) return 0;
        const std::size_t end = at + 2 + number_at(bytes, at, 2);
        if (bytes.size() < end) return 0;
        member.block_size = find_block_size(bytes, at + 2, end);
        at = end;
    }
    for (const unsigned flag : {kHasName, kHasComment}) {
        if ((flags & flag) == 0) continue;
        const std::size_t end = bytes.find('\0', at);
        if (end == std::string_view::npos) return 0;
        at = end + 1;
    }
    if ((flags & kHasHeaderCrc) != 0) {
        if (bytes.size() < at + 2) return 0;
        member.header_crc = at;
        at += 2;
    }
    return at;
}

}  // namespace

std::optional<GzipMember> read_member(std::string_view bytes) {
    GzipMember member;
    const std::size_t data = read_header(bytes, member);
    if (data == 0) return std::nullopt;
    z_stream stream{};
    if (::inflateInit2(&stream, -MAX_WBITS) != Z_OK) throw std::bad_alloc();
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data() + data));  // zlib only reads it
    stream.avail_in = static_cast<uInt>(bytes.size() - data);
    std::array<char, 4096> part{};
    int result = Z_OK;
    do {
        stream.next_out = reinterpret_cast<Bytef*>(part.data());
        stream.avail_out = part.size();
        result = ::inflate(&stream, Z_NO_FLUSH);
        member.text.append(part.data(), part.size() - stream.avail_out);
    } while (result == Z_OK);
    member.trailer = bytes.size() - stream.avail_in;
    ::inflateEnd(&stream);
    if (result != Z_STREAM_END) return std::nullopt;
    return member;
}

std::optional<std::string> gunzip(std::string_view bytes) {
    std::string text;
    do {
        const std::optional<GzipMember> member = read_member(bytes);
        if (!member || bytes.size() < member->trailer + kTrailerSize) return std::nullopt;
        if (member->header_crc) {
            const std::size_t at = *member->header_crc;
            if (number_at(bytes, at, 2) != (crc_of(bytes.substr(0, at)) & 0xFFFFU)) return std::nullopt;
        }
        if (number_at(bytes, member->trailer, 4) != crc_of(member->text)) return std::nullopt;
        if (number_at(bytes, member->trailer + 4, 4) != member->text.size()) return std::nullopt;
        text += member->text;
        bytes.remove_prefix(member->trailer + kTrailerSize);
    } while (!bytes.empty() && bytes.front() != '\0');
    const bool is_padding = bytes.find_first_not_of('\0') == std::string_view::npos;
    return is_padding ? std::optional(text) : std::nullopt;
}

std::size_t mend_members(std::span<std::uint8_t> room, std::size_t size) {
    for (std::size_t begin = 0; begin < size;) {
        const auto bytes = room.subspan(begin);
        const std::string_view seen(reinterpret_cast<const char*>(bytes.data()), size - begin);
        const std::optional<GzipMember> member = read_member(seen);
        if (!member || bytes.size() < member->trailer + kTrailerSize) return size;
        const std::size_t end = member->trailer + kTrailerSize;
        store(bytes, member->trailer, 4, crc_of(member->text));
        store(bytes, member->trailer + 4, 4, member->text.size());
        if (member->block_size) store(bytes, *member->block_size, 2, end - 1);
        if (member->header_crc) store(bytes, *member->header_crc, 2, crc_of(seen.substr(0, *member->header_crc)));
        begin += end;
        size = std::max(size, begin);
    }
    return size;
}

std::size_t mutate_gzip(std::span<std::uint8_t> room, std::size_t size, unsigned seed, std::size_t stream_at) {
    Random random(seed);
    const auto stream = room.subspan(std::min(stream_at, room.size()));
    const std::size_t stream_size = size - std::min(stream_at, size);
    const std::string bytes(stream.begin(), stream.begin() + static_cast<std::ptrdiff_t>(stream_size));
    const std::optional<GzipMember> member = read_member(bytes);
    if (member && random.chance(10)) {
        const std::string copy = bytes.substr(0, member->trailer + kTrailerSize);
        if (copy.size() <= stream.size() - stream_size) {
            std::ranges::copy(copy, stream.begin() + static_cast<std::ptrdiff_t>(stream_size));
            size += copy.size();
        }
    } else {
        size = LLVMFuzzerMutate(room.data(), size, room.size());
    }
    if (size <= stream_at || random.chance(20)) return size;
    return stream_at + mend_members(stream, size - stream_at);
}

}  // namespace cleave::test
