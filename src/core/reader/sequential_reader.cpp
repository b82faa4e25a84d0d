#include "core/reader/sequential_reader.h"

#include <algorithm>
#include <system_error>

namespace cleave {
namespace {

// With 256 KiB parts, a run took a fifth longer, because the two threads waited for each other more often. A larger
// part would no longer be in the second-level cache when it is written after the scan.
constexpr std::size_t kPartSize = std::size_t{1} << 20;

}  // namespace

SequentialReader::SequentialReader(Input& input, Meter* meter) : input_(input), meter_(meter) {
    if (input.is_stream()) return;
    const std::uint64_t size = input.blob().size();
    parts_ = size / kPartSize + (size % kPartSize != 0 ? 1 : 0);
    for (std::vector<std::uint8_t>& buffer : ring_) buffer.resize(std::min<std::uint64_t>(kPartSize, size));
    if (parts_ < 2) return;
    try {
        thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
    } catch (const std::system_error&) {  // a limit on address space or threads is no reason to fail
        return;
    }
}

std::span<std::uint8_t> SequentialReader::buffer_of(std::uint64_t part) noexcept {
    const std::uint64_t rest = input_.blob().size() - part * kPartSize;
    return std::span(ring_[part % ring_.size()]).first(std::min<std::uint64_t>(kPartSize, rest));
}

void SequentialReader::read_part(std::uint64_t part) { input_.blob().read(part * kPartSize, buffer_of(part)); }

void SequentialReader::run(const std::stop_token& stop) {
    for (std::uint64_t part = 0; part < parts_; ++part) {
        {
            MutexLock lock(mutex_);
            while (part >= taken_ + ring_.size() && !stop.stop_requested()) moved_.wait(lock, stop);
            if (part >= taken_ + ring_.size()) return;
        }
        std::exception_ptr error;
        try {
            read_part(part);
        } catch (...) {
            error = std::current_exception();
        }
        {
            const MutexLock lock(mutex_);
            filled_ = part + (error ? 0 : 1);
            error_ = error;
        }
        moved_.notify_all();
        if (error) return;
    }
}

std::span<const std::uint8_t> SequentialReader::read_blob() {
    if (const Cancellation* cancellation = input_.cancellation()) cancellation->throw_if_requested();
    MutexLock lock(mutex_);
    if (has_part_) {
        ++taken_;
        moved_.notify_all();
    }
    has_part_ = taken_ < parts_;
    if (!has_part_) return {};
    if (thread_.joinable()) {
        while (taken_ >= filled_ && !error_) moved_.wait(lock);
        if (taken_ == filled_) std::rethrow_exception(error_);
    } else {
        read_part(taken_);
    }
    const auto part = buffer_of(taken_);
    handed_out_ += part.size();
    return part;
}

std::span<const std::uint8_t> SequentialReader::read() {
    const bool is_stream = input_.is_stream();
    const auto bytes = is_stream ? input_.read() : read_blob();
    if (meter_ != nullptr) {
        meter_->scanned = is_stream ? input_.consumed() : handed_out_;
    }
    return bytes;
}

}  // namespace cleave
