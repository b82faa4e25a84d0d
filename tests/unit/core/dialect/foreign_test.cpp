// Files that are not CSV are recognised by their first bytes and refused; CSV that looks similar is accepted.
#include "cleave/foreign.h"

#include <gtest/gtest.h>

#include <string>

#include "cleave/error.h"
#include "cleave/examine.h"
#include "cleave/plan.h"
#include "cleave/scan.h"
#include "inputs.h"
#include "pipe_input.h"

namespace cleave::test::foreign_test {

using namespace std::string_literals;

std::string name_of(const std::string& head) {
    const auto format = foreign_format(bytes_of(head));
    return format ? std::string(format->name) : "";
}

struct Sample {
    std::string name;
    std::string head;
};

std::string at(std::size_t offset, const std::string& begin, const std::string& text) {
    std::string head = begin;
    head.resize(offset, '\0');
    return head + text;
}

// A tar header without a signature, as tar --format=v7 writes it.
std::string v7_head() {
    std::string head =
        at(100, "x.csv", "0000644\0000000000\0000000000\00000000000010\00015104017462\0"s + "        " + "0");
    head.resize(512, '\0');
    unsigned sum = 0;
    for (const char byte : head) sum += static_cast<unsigned char>(byte);
    std::string digits;
    for (int shift = 15; shift >= 0; shift -= 3) digits += static_cast<char>('0' + ((sum >> shift) & 7));
    return head.replace(148, 8, digits + "\0 "s);
}

std::vector<Sample> samples() {
    return {
        {"a gzip stream", "\x1F\x8B\x08\0\0"s},
        {"a zstd stream", "\x28\xB5\x2F\xFD\x04\x00"s},
        {"an xz stream",
         "\xFD"
         "7zXZ\0\0\x04"s},
        {"a bzip2 stream", "BZh91AY&SY\x01\x02"s},
        {"a bzip2 stream", "BZh9\x17rE8P\x90\0\0\0\0"s},
        {"an lz4 stream", "\x04\x22\x4D\x18\x64"s},
        {"an lz4 stream of the legacy format", "\x02\x21\x4C\x18\x64"s},
        {"a file of compress(1)",
         "\x1F\x9D\x90"
         "a"s},
        {"a zip archive", "PK\3\4\x14\0\0\0"s},
        {"a zip archive", "PK\5\6\0\0\0\0"s},
        {"a spreadsheet or another Office document", at(30, "PK\3\4", "[Content_Types].xml")},
        {"a spreadsheet or another Office document",
         at(30, "PK\3\4", "mimetypeapplication/vnd.oasis.opendocument.spreadsheet")},
        {"a spreadsheet or another Office document", "\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1\0\0"s},
        {"a 7z archive", "7z\xBC\xAF\x27\x1C\0\4"s},
        {"a tar archive", at(257, "x.csv", "ustar  \0"s)},
        {"a tar archive", v7_head()},
        {"a Parquet file", "PAR1\x15\4\x15\x10"s},
        {"an Arrow or Feather file", "ARROW1\0\0\xFF\xFF\xFF\xFF"s},
        {"an Arrow or Feather file", "FEA1\0\0\0\0"s},
        {"an Arrow stream", "\xFF\xFF\xFF\xFF\x98\0\0\0\x10\0\0\0"s},
        {"an Avro file",
         "Obj\1\x04\x14"
         "avro.codec"s},
        {"an ORC file", "ORC\n\3\0\0"s},
        {"an SQLite database", "SQLite format 3\0\x10\0\1\1"s},
        {"a PDF document", "%PDF-1.4\n%\xE2\xE3\xCF\xD3\n1 0 obj\nstream\nx\x9C\1\0"s},
        {"UTF-16LE text",
         "\xFF\xFE"
         "a\0"s},
        {"UTF-16BE text", "\xFE\xFF\0a"s},
        {"UTF-32LE text", "\xFF\xFE\0\0"s},
        {"UTF-32BE text", "\0\0\xFE\xFF"s},
    };
}

TEST(ForeignFormat, IsKnownByHowItBegins) {
    for (const Sample& sample : samples()) {
        EXPECT_EQ(name_of(sample.head), sample.name) << shown(sample.head);
        EXPECT_EQ(name_of(sample.head + std::string(1 << 17, 'x')), sample.name) << shown(sample.head);
        const auto format = foreign_format(bytes_of(sample.head));
        ASSERT_TRUE(format);
        EXPECT_NE(format->command.find("FILE"), std::string_view::npos) << format->command;
    }
}

TEST(ForeignFormat, FilesOfCleaveHoldNoCsv) {
    for (const auto& [name, head] : {Sample{"an index made by cleave",
                                            "\x89"
                                            "CLV\r\n\x1A\n\1\0"s},
                                     Sample{"a manifest or a report made by cleave", R"({"cleave":2,"input":{)"},
                                     Sample{"a range summary, the output of cleave scan", R"({"cleave_range":1,)"},
                                     Sample{"a plan, the output of cleave plan", R"({"cleave_plan":1,)"}}) {
        const auto format = foreign_format(bytes_of(head));
        ASSERT_TRUE(format) << name;
        EXPECT_EQ(format->name, name);
        EXPECT_EQ(format->command, "");
    }
    EXPECT_EQ(name_of(R"({"cleaver":1})"), "");
}

TEST(ForeignFormat, IsNotCsvThatBeginsLikeIt) {
    const std::string row = "1,2,\"a b\"\r\n3\t4\n";
    for (const std::string begin :
         {"", "PAR1", "PAR1_id,x", "ORC", "ORC,x", "FEA1", "ARROW1", "Obj", "%PDF", "BZh91AY&SY", "SQLite format 3",
          "7z", "PK", "\xEF\xBB\xBF", "\xFF", "\xFF\xFF\xFF\xFF", "a\xFF\xFE"}) {
        EXPECT_EQ(name_of(begin + row + row), "") << begin;
    }
    EXPECT_EQ(name_of(row + std::string(257 - row.size(), 'x') + "ustar,\n" + row), "");
    // A control byte proves nothing unless it is in the first 4 KiB.
    EXPECT_EQ(name_of("PAR1,x\n" + std::string(4096 - 7, 'x') + '\0'), "");
    EXPECT_EQ(name_of("PAR1,x\n" + std::string(4095 - 7, 'x') + '\0'), "a Parquet file");
    // A control byte alone proves nothing either.
    EXPECT_EQ(name_of("a\1b\0c\n1\1\2\0\3\n"s + row), "");
    std::string head = v7_head();
    ++head[0];
    EXPECT_EQ(name_of(head), "");
}

std::string widened(const std::string& text, std::size_t unit, std::size_t character) {
    std::string wide(text.size() * unit, '\0');
    for (std::size_t i = 0; i < text.size(); ++i) wide[i * unit + character] = text[i];
    return wide;
}

TEST(ForeignFormat, IsWideTextWithoutAMark) {
    const std::string text = "id,name\r\n1,abcd\r\n2,efgh\r\n3,ijkl\r\n";
    EXPECT_EQ(name_of(widened(text, 2, 0)), "UTF-16LE text");
    EXPECT_EQ(name_of(widened(text, 2, 1)), "UTF-16BE text");
    EXPECT_EQ(name_of(widened(text, 4, 0)), "UTF-32LE text");
    EXPECT_EQ(name_of(widened(text, 4, 3)), "UTF-32BE text");
    EXPECT_EQ(name_of(widened(text + "x", 2, 0) + "y"), "UTF-16LE text");
    EXPECT_EQ(name_of(widened(text.substr(0, 32), 2, 0)), "UTF-16LE text");
    EXPECT_EQ(name_of(widened(text.substr(0, 31), 2, 0)), "");  // 62 bytes
}

TEST(ForeignFormat, IsWideTextFromNinetyPercentOn) {
    // 100 units: 10 other bytes among the NULs are few enough, but 5 NULs among the characters are too many.
    const std::string wide = widened(std::string(100, 'x'), 2, 0);
    const auto changed = [&](std::size_t from, std::size_t count, char byte) {
        std::string head = wide;
        for (std::size_t i = 0; i < count; ++i) head[from + 2 * i] = byte;
        return name_of(head);
    };
    EXPECT_EQ(changed(1, 10, '\4'), "UTF-16LE text");
    EXPECT_EQ(changed(1, 11, '\4'), "");
    EXPECT_EQ(changed(0, 4, '\0'), "UTF-16LE text");
    EXPECT_EQ(changed(0, 5, '\0'), "");
    EXPECT_EQ(name_of(std::string(1000, '\0')), "");
}

// Expects the call to throw an InputError that names the format and its command.
template <class Call>
void expect_refused(const Call& call) {
    try {
        call();
        ADD_FAILURE() << "not refused";
    } catch (const InputError& error) {
        EXPECT_STREQ(error.what(), "a 7z archive, not CSV; this prints it as CSV: 7z x -so FILE");
    }
}

class NoPieces : public PieceSink {
public:
    void header(std::span<const std::uint8_t>) override { ADD_FAILURE(); }
    void begin(const Piece&) override { ADD_FAILURE(); }
    void body(std::span<const std::uint8_t>) override { ADD_FAILURE(); }
    void end(const Piece&) override { ADD_FAILURE(); }
};

TEST(ForeignInput, IsRefusedByWhateverReadsIt) {
    const std::string head = "7z\xBC\xAF\x27\x1C\0\4,\n1\n"s;
    const Execution execution;
    expect_refused([&] { refuse_foreign(bytes_of(head)); });
    expect_refused([&] { RecordIndex(bytes_of(head), Dialect{}, execution); });
    const auto read = [&](const auto& work) {
        const Pipe pipe(head, {1});
        Input input = Input::open(pipe.path());
        expect_refused([&] { work(input); });
    };
    read([&](Input& input) { scan(input, Dialect{}, execution); });
    read([&](Input& input) { examine(input, Dialect{}, execution); });
    read([&](Input& input) {
        Policy policy;
        policy.records = 1;
        NoPieces sink;
        cut_stream(input, Dialect{}, execution, policy, sink);
    });
}

}  // namespace cleave::test::foreign_test
