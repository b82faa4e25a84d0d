// The last bytes of what was read are looked at, as GuessedRuns does, for a record start. The bytes behind it are
// carried on to the next run.
#include "scan/guessed_reads.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "scan/guessed_runs.h"
#include "scan/private_bytes.h"

namespace cleave {
namespace {

// A record starts within this many bytes of most files.
constexpr std::size_t kTail = std::size_t{16} << 10;

}  // namespace

GuessedReads::GuessedReads(Input& input, BlobRange range, const Dialect& dialect, const Kernel& kernel,
                           const RunOptions& options)
    : input_(input),
      dialect_(dialect),
      size_(options.size),
      begin_(range.offset),
      end_(range.offset + range.size),
      walker_(dialect, kernel),
      carried_(MemoryManager::or_default(options.memory)) {}

bool GuessedReads::next(RecordRun& run) {
    if (begin_ == end_) return false;
    run.place = {begin_, 0};
    const std::span<const std::uint8_t> bytes = read_on(run);
    const bool is_last = begin_ + bytes.size() == end_;
    run.bytes = bytes.first(is_last ? bytes.size() : size_of_records(bytes));
    begin_ += run.bytes.size();
    carried_size_ = bytes.size() - run.bytes.size();
    carried_.reserve(carried_size_);
    if (carried_size_ > 0) std::memcpy(carried_.data(), run.bytes.data() + run.bytes.size(), carried_size_);
    return true;
}

// The next bytes, from begin_ on.
std::span<const std::uint8_t> GuessedReads::read_on(RecordRun& run) {
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(carried_size_ + size_, end_ - begin_));
    std::swap(run.copy, carried_);
    run.copy.reserve(size);
    read_bytes(input_.blob(), begin_ + carried_size_, {run.copy.data() + carried_size_, size - carried_size_});
    return {run.copy.data(), size};
}

// How many of the bytes are whole records, by a guess; all of them if no record start is found.
std::size_t GuessedReads::size_of_records(std::span<const std::uint8_t> bytes) {
    const std::size_t tail = std::min(kTail, bytes.size() / 2);
    const GuessedRuns runs(bytes, {0, bytes.size()}, dialect_, bytes.size() - tail);
    const auto found = static_cast<std::size_t>(runs.find(0, walker_).size);
    return found == 0 ? bytes.size() : found;
}

}  // namespace cleave
