#include "features/compressed/zip_records.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <vector>

#include "base/bits.h"
#include "base/text_bytes.h"
#include "cleave/compression.h"
#include "cleave/error.h"
#include "core/reader/fd.h"

namespace cleave {
namespace {

using Bytes = std::span<const std::uint8_t>;
using Kind = ZipRecord::Kind;

constexpr std::uint64_t kLargest2 = 0xFFFF;
constexpr std::uint64_t kLargest4 = 0xFFFFFFFF;

std::uint64_t number_at(Bytes bytes, std::size_t offset, std::size_t size) noexcept {
    return number_in(bytes.subspan(offset, size));
}

std::size_t size_at(Bytes bytes, std::size_t offset) noexcept {
    return static_cast<std::size_t>(number_at(bytes, offset, 2));
}

struct Shape {
    std::uint8_t magic[2];  // after PK
    Kind kind;
    std::size_t size;                     // without the parts whose sizes are at these offsets
    std::array<std::size_t, 3> sizes_at;  // 0: none
};
constexpr std::array<Shape, 5> kShapes = {{
    {{3, 4}, Kind::kHeader, 30, {26, 28, 0}},
    {{1, 2}, Kind::kEntry, 46, {28, 30, 32}},
    {{6, 6}, Kind::kLargeEnd, 56, {}},
    {{6, 7}, Kind::kLocator, 20, {}},
    {{5, 6}, Kind::kEnd, 22, {20, 0, 0}},
}};

const Shape* shape_of(Bytes bytes) noexcept {
    if (bytes[0] != 'P' || bytes[1] != 'K') return nullptr;
    const auto* shape = std::ranges::find_if(
        kShapes, [&](const Shape& row) { return bytes[2] == row.magic[0] && bytes[3] == row.magic[1]; });
    return shape == kShapes.end() ? nullptr : shape;
}

// The numbers in the zip64 field, which has those whose own fields are too small.
class LargeNumbers {
public:
    explicit LargeNumbers(Bytes extra) noexcept {
        constexpr std::size_t kHead = 4;
        while (extra.size() >= kHead) {
            const std::size_t size = size_at(extra, 2);
            if (size > extra.size() - kHead) return;
            if (size_at(extra, 0) == 1) {
                numbers_ = extra.subspan(kHead, size);
                return;
            }
            extra = extra.subspan(kHead + size);
        }
    }

