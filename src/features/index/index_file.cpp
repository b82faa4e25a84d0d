// Opens the index of an input and decides whether to trust it. If there are several faults, the error reports the first
// one in this list:
//
//   it is not a regular file; other users may write to it; it is damaged or has a different version; it is for a
//       different dialect;
//   the size or the mtime of the input file differs;
//   the ctime or the inode of the input file differs
//
// The last check cannot be fooled: archivers and `touch` set mtime, but no program can set ctime. An index that fails
// only this check may still be good, and comparing it with the file shows whether it is (IndexMatch::kSameTime).
//
// An index in a store is compared with the version of its object, which takes the place of the inode; there are no
// times.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "cleave/error.h"
#include "cleave/index_file.h"
#include "cleave/mapping_guard.h"
#include "core/dialect/check_arguments.h"
#include "core/reader/fd.h"
#include "core/reader/input_parts.h"
#include "core/reader/mapping.h"
#include "core/reader/remote_file.h"
#include "features/compressed/gzip_blob.h"
#include "features/index/gzip_format.h"

namespace cleave {
namespace {

// An index elsewhere, of at most this size, is read in one request.
constexpr std::uint64_t kReadAtOnce = std::uint64_t{256} << 10;

// The file that an index is read from, beside its input.
struct IndexSource {
    std::string path;
    Fd file;                                        // if it is on this machine
    std::unique_ptr<const RemoteFile> remote = {};  // if it is elsewhere

