#include "features/compressed/zip_directory.h"

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "cleave/error.h"
#include "core/reader/fd.h"
#include "features/compressed/zip_records.h"

namespace cleave {
namespace {

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