    // Replaces a number that is too large for its field. Returns false if it is missing.
    bool take(std::uint64_t& number) noexcept {
        if (number != kLargest4) return true;
        if (numbers_.size() < 8) return false;
        number = number_at(numbers_, 0, 8);
        numbers_ = numbers_.subspan(8);
        return true;
    }

private:
    Bytes numbers_;
};

std::string suffix_of(const std::string& name) {
    constexpr std::size_t kMost = 8;
    const std::size_t dot = name.find_last_of("./");
    if (dot == std::string::npos || name[dot] == '/') return {};
    const std::string suffix = name.substr(dot);
    const bool is_usual =
        suffix.size() > 1 && suffix.size() <= kMost + 1 && std::all_of(suffix.begin() + 1, suffix.end(), [](char c) {
            const char lower = to_lower(c);
            return (lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9');
        });
    return is_usual && compression_named_by(suffix) == Compression::kNone ? suffix : std::string();
}

using Bytes = std::span<const std::uint8_t>;
using Kind = ZipRecord::Kind;

constexpr std::size_t kLargeEnd = 56;
constexpr std::size_t kLocator = 20;
constexpr std::size_t kMostTail = kLargeEnd + kLocator + 22 + 65'535;  // all that may follow the directory

// A directory that is larger is not worth reading twice.
constexpr std::uint64_t kMostDirectory = std::uint64_t{16} << 20;

constexpr std::size_t kMostNamed = 10;

bool is(Bytes bytes, Kind kind, std::size_t size) {
    if (bytes.size() < ZipRecord::kMagic) return false;
    const auto record = ZipRecord::find(bytes);
    return record && record->kind() == kind && record->size() == size && bytes.size() >= size;
}

struct DirectoryPlace {
    std::size_t rest = 0;    // bytes after the directory
    std::uint64_t size = 0;  // of the directory
};

// `tail` is the end of the archive.
std::optional<DirectoryPlace> find_directory(Bytes tail) {
    std::size_t rest = 22;
    while (rest <= tail.size() && !is(tail.last(rest), Kind::kEnd, rest)) ++rest;
    if (rest > tail.size()) return std::nullopt;
    Bytes record = tail.last(rest);
    Kind kind = Kind::kEnd;
    constexpr std::size_t kBoth = kLargeEnd + kLocator;
    if (rest + kBoth <= tail.size() && is(tail.last(rest + kBoth), Kind::kLargeEnd, kLargeEnd) &&
        is(tail.last(rest + kLocator), Kind::kLocator, kLocator)) {
        rest += kBoth;
        record = tail.last(rest).first(kLargeEnd);
        kind = Kind::kLargeEnd;
    }
    const auto directory = directory_of(kind, record);
    return directory ? std::optional(DirectoryPlace{rest, directory->size}) : std::nullopt;
}

}  // namespace

std::optional<ZipRecord> ZipRecord::find(Bytes bytes) noexcept {
    const Shape* const shape = shape_of(bytes);
    if (shape == nullptr) return std::nullopt;
    std::size_t size = shape->size;
    if (bytes.size() < size) return ZipRecord(shape->kind, size);
    for (const std::size_t offset : shape->sizes_at) size += offset > 0 ? size_at(bytes, offset) : 0;
    return ZipRecord(shape->kind, size);
}

std::optional<ZipMember> member_of(Kind kind, Bytes record) {
    const bool is_entry = kind == Kind::kEntry;
    const std::size_t at = is_entry ? 8 : 6;  // from here on, the fields are the same
    const std::size_t fixed = is_entry ? 46 : 30;
    const std::size_t name_size = size_at(record, at + 20);
    const std::size_t extra_size = size_at(record, at + 22);
    ZipMember member;
    const Bytes name = record.subspan(fixed, name_size);
    member.name.assign(name.begin(), name.end());
    member.flags = static_cast<unsigned>(number_at(record, at, 2));
    member.method = static_cast<unsigned>(number_at(record, at + 2, 2));
    member.checksum = static_cast<std::uint32_t>(number_at(record, at + 8, 4));
    member.packed_size = number_at(record, at + 12, 4);
    member.size = number_at(record, at + 16, 4);
    member.offset = is_entry ? number_at(record, 42, 4) : 0;
    LargeNumbers large(record.subspan(fixed + name_size, extra_size));
    if (!large.take(member.size) || !large.take(member.packed_size) || !large.take(member.offset)) return std::nullopt;
    return member;
}

std::size_t descriptor_size(Bytes bytes, const ZipMember& member) noexcept {
    for (const std::size_t begin : {std::size_t{4}, std::size_t{0}}) {
        constexpr std::array<std::uint8_t, 4> kMagic = {'P', 'K', 7, 8};
        if (begin > 0 && !std::ranges::equal(bytes.first(begin), kMagic)) continue;
        for (const std::size_t width : {std::size_t{4}, std::size_t{8}}) {
            const std::size_t size = begin + 4 + 2 * width;
            const bool is_right = number_at(bytes, begin, 4) == member.checksum &&
                                  number_at(bytes, begin + 4, width) == member.packed_size &&
                                  number_at(bytes, begin + 4 + width, width) == member.size;
            if (is_right && ZipRecord::find(bytes.subspan(size))) return size;
        }
    }
    return 0;
}

bool ZipDirectory::agrees_with(const ZipDirectory& large) const noexcept {
    return (entries == large.entries || entries == kLargest2) && (size == large.size || size == kLargest4) &&
           (offset == large.offset || offset == kLargest4);
}

std::optional<ZipDirectory> directory_of(Kind kind, Bytes record) noexcept {
    const bool is_large = kind == Kind::kLargeEnd;
    const std::size_t width = is_large ? 4 : 2;    // of the numbers of volumes
    const std::size_t disks = is_large ? 16 : 4;   // this volume, and that with the directory
    const std::size_t counts = disks + 2 * width;  // here, and in all volumes
    const std::size_t count = is_large ? 8 : 2;    // the size of a number of entries
    const std::uint64_t here = number_at(record, counts, count);
    ZipDirectory directory;
    directory.entries = number_at(record, counts + count, count);
    directory.size = number_at(record, counts + 2 * count, is_large ? 8 : 4);
    directory.offset = number_at(record, counts + 2 * count + (is_large ? 8 : 4), is_large ? 8 : 4);
    const bool is_one_volume = number_at(record, disks, width) == number_at(record, disks + width, width);
    const bool is_usual = !is_large || number_at(record, 4, 8) == record.size() - 12;
    if (!is_one_volume || !is_usual || here != directory.entries) return std::nullopt;
    return directory;
}

std::uint64_t located_by(Bytes locator) noexcept { return number_at(locator, 8, 8); }

std::string suffix_of_first_file(Bytes head, std::size_t& needed) {
    for (std::size_t at = 0;;) {
        const Bytes rest = head.subspan(std::min(at, head.size()));
        needed = at + ZipRecord::kMagic;
        if (rest.size() < ZipRecord::kMagic) return {};
        const auto record = ZipRecord::find(rest);
        if (!record || record->kind() != ZipRecord::Kind::kHeader) return {};
        needed = at + record->size();
        if (rest.size() < record->size()) return {};
        const auto member = member_of(ZipRecord::Kind::kHeader, rest.first(record->size()));
        if (!member || (member->has_descriptor() && !member->is_file())) return {};
        if (member->is_file()) return suffix_of(member->name);
        if (__builtin_add_overflow(at + record->size(), member->packed_size, &at)) return {};
    }
}

std::string several_files_text(const std::vector<std::string>& names, std::uint64_t count) {
    constexpr std::size_t kMostShown = 100;
    std::string text = "a zip archive with " + (count > 0 ? std::to_string(count) : std::string("several")) + " files";
    const char* before = ": ";
    for (const std::string& name : names) {
        text.append(before).append(name, 0, kMostShown).append(name.size() > kMostShown ? "..." : "");
        before = ", ";
    }
    return text + (count == names.size() ? "" : ", ...") + "; this prints one of them: unzip -p FILE MEMBER";
}

void refuse_several_files(const Source& source) {
    const std::uint64_t begin = source.offset;
    const std::uint64_t end = source.size();
    if (end <= begin) return;
    std::vector<std::uint8_t> tail(static_cast<std::size_t>(std::min<std::uint64_t>(end - begin, kMostTail)));
    tail.resize(source.read_at(end - tail.size(), tail));
    const auto place = find_directory(tail);
    if (!place || place->size > kMostDirectory || place->size > end - begin - place->rest) return;
    std::vector<std::uint8_t> directory(static_cast<std::size_t>(place->size));
    directory.resize(source.read_at(end - place->rest - place->size, directory));

    std::vector<std::string> names;
    std::uint64_t count = 0;
    for (Bytes left = directory; left.size() >= ZipRecord::kMagic;) {
        const auto record = ZipRecord::find(left);
        if (!record || record->kind() != Kind::kEntry || record->size() > left.size()) break;
        const auto member = member_of(Kind::kEntry, left.first(record->size()));
        left = left.subspan(record->size());
        if (!member || !member->is_file()) continue;
        if (++count <= kMostNamed) names.push_back(member->name);
    }
    if (count > 1) throw InputError(several_files_text(names, count));
}

}  // namespace cleave
