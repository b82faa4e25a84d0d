#include "features/redact/run/input_hash.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <system_error>
#include <vector>

#include "cleave/error.h"
#include "core/reader/fd.h"
#include "core/reader/input_parts.h"

namespace cleave {
namespace {

constexpr std::size_t kHashedSize = std::size_t{1} << 20;

}  // namespace

InputHash::InputHash(Input& input) : cancellation_(input.cancellation()), hash_(std::make_shared<ContentHash>()) {
    const Source& source = InputParts::source(input);
    if (!source.remote && (!S_ISREG(source.status.st_mode) || !source.version)) {
        InputParts::stream(input)->set_observer(
            [hash = hash_](std::span<const std::uint8_t> bytes) { hash->add(bytes); });
        return;
    }
    // Input::spool() closes the descriptor of the input.
    source_ = {Fd(::fcntl(source.file.get(), F_DUPFD_CLOEXEC, 0)),
               source.name,
               source.status,
               source.offset,
               source.version,
               false,
               source.remote};
    if (!source_.remote && !source_.file.is_open()) throw_errno(source.name);
    try {
        thread_ = std::jthread([this](const std::stop_token& stop) {
            try {
                hash_file(stop);
            } catch (...) {  // passed on to the thread that calls finish()
                error_ = std::current_exception();
            }
        });
    } catch (const std::system_error&) {  // reaching a limit on address space or threads is not a failure
        return;
    }
}

void InputHash::hash_file(const std::stop_token& stop) {
    const auto size = source_.remote ? source_.remote->size() : static_cast<std::uint64_t>(source_.status.st_size);
    std::vector<std::uint8_t> buffer(std::min<std::uint64_t>(kHashedSize, size));
    for (std::uint64_t at = source_.offset; at < size && !stop.stop_requested();) {
        if (cancellation_ != nullptr) cancellation_->throw_if_requested();
        const auto part = std::span(buffer).first(std::min<std::uint64_t>(buffer.size(), size - at));
        if (source_.read_at(at, part) < part.size()) {
            throw InputChangedError("input truncated while reading");
        }
        hash_->add(part);
        at += part.size();
    }
}

ContentDigest InputHash::finish() {
    if (thread_.joinable()) {
        thread_.join();
    } else if (source_.remote || source_.file.is_open()) {
        hash_file({});
    }
    if (error_) std::rethrow_exception(error_);
    if (source_.file.is_open()) source_.throw_if_changed(false);
    return hash_->digest();
}

}  // namespace cleave
