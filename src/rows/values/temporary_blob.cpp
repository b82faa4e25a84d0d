#include "rows/values/temporary_blob.h"

namespace cleave {

TemporaryBlob::TemporaryBlob() {
    source_.file = open_unlinked_temporary();
    source_.name = temporary_name();
}

// NOLINTNEXTLINE(readability-make-member-function-const): it changes the file
void TemporaryBlob::append(std::span<const std::uint8_t> bytes, const Cancellation* cancellation) {
    write_all(source_.file.get(), bytes, source_.name, cancellation);
}

// NOLINTNEXTLINE(readability-make-member-function-const): as above
void TemporaryBlob::write_at(std::uint64_t offset, std::span<const std::uint8_t> bytes) {
    write_all_at(source_.file.get(), offset, bytes, source_.name);
}

void TemporaryBlob::finish() {
    source_.status = stat_of(source_.file.get(), source_.name);
    if (source_.status.st_size > 0) blob_ = make_file_blob(source_, Access::kMapped);
    if (!blob_ && source_.status.st_size > 0) blob_ = make_file_blob(source_, Access::kRead);
    if (!blob_) blob_ = make_empty_blob(source_, Access::kRead);
}

}  // namespace cleave
