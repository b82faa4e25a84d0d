// Index files: any bytes are refused or read. An index that contains false statements about a file leads at worst to
// wrong answers, an InputChangedError or an IndexError.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <optional>

#include "choices.h"
#include "cleave/error.h"
#include "cleave/index_file.h"
#include "cleave/plan.h"
#include "inputs.h"
#include "reference.h"
#include "temporary_directory.h"

namespace cleave::test {
namespace {

// The contents that the reference finds, with some numbers replaced.
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
        } catch (const InputError&) {  // the bytes taken for the header are malformed
        } catch (const RuleError&) {   // there is no header
        }
    }
}

void fuzz(Choices choices) {
    if (choices.one_in(4)) {
        const std::string bytes =
            "\x89"
            "CLV\r\n\x1A\n" +
            choices.text(300);
        EXPECT_THROW(IndexView(bytes_of(bytes)), IndexError);  // to be accepted, they would need the right CRC
        return;
    }
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
    execution.index = index;
    try {
        ask(index_records(file, dialect, execution), text.size());
    } catch (const InputChangedError&) {  // the index is wrong
    } catch (const IndexError&) {         // likewise
    }
}

}  // namespace
}  // namespace cleave::test

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    cleave::test::fuzz(cleave::test::Choices({data, size}));
    return 0;
}
