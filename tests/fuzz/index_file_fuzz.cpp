// Index files: any bytes are refused or read, and an index that says the wrong things about a file leads to wrong
// answers, an InputChangedError or an IndexError, and to nothing worse.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <optional>

#include "checksum_reference.h"
#include "choices.h"
#include "cleave/error.h"
#include "cleave/index_file.h"
#include "cleave/plan.h"
#include "inputs.h"
#include "reference.h"
#include "temporary_directory.h"

namespace cleave::test {
namespace {

// As the reference finds it, with some numbers replaced.
IndexContents contents_of(Choices& choices, const std::string& text, const Dialect& dialect, const Input& file) {
    const Reading reading = read_by_rules(text, dialect);
    IndexContents contents;
    IndexHead& head = contents.head;
    head.dialect_digest = dialect_digest(dialect);
    head.size = text.size();
    head.mtime_ns = file.identity().mtime_ns;
    head.ctime_ns = file.identity().ctime_ns;
    head.inode = file.identity().inode;
    head.step = 1 + choices.below(100);
    head.records = choices.one_in(4) ? 1 + choices.below(text.size()) : reading.starts.size();
    head.header_records = choices.one_in(4) ? choices.below(5) : header_records(text, dialect);
    head.header_size = reading.start_of(head.header_records).offset;
    if (choices.one_in(4)) head.divergence = Place{choices.below(text.size()), choices.below(3)};
    for (std::uint64_t offset = 0; offset < text.size(); offset += head.step) {
        Boundary entry = reading.at_or_after(offset);
        if (choices.one_in(4)) entry.offset = offset + choices.below(200);
        if (choices.one_in(4)) entry.record += choices.below(5);
        contents.entries.push_back(entry);
    }
    return contents;
}

void ask(const RecordIndex& index, std::uint64_t size) {
    Locator locator(index);
    for (std::uint64_t offset = 0; offset <= size; ++offset) {
        EXPECT_LE(locator.at_or_before(offset).offset, size);
        EXPECT_LE(locator.at_or_after(size - offset).offset, size);
        EXPECT_LE(locator.start_of(offset).offset, size);
    }
    Policy policy;
    policy.pieces = 3;
    plan_pieces(index, policy, [](const Piece&) {});
    policy = Policy{};
    policy.records = 2;
    plan_pieces(index, policy, [](const Piece&) {});
    policy.together.emplace().column.text = "#1";
    policy.together->is_delimiter_given = policy.together->is_header_given = true;
    for (const auto& pieces : {std::optional<std::uint64_t>(), std::optional<std::uint64_t>(4)}) {
        policy.pieces = pieces;
        if (pieces) policy.records.reset();
        try {
            plan_pieces(index, policy, [](const Piece&) {});
        } catch (const InputError&) {  // what is taken for the header is malformed
        } catch (const RuleError&) {   // there is none
        }
    }
}

constexpr char kMagic[] =
    "\x89"
    "CLV\r\n\x1A\n";

// The choice of an index whose bytes, behind the magic ones, are the rest of the input.
bool is_given(Choices& choices) { return choices.one_in(4); }

// Refused, or read; and what is read says all that the bytes say, but for those that no version reads.
void read_bytes(std::string bytes) {
    try {
        const IndexView view(bytes_of(bytes));
        IndexContents contents{view.head(), {}};
        for (std::size_t i = 0; i < view.entry_count(); ++i) contents.entries.push_back(view.entry(i));
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

// Sets the size and the CRC at the end of the bytes behind the magic ones right: doc/index.md.
void mend_index(std::span<std::uint8_t> bytes) {
    constexpr std::size_t kEndSize = 16;
    if (bytes.size() < kEndSize) return;
    const auto end = bytes.last(kEndSize);
    const auto store = [&](std::size_t at, std::size_t size, std::uint64_t number) {
        for (std::size_t i = 0; i < size; ++i) end[at + i] = static_cast<std::uint8_t>(number >> (8 * i));
    };
    store(0, 8, bytes.size() + std::size(kMagic) - 1);
    store(8, 4, 0);
    store(12, 4, crc32c_by_bits(kMagic + std::string(bytes.begin(), bytes.end() - 4)));
}

void fuzz(Choices choices) {
    if (is_given(choices)) return read_bytes(kMagic + choices.text(300));
    static const TemporaryDirectory kFolder;
    const Dialect dialect = choices.dialect();
    const std::string text = choices.text(150);
    if (text.empty()) return;
    Input file = Input::open(kFolder.write("in.csv", text));
    if (file.is_stream()) return;
    std::vector<std::uint8_t> bytes;
    try {
        bytes = encode_index(contents_of(choices, text, dialect, file));
    } catch (const std::invalid_argument&) {
        return;
    }
    kFolder.write("in.csv.cleave", {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    const auto index = IndexFile::open(file, dialect);
    ASSERT_TRUE(index);
    Execution execution;
    execution.index = index.get();
    try {
        ask(index_records(file, dialect, execution), text.size());
    } catch (const InputChangedError&) {  // the index is wrong
    } catch (const IndexError&) {         // likewise
    }
}

}  // namespace
}  // namespace cleave::test

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

// Without the right CRC nearly every change of a given index would be refused at once.
// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
    size = LLVMFuzzerMutate(data, size, max_size);
    cleave::test::Choices choices({data, size});
    if (cleave::test::is_given(choices) && seed % 8 != 0) {
        cleave::test::mend_index(std::span(data, size).subspan(choices.taken()));
    }
    return size;
}

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    cleave::test::fuzz(cleave::test::Choices({data, size}));
    return 0;
}
