// Whatever bytes follow the magic number, they are either refused or read as an index, and an index that is read
// contains everything that the bytes say.
#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "checksum_reference.h"
#include "cleave/index_file.h"
#include "inputs.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace cleave::test {
namespace {

constexpr char kMagic[] =
    "\x89"
    "CLV\r\n\x1A\n";

// Expects the bytes to be refused or read. If they are read, the contents include everything that the bytes say, except
// the bytes that no version reads.
void read_bytes(std::string bytes) {
    try {
        const IndexView view(bytes_of(bytes));
        IndexContents contents{view.head(), {}};
        for (std::size_t i = 0; i < view.entry_count(); ++i) contents.entries.push_back(view.entry(i));
        if (view.is_of_gzip()) {
            GzipIndex& gzip = contents.gzip.emplace();
            gzip.file_size = view.file_size();
            for (std::uint64_t at = 0; at < view.head().size; at += kGzipPart)
                gzip.checksums.push_back(view.checksum(static_cast<std::size_t>(at / kGzipPart)));
            for (std::size_t i = 0; i < view.checkpoint_count(); ++i) gzip.checkpoints.push_back(view.checkpoint(i));
        }
        const std::vector<std::uint8_t> again = encode_index(contents);
        ASSERT_EQ(again.size(), bytes.size());
        constexpr std::size_t kUnread = 104;
        bytes.replace(kUnread, 8, 8, '\0');
        const std::size_t sum = bytes.size() - 4;
        EXPECT_TRUE(std::equal(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(sum),
                               reinterpret_cast<const char*>(again.data())));
    } catch (const IndexError&) {
        return;
    }
}

// Offsets in an index without its magic number, which inputs lack. Numbers are at multiples of eight; see
// doc/guide/index.md.
constexpr std::size_t kHeadSize = 128 - 8;
constexpr std::size_t kEntryCount = 112 - 8;
constexpr std::size_t kEntrySize = 16;
constexpr std::size_t kEndSize = 16;
constexpr std::size_t kVersion = 0;
constexpr std::size_t kTextSize = 24 - 8;
constexpr std::size_t kCheckpointCount = 136 - 8;
constexpr std::size_t kGzipHeadSize = 144 - 8;
constexpr std::size_t kCheckpointSize = 48;

void store(std::span<std::uint8_t> bytes, std::size_t at, std::size_t size, std::uint64_t number) {
    for (std::size_t i = 0; i < size; ++i) bytes[at + i] = static_cast<std::uint8_t>(number >> (8 * i));
}

std::uint64_t number_at(std::span<const std::uint8_t> bytes, std::size_t at) {
    std::uint64_t number = 0;
    for (std::size_t i = 8; i > 0; --i) number = number << 8 | bytes[at + i - 1];
    return number;
}

void change_number(std::span<std::uint8_t> bytes, Random& random) {
    const auto any = [&] { return 8 * random.below(bytes.size() / 8); };
    const std::size_t at = any();
    const std::uint64_t number = number_at(bytes, at);
    switch (random.below(5)) {
        case 0: return store(bytes, at, 8, number + 1);
        case 1: return store(bytes, at, 8, number - 1);
        case 2: return store(bytes, at, 8, number_at(bytes, any()));
        case 3: return store(bytes, at, 8, number ^ std::uint64_t{1} << random.below(64));
        default: return store(bytes, at, 8, random.below(50));
    }
}

// Changes numbers in an index, or the number of its entries. Returns its size.
std::size_t change_index(std::span<std::uint8_t> room, std::size_t size, Random& random) {
    const std::size_t end = size - kEndSize;
    if (random.chance(15) && size + kEntrySize <= room.size() && end > kHeadSize) {
        std::copy_backward(room.begin() + static_cast<std::ptrdiff_t>(end - kEntrySize),
                           room.begin() + static_cast<std::ptrdiff_t>(size),
                           room.begin() + static_cast<std::ptrdiff_t>(size + kEntrySize));
        size += kEntrySize;
    } else if (random.chance(15) && end >= kHeadSize + kEntrySize) {
        size -= kEntrySize;
    } else {
        for (std::size_t left = 1 + random.below(3); left > 0; --left) change_number(room.first(end), random);
        return size;
    }
    store(room, kEntryCount, 8, (size - kEndSize - kHeadSize) / kEntrySize);
    return size;
}

// Where the bytes end that the CRC is of, besides the last ones: in the index of a gzip file, at the first window.
std::size_t end_of_numbers(std::span<const std::uint8_t> bytes) {
    const std::size_t end = bytes.size() - kEndSize;
    if (end < kGzipHeadSize || bytes[kVersion] != 2) return end;
    const std::uint64_t most = bytes.size();  // of each kind
    const std::uint64_t checksums = std::min(number_at(bytes, kTextSize) / kGzipPart + 1, most);
    const bool has_rest = number_at(bytes, kTextSize) % kGzipPart != 0;
    const std::uint64_t at = kGzipHeadSize + std::min(number_at(bytes, kEntryCount), most) * kEntrySize +
                             (checksums - (has_rest ? 0 : 1)) * 4 +
                             std::min(number_at(bytes, kCheckpointCount), most) * kCheckpointSize;
    return static_cast<std::size_t>(std::min<std::uint64_t>(at, end));
}

// Corrects the size and the CRC at the end, because otherwise nearly every change would be refused at once.
void mend_index(std::span<std::uint8_t> bytes) {
    if (bytes.size() < kEndSize) return;
    const auto end = bytes.last(kEndSize);
    store(end, 0, 8, bytes.size() + std::size(kMagic) - 1);
    store(end, 8, 4, 0);
    const std::string numbers(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(end_of_numbers(bytes)));
    store(end, 12, 4, crc32c_by_bits(kMagic + numbers + std::string(end.begin(), end.end() - 4)));
}

std::size_t mutate(std::span<std::uint8_t> room, std::size_t size, unsigned seed) {
    Random random(seed);
    const bool is_index = size >= kHeadSize + kEndSize;
    size = is_index && random.chance(70) ? change_index(room, size, random)
                                         : LLVMFuzzerMutate(room.data(), size, room.size());
    if (random.chance(90)) mend_index(room.first(size));
    return size;
}

}  // namespace
}  // namespace cleave::test

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
    return cleave::test::mutate({data, max_size}, size, seed);
}

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    cleave::test::read_bytes(cleave::test::kMagic + std::string(data, data + size));
    return 0;
}