    bool is_open() const noexcept { return file.is_open() || remote; }
    // Throws IndexError if there are fewer bytes or others, and what RemoteFile::read() throws.
    void read(std::uint64_t offset, std::span<std::uint8_t> into) const {
        if (remote) {
            read_remote(offset, into);
        } else if (read_at(file.get(), offset, into, path) < into.size()) {
            throw IndexError("it could not be read");
        }
    }

private:
    // It is not the input that has changed.
    void read_remote(std::uint64_t offset, std::span<std::uint8_t> into) const {
        if (into.empty()) return;
        try {
            remote->read(offset, into);
        } catch (const InputChangedError&) {
            throw IndexError("it has changed meanwhile");
        }
    }
};

}  // namespace

struct IndexFile::Impl {
    IndexSource source;              // open if there are windows that are not in memory
    Mapping mapping;                 // if it is mapped
    std::vector<std::uint8_t> copy;  // otherwise: all but the windows
    IndexView view;
};

namespace {

// Everyone who can read the file will use its index, so the index must belong to the owner of the file, to this user or
// to root, and nobody else may have write access to it.
bool is_trusted(const struct stat& status, const FileIdentity& file) {
    const bool is_owned = status.st_uid == file.owner || status.st_uid == ::geteuid() || status.st_uid == 0;
    return is_owned && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

// Not open if there is none.
IndexSource open_index(const Input& input) {
    IndexSource source{index_path(input.path()), {}};
    if (const RemoteFile* const remote = input.remote()) {
        source.remote = remote->find_beside(kIndexSuffix);
        return source;
    }
    source.file = Fd(::open(source.path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (source.is_open() || errno == ENOENT) return source;
    if (errno == ELOOP) throw IndexError("it is a symbolic link");
    throw_errno(source.path);
}

// The size of an index that may be used. A store does not say who wrote it: whoever may write to the bucket can replace
// the object as well.
std::uint64_t check_index(const IndexSource& source, const FileIdentity& file) {
    if (source.remote) return source.remote->size();
    const struct stat status = stat_of(source.file.get(), source.path);
    if (!S_ISREG(status.st_mode)) throw IndexError("it is not a regular file");
    if (!is_trusted(status, file)) throw IndexError("other users may write to it");
    return static_cast<std::uint64_t>(status.st_size);
}

Mapping map_index(const Fd& fd, std::uint64_t size) {
    if (size == 0) return Mapping::of_nothing();
    auto mapping = Mapping::of(fd.get(), 0, size);
    if (!mapping) throw IndexError("it cannot be mapped");
    return std::move(*mapping);
}

// All but the windows; the whole index if it is elsewhere and small. Anyone could have written an object, so it is
// fetched only if it begins like an index and is no larger than one can be for a file of this size: 56 bytes for each
// MiB of text, which is at most 1032 times as large as its gzip file.
std::vector<std::uint8_t> read_index(const IndexSource& source, std::uint64_t size, std::uint64_t file_size) {
    std::vector<std::uint8_t> bytes(std::min<std::uint64_t>(size, kMostHeadSize));
    source.read(0, bytes);
    const std::uint64_t needed = size_without_windows(bytes, size);
    if (source.remote && !IndexView::begins_as_index(bytes)) throw IndexError("not an index made by cleave");
    if (source.remote && needed > file_size / 16 + kIndexStep) throw IndexError("it is too large for its file");
    if (source.remote && size <= kReadAtOnce) {
        bytes.resize(size);
        source.read(0, bytes);
        return bytes;
    }
    bytes.resize(needed);
    const std::size_t end = std::min(bytes.size(), kEndSize);
    source.read(0, std::span(bytes).first(bytes.size() - end));
    source.read(size - end, std::span(bytes).last(end));
    return bytes;
}

// `dialect` is null if it does not matter.
void judge(const IndexView& index, const Input& input, const Dialect* dialect, IndexMatch match) {
    const IndexHead& head = index.head();
    if (dialect != nullptr && head.dialect_digest != dialect_digest(*dialect))
        throw IndexError(
            "it was made for a different dialect; cleave index with the options of this run makes it again");
    const FileIdentity file = input.identity();
    const bool is_same_kind = index.is_of_gzip() == (input.compression() == Compression::kGzip);
    const std::uint64_t file_size = index.is_of_gzip() ? index.file_size() : head.size;
    const bool is_same_size = file_size == file.size && (input.is_stream() || head.size == input.blob().size());
    if (!is_same_kind || !is_same_size || head.mtime_ns != file.mtime_ns) {
        throw IndexError("the file has changed since");
    }
    if (match == IndexMatch::kSameFile && (head.ctime_ns != file.ctime_ns || head.inode != file.inode)) {
        throw IndexError(
            "the file has been copied or moved since (its inode or ctime differs); cleave index --verify can renew it");
    }
}

// What an index says of its gzip file.
class IndexedGzip final : public GzipMap {
public:
    explicit IndexedGzip(std::shared_ptr<const IndexFile> file) : file_(std::move(file)) {}

    std::uint64_t size() const noexcept override { return index().head().size; }
    std::uint64_t part_size() const noexcept override { return kGzipPart; }
    std::uint32_t checksum(std::uint64_t part) const noexcept override {
        return index().checksum(static_cast<std::size_t>(part));
    }

    std::uint64_t start_before(std::uint64_t offset) const noexcept override {
        const std::size_t count = checkpoints_before(offset);
        return count == 0 ? 0 : index().checkpoint_offset(count - 1);
    }

    std::uint64_t byte_before(std::uint64_t offset) const noexcept override {
        const std::size_t count = checkpoints_before(offset);
        const bool is_last = count == index().checkpoint_count();
        const std::uint64_t from = count == 0 ? 0 : index().checkpoint_offset(count - 1);
        const std::uint64_t to = is_last ? size() : index().checkpoint_offset(count);
        const std::uint64_t byte = count == 0 ? 0 : index().checkpoint_byte(count - 1);
        const std::uint64_t next = is_last ? index().file_size() : index().checkpoint_byte(count);
        if (to <= from || next <= byte) return byte;
        const double share = static_cast<double>(offset - from) / static_cast<double>(to - from);
        return byte + static_cast<std::uint64_t>(share * static_cast<double>(next - byte));
    }

    GzipStart start(std::uint64_t offset) const override {
        const std::size_t count = checkpoints_before(offset);
        if (count == 0) return {0, 0, {.is_first = true}, {}};
        const GzipCheckpoint here = file_->checkpoint(count - 1);
        return {here.offset,
                here.bit / 8,
                {.bit = static_cast<unsigned>(here.bit % 8),
                 .is_in_member = here.is_in_member,
                 .size = here.member_size,
                 .checksum = here.member_checksum},
                unpack_window(here.window, window_size(here))};
    }

private:
    const IndexView& index() const noexcept { return file_->view(); }

    // How many checkpoints are not behind the offset.
    std::size_t checkpoints_before(std::uint64_t offset) const noexcept {
        std::size_t begin = 0;
        for (std::size_t end = index().checkpoint_count(); begin < end;) {
            const std::size_t middle = begin + (end - begin) / 2;
            if (index().checkpoint_offset(middle) <= offset) {
                begin = middle + 1;
            } else {
                end = middle;
            }
        }
        return begin;
    }

    std::shared_ptr<const IndexFile> file_;
};

}  // namespace

IndexFile::IndexFile(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
IndexFile::~IndexFile() = default;

std::shared_ptr<const IndexFile> IndexFile::open(const Input& input, const Dialect& dialect, IndexMatch match,
                                                 Access access) {
    const ValidDialect valid(dialect);
    return open(input, &valid, match, access);
}

std::shared_ptr<const IndexFile> IndexFile::open(const Input& input, const ValidDialect* dialect, IndexMatch match,
                                                 Access access) {
    if (input.is_stream() && !InputParts::is_gzip_file(input)) throw ArgumentError("index: the input is a stream");
    IndexSource source = open_index(input);
    if (!source.is_open()) return nullptr;
    const std::uint64_t size = check_index(source, input.identity());
    const bool is_mapped = source.file.is_open() && access == Access::kMapped && MappingGuard::is_active();
    Mapping mapping = is_mapped ? map_index(source.file, size) : Mapping::of_nothing();
    std::vector<std::uint8_t> copy =
        is_mapped ? std::vector<std::uint8_t>() : read_index(source, size, input.identity().size);
    const std::span<const std::uint8_t> bytes = is_mapped ? mapping.bytes() : copy;
    const IndexView view(bytes, size - bytes.size());  // remains valid when the mapping and the copy are moved
    if (bytes.size() == size) source = {};             // nothing is left to read
    auto file = std::make_shared<const IndexFile>(
        std::make_unique<Impl>(Impl{std::move(source), std::move(mapping), std::move(copy), view}));
    file->throw_if_lost();
    judge(view, input, dialect, match);
    return file;
}

void read_by_index(Input& input, std::shared_ptr<const IndexFile> index) {
    if (!input.is_stream()) return;
    if (!InputParts::is_gzip_file(input) || !index || !index->view().is_of_gzip()) {
        throw ArgumentError("read_by_index: the input is no gzip file, or this is not its index");
    }
    const auto map = std::make_shared<const IndexedGzip>(std::move(index));
    InputParts::become_blob(input, "read_by_index()", std::make_unique<GzipBlob>(InputParts::source(input), map));
}

bool read_by_index(Input& input, Access access) {
    if (!input.is_stream()) return true;
    if (!InputParts::is_gzip_file(input)) return false;
    auto index = IndexFile::open(input, nullptr, IndexMatch::kSameFile, access);
    if (index) read_by_index(input, std::move(index));
    return !input.is_stream();
}

const IndexView& IndexFile::view() const noexcept { return impl_->view; }

bool IndexFile::is_for(const Dialect& dialect) const { return view().head().dialect_digest == dialect_digest(dialect); }

Findings IndexFile::findings() const {
    const IndexHead& head = view().head();
    return {head.size, head.records, head.header_records, 0, std::nullopt, head.divergence};
}

std::uint64_t IndexFile::step() const noexcept { return view().head().step; }

Boundary IndexFile::entry(std::size_t number) const noexcept { return view().entry(number); }

GzipCheckpoint IndexFile::checkpoint(std::size_t number) const {
    if (!impl_->source.is_open()) return impl_->view.checkpoint(number);
    const BlobRange range = impl_->view.window_range(number);
    std::vector<std::uint8_t> window(static_cast<std::size_t>(range.size));
    impl_->source.read(range.offset, window);
    return impl_->view.checkpoint(number, window);
}

void IndexFile::throw_if_lost() const {
    if (impl_->mapping.has_faulted()) throw IndexError("it could not be read");
}

}  // namespace cleave
