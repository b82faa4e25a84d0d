#include "core/reader/file_blob.h"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <system_error>
#include <utility>

#include "cleave/error.h"
#include "cleave/mapping_guard.h"
#include "core/reader/fd.h"

namespace cleave {
namespace {

// A file that is mapped in full.
class MappedFile final : public FileBlob {
public:
    MappedFile(const Source& source, Mapping mapping)
        : FileBlob(source, mapping.bytes().size()), mapping_(std::move(mapping)) {}

    bool has_lost() const noexcept override { return mapping_.has_faulted(); }
    std::span<const std::uint8_t> mapped(std::uint64_t offset, std::uint64_t size) const noexcept override {
        return mapping_.bytes().subspan(offset, size);
    }
    bool is_mapped() const noexcept override { return true; }

private:
    Mapping mapping_;
};

// A file that is read with pread(): if it becomes shorter, reading fails instead of raising a signal.
class ReadFile final : public FileBlob {
public:
    ReadFile(const Source& source, std::uint64_t size) : FileBlob(source, size) {}
};

// Memory that the caller owns.
class LentMemory final : public FileBlob {
public:
    LentMemory(const Source& source, std::span<const std::uint8_t> bytes)
        : FileBlob(source, bytes.size()), bytes_(bytes) {}

    void read(std::uint64_t offset, std::span<std::uint8_t> into) const override {
        std::ranges::copy(bytes_.subspan(offset, into.size()), into.begin());
    }
    std::span<const std::uint8_t> mapped(std::uint64_t offset, std::uint64_t size) const noexcept override {
        return bytes_.subspan(offset, size);
    }
    bool is_mapped() const noexcept override { return true; }

private:
    std::span<const std::uint8_t> bytes_;
};

// Without a guard, a file that becomes shorter could end the process.
bool is_for_mapping(Access access) { return access == Access::kMapped && MappingGuard::is_active(); }

}  // namespace

std::span<const std::uint8_t> FileBlob::lend(std::uint64_t offset, std::size_t size,
                                             std::vector<std::uint8_t>& buffer) const {
    check_range(offset, size);
    const auto view = mapped(offset, size);
    if (view.size() == size) return view;
    if (buffer.size() < size) buffer.resize(size);
    const auto bytes = std::span(buffer).first(size);
    read(offset, bytes);
    return bytes;
}

void FileBlob::throw_if_lost() const {
    if (!has_lost()) return;
    require_version();
    throw InputChangedError();
}

void FileBlob::read(std::uint64_t offset, std::span<std::uint8_t> into) const {
    if (source_.read_at(source_.offset + offset, into) == into.size()) return;
    require_version();
    throw InputChangedError("input truncated while reading");
}

// Nobody else can change a temporary file, so bytes that are missing there were lost by the disk.
void FileBlob::require_version() const {
    if (!source_.version) throw SystemError(EIO, std::generic_category(), source_.name);
}

std::unique_ptr<FileBlob> make_file_blob(const Source& source, Access access) {
    if (source.remote) return std::make_unique<ReadFile>(source, source.remote->size());
    const auto end = static_cast<std::uint64_t>(source.status.st_size);
    if (!is_for_mapping(access)) return std::make_unique<ReadFile>(source, end - source.offset);
    std::optional<Mapping> mapping = Mapping::of(source.file.get(), source.offset, end);
    if (!mapping) return nullptr;
    return std::make_unique<MappedFile>(source, std::move(*mapping));
}

std::unique_ptr<FileBlob> make_empty_blob(const Source& source, Access access) {
    if (!is_for_mapping(access)) return std::make_unique<ReadFile>(source, 0);
    return std::make_unique<MappedFile>(source, Mapping::of_nothing());
}

std::unique_ptr<FileBlob> make_memory_blob(const Source& source, std::span<const std::uint8_t> bytes) {
    return std::make_unique<LentMemory>(source, bytes);
}

}  // namespace cleave
