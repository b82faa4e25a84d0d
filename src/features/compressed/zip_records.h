// The records of a zip archive (APPNOTE.TXT, version 6.3.10), apart from the data of its members:
//
//     header, data, [descriptor]                for each member
//     entry of the directory                    for each member
//     [large end, locator] end, comment
//
// Only reads fields. It is the callers who compare them with the data and with each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/reader/source.h"

namespace cleave {

class ZipRecord {
public:
    enum class Kind : std::uint8_t { kHeader, kEntry, kLargeEnd, kLocator, kEnd };

    // Looks at the front of `bytes`, which has at least kMagic bytes. Returns nothing if no record begins there.
    static std::optional<ZipRecord> find(std::span<const std::uint8_t> bytes) noexcept;
    static constexpr std::size_t kMagic = 4;

    Kind kind() const noexcept { return kind_; }
    // The size of the record, or at least kLeast if `bytes` has too few for its size.
    std::size_t size() const noexcept { return size_; }

private:
    ZipRecord(Kind kind, std::size_t size) : kind_(kind), size_(size) {}

    Kind kind_;
    std::size_t size_;
};

// What a header or an entry says about a member.
struct ZipMember {
    std::string name;  // any bytes
    unsigned flags = 0;
    unsigned method = 0;
    std::uint32_t checksum = 0;
    std::uint64_t packed_size = 0;
    std::uint64_t size = 0;
    std::uint64_t offset = 0;  // of the header; only an entry contains it

    bool is_encrypted() const noexcept { return (flags & 1U) != 0; }
    // The checksum and the sizes follow the data.
    bool has_descriptor() const noexcept { return (flags & 8U) != 0; }
    bool is_folder() const noexcept { return name.ends_with('/'); }
    // Whether the member counts as one of the archive's files. macOS adds folders of its own.
    bool is_file() const noexcept {
        return !is_folder() && !name.starts_with("__MACOSX/") && name != ".DS_Store" && !name.ends_with("/.DS_Store");
    }
};

// Reads a header or an entry, of which `record` has all bytes. Returns nothing if sizes are missing.
std::optional<ZipMember> member_of(ZipRecord::Kind kind, std::span<const std::uint8_t> record);

// The size of the descriptor at the front of `bytes`; 0 if there is none that agrees with `member` and is followed by
// another record. Its signature is optional, and nothing says reliably whether its sizes have 4 or 8 bytes, so every
// form is tried. `bytes` has kMostDescriptor bytes, which any archive has after the data of a member.
constexpr std::size_t kMostDescriptor = 28;  // with the signature of the next record
std::size_t descriptor_size(std::span<const std::uint8_t> bytes, const ZipMember& member) noexcept;

// What one of the two kinds of ends says about the directory.
struct ZipDirectory {
    std::uint64_t entries = 0;
    std::uint64_t size = 0;
    std::uint64_t offset = 0;

    bool operator==(const ZipDirectory&) const = default;
    // The same for kEnd after a large end, which may contain the largest number that fits in place of any number.
    bool agrees_with(const ZipDirectory& large) const noexcept;
};

// Returns nothing if the archive has several volumes, or a kLargeEnd more than the usual fields.
std::optional<ZipDirectory> directory_of(ZipRecord::Kind kind, std::span<const std::uint8_t> record) noexcept;

// Where the large end is, according to the locator.
std::uint64_t located_by(std::span<const std::uint8_t> locator) noexcept;

// The suffix of the first file's name in the archive that begins with `head`, such as ".csv"; empty if the name has
// none of 1 to 8 letters and digits, or if it cannot be found without decoding. `needed` is set to how many bytes it
// takes to tell, at most those of `head` once it is known.
std::string suffix_of_first_file(std::span<const std::uint8_t> head, std::size_t& needed);

// An error text. `count` is the number of files, some of which are named; 0 if it is unknown.
std::string several_files_text(const std::vector<std::string>& names, std::uint64_t count);

// Looks at the directory of a zip archive that is a file, before its data is read.

// Throws InputError if the directory at the end of the archive lists several files. Their names are then known before
// the first of them has been decoded. Does nothing if it finds no directory: the decoder judges the archive. Throws
// what Source::read_at() throws, and std::bad_alloc.
void refuse_several_files(const Source& source);

}  // namespace cleave
