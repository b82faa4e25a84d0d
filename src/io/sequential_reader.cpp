#include "io/sequential_reader.h"

#include <algorithm>

#include "io/file_blob.h"

namespace cleave {
namespace {

// As cp takes: few enough to be in the second cache still when they are written out after the scan.
constexpr std::size_t kPartSize = std::size_t{256} << 10;

}  // namespace

SequentialReader::SequentialReader(Input& input, Meter* meter) : input_(input), meter_(meter) {
    if (!input.is_stream()) buffer_.resize(std::min<std::uint64_t>(kPartSize, input.blob().size()));
}

std::span<const std::uint8_t> SequentialReader::read_blob() {
    if (const Cancellation* cancellation = input_.cancellation()) cancellation->throw_if_requested();
    const auto& file = dynamic_cast<const FileBlob&>(input_.blob());  // an input has no other blobs
    const auto part = std::span(buffer_).first(std::min<std::uint64_t>(buffer_.size(), file.size() - offset_));
    file.read(offset_, part);
    offset_ += part.size();
    return part;
}

std::span<const std::uint8_t> SequentialReader::read() {
    const bool is_stream = input_.is_stream();
    const auto bytes = is_stream ? input_.read() : read_blob();
    if (meter_ != nullptr) meter_->scanned = is_stream ? input_.consumed() : offset_;
    return bytes;
}

}  // namespace cleave
