#include "cleave/foreign.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>

#include "base/text_bytes.h"
#include "cleave/dialect.h"
#include "cleave/error.h"

namespace cleave {
namespace {

// Bytes that must appear at an offset. A signature without bytes always matches.
struct Signature {
    std::size_t offset = 0;
    TextInPlace<32> bytes = {};
};

struct Format {
    TextInPlace<44> name;
    TextInPlace<144> command;
    bool reads_pipe = false;
    Encoding encoding = Encoding::kBytes;

    constexpr ForeignFormat described() const { return {name.view(), command.view(), reads_pipe, encoding}; }
};

struct Row {
    Format format;
    Signature first;
    Signature second = {};
};

constexpr Format kTar = {"a tar archive", "tar -xOf FILE", true};
constexpr Format kZip = {"a zip archive", "unzip -p FILE"};
constexpr Format kBzip2 = {"a bzip2 stream", "bzip2 -dc FILE", true};
constexpr Format kOffice = {"a spreadsheet or another Office document",
                            "ssconvert -T Gnumeric_stf:stf_csv FILE fd://1"};
constexpr Format kLzma = {"an LZMA stream of the old format", "xz -dc --format=lzma FILE", true};
constexpr Format kZlib = {"a zlib stream",
                          "python3 -c \"import sys, zlib; o = zlib.decompressobj(); "
                          "[sys.stdout.buffer.write(o.decompress(b)) for b in sys.stdin.buffer]\" <FILE",
                          true};
constexpr Format kPickle = {"a pickle of Python",
                            "python3 -c \"import sys, pandas as p; "
                            "p.read_pickle('FILE').to_csv(sys.stdout, index=False)\""};
constexpr Format kFeather = {"an Arrow or Feather file",
                             "python3 -c \"import sys, pyarrow.feather as f, pyarrow.csv as c; "
                             "c.write_csv(f.read_table('FILE'), sys.stdout.buffer)\""};

// The first matching row counts. Input decodes one layer of compression, so a second layer is foreign.
constexpr Row kRows[] = {
    {{"a gzip stream", "gzip -dc FILE", true}, {0, "\x1F\x8B\x08"}},
    {{"a zstd stream", "zstd -dc FILE", true}, {0, "\x28\xB5\x2F\xFD"}},
    {{"an xz stream", "xz -dc FILE", true},
     {0,
      "\xFD"
      "7zXZ\0"}},
    {kBzip2, {0, "BZh"}, {4, "1AY&SY"}},
    {kBzip2,
     {0, "BZh"},
     {4,
      "\x17"
      "rE8P\x90"}},  // of an empty file
    {{"an lz4 stream", "lz4 -dc FILE", true}, {0, "\x04\x22\x4D\x18"}},
    {{"an lz4 stream of the legacy format", "lz4 -dc FILE", true}, {0, "\x02\x21\x4C\x18"}},
    {{"a file of compress(1)", "gzip -dc FILE", true}, {0, "\x1F\x9D"}},
    {kOffice, {0, "PK\3\4"}, {30, "[Content_Types].xml"}},
    {kOffice, {0, "PK\3\4"}, {30, "mimetypeapplication/vnd.oasis"}},
    {kOffice, {0, "\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1"}},
    {kZip, {0, "PK\3\4"}},
    {kZip, {0, "PK\5\6"}},  // an archive without files
    {kZip, {0, "PK\7\x08"}},
    {{"a 7z archive", "7z x -so FILE"}, {0, "7z\xBC\xAF\x27\x1C"}},
    {kTar, {257, "ustar"}},
    {{"a Parquet file", "duckdb -c \"COPY (FROM read_parquet('FILE')) TO '/dev/stdout' (FORMAT csv)\""}, {0, "PAR1"}},
    {kFeather, {0, "ARROW1"}},
    {kFeather, {0, "FEA1"}},
    {{"an Arrow stream",
      "python3 -c \"import sys, pyarrow.ipc as i, pyarrow.csv as c; "
      "c.write_csv(i.open_stream(open('FILE', 'rb')).read_all(), sys.stdout.buffer)\""},
     {0, "\xFF\xFF\xFF\xFF"}},
    {{"an Avro file", "duckdb -c \"COPY (FROM read_avro('FILE')) TO '/dev/stdout' (FORMAT csv)\""}, {0, "Obj\1"}},
    {{"an ORC file",
      "python3 -c \"import sys, pyarrow.orc as o, pyarrow.csv as c; "
      "c.write_csv(o.read_table('FILE'), sys.stdout.buffer)\""},
     {0, "ORC"}},
    {{"an SQLite database", "sqlite3 -header -csv FILE 'SELECT * FROM TABLE'"}, {0, "SQLite format 3\0"}},
    {{"a RAR archive", "7z x -so FILE"}, {0, "Rar!\x1A\x07"}},
    {{"an lzip stream", "lzip -dc FILE", true}, {0, "LZIP\1"}},
    {kLzma, {0, "]\0\0"}, {5, "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF"}},  // the size is not known
    {kLzma, {0, "]\0\0"}, {10, "\0\0\0"}},
    {{"a snappy stream", "snzip -dc FILE", true}, {0, "\xFF\6\0\0sNaPpY"}},
    {{"an LZO file", "lzop -dc FILE", true}, {0, "\x89LZO\0\r\n\x1A\n"}},
    {kZlib, {0, "x\1"}},
    {kZlib, {0, "x\x9C"}},
    {kZlib, {0, "x\xDA"}},
    {{"an HDF5 file", "python3 -c \"import sys, pandas as p; p.read_hdf('FILE').to_csv(sys.stdout, index=False)\""},
     {0, "\x89HDF\r\n\x1A\n"}},
    {kPickle, {0, "\x80\2"}},
    {kPickle, {0, "\x80\3"}},
    {kPickle, {0, "\x80\4\x95"}},
    {kPickle, {0, "\x80\5\x95"}},
    {{"a gzip stream of an unknown method", ""}, {0, "\x1F\x8B"}},
};

// Formats that begin with text, and may have no control byte in their head.
struct TextFormat {
    TextInPlace<44> begin;
    Format format;
};
constexpr TextFormat kTextFormats[] = {
    {"%PDF-", {"a PDF document", "java -jar tabula.jar -p all FILE"}},
    {"version https://git-lfs.github.com/spec/", {"a Git LFS pointer", "git lfs smudge <FILE", true}},
};

// Files that cleave writes next to pieces, or for other machines. The pattern in `cleave count
// data.csv*` matches the index too.
struct OwnFile {
    TextInPlace<24> begin;
    TextInPlace<44> name;
};
constexpr OwnFile kOwnFiles[] = {
    {"\x89"
     "CLV\r\n\x1A\n",
     "an index made by cleave"},
    {R"({"cleave":)", "a manifest or a report made by cleave"},
    {R"({"cleave_range":)", "a range summary, the output of cleave scan"},
    {R"({"cleave_plan":)", "a plan, the output of cleave plan"},
};

struct WideEncoding {
    Format format;
    TextInPlace<4> mark;
    std::size_t unit;       // bytes per code unit
    std::size_t character;  // the byte of a unit that holds an ASCII character; the others are NUL
};

// UTF-32LE comes before UTF-16LE, because its byte order mark begins with the one for UTF-16LE.
constexpr WideEncoding kEncodings[] = {
    {{"UTF-32LE text", "iconv -f UTF-32LE -t UTF-8 FILE", true}, "\xFF\xFE\0\0", 4, 0},
    {{"UTF-32BE text", "iconv -f UTF-32BE -t UTF-8 FILE", true}, "\0\0\xFE\xFF", 4, 3},
    {{"UTF-16LE text", "iconv -f UTF-16LE -t UTF-8 FILE", true, Encoding::kUtf16Le}, "\xFF\xFE", 2, 0},
    {{"UTF-16BE text", "iconv -f UTF-16BE -t UTF-8 FILE", true, Encoding::kUtf16Be}, "\xFE\xFF", 2, 1},
};

constexpr std::size_t kControlReach = 4096;  // a signature counts only if there is a control byte within this distance
constexpr std::size_t kLeastWideSize = 64;   // an encoding cannot be recognised from fewer bytes

bool has_control(std::string_view text) {
    bool has_one = false;
    for (const char c : text.substr(0, kControlReach)) {  // no early exit, so that compilers vectorise the loop
        has_one |= static_cast<unsigned char>(c) < ' ' && c != '\t' && c != '\r' && c != '\n';
    }
    return has_one;
}

bool has(std::string_view text, const Signature& signature) {
    return text.size() >= signature.offset && text.substr(signature.offset).starts_with(signature.bytes.view());
}

// A number in a tar header: octal digits after blanks, followed by a blank or a NUL. Returns nothing if the field
// contains anything else.
std::optional<unsigned> octal(std::string_view field) {
    field.remove_prefix(std::min(field.find_first_not_of(' '), field.size()));
    const std::string_view digits = field.substr(0, field.find_first_not_of("01234567"));
    if (digits.empty() || digits.size() == field.size()) return std::nullopt;
    if (field[digits.size()] != ' ' && field[digits.size()] != '\0') return std::nullopt;
    unsigned number = 0;
    for (const char digit : digits) number = number * 8 + static_cast<unsigned>(digit - '0');
    return number;
}

// The oldest tar archives have no signature. But every tar header contains the sum of its own bytes, with the bytes of
// the sum itself counted as blanks (POSIX.1-1988, 10.1.1).
bool is_tar(std::string_view text) {
    constexpr std::size_t kHeadSize = 512;
    constexpr std::size_t kSumOffset = 148;
    constexpr std::size_t kSumSize = 8;
    if (text.size() < kHeadSize) return false;
    unsigned sum = kSumSize * ' ';
    for (std::size_t i = 0; i < kHeadSize; ++i) {
        if (i < kSumOffset || i >= kSumOffset + kSumSize) sum += static_cast<unsigned char>(text[i]);
    }
    return octal(text.substr(kSumOffset, kSumSize)) == sum;
}

// Whether a member of a zip archive begins somewhere, as in one behind a program that unpacks it: with the version that
// is needed to read it, 1.0 or 2.0.
bool has_zip_member(std::string_view text) {
    using namespace std::string_view_literals;
    return text.find("PK\3\4\x0A\0"sv) != std::string_view::npos ||
           text.find("PK\3\4\x14\0"sv) != std::string_view::npos;
}

// How many NULs there are at offsets 0, 1, 2 and 3 modulo 4.
struct NulCounts {
    explicit NulCounts(std::string_view text) : rows(text.size() / 4) {
        for (std::size_t i = 0; i < rows * 4; ++i)
            if (text[i] == '\0') ++nuls[i % 4];
    }

    // Whether the text fits the encoding: of the bytes that would be NUL if the text were ASCII in this encoding, at
    // least 90 % are NUL, and of the other bytes less than 5 %.
    bool fit(const WideEncoding& encoding) const {
        for (std::size_t i = 0; i < encoding.unit; ++i) {
            std::size_t count = 0;
            for (std::size_t lane = i; lane < 4; lane += encoding.unit) count += nuls[lane];
            const std::size_t all = rows * (4 / encoding.unit);
            if (!(i == encoding.character ? count * 20 < all : count * 10 >= all * 9)) return false;
        }
        return true;
    }

    std::size_t rows;
    std::array<std::size_t, 4> nuls{};
};

}  // namespace

std::optional<ForeignFormat> foreign_format(std::span<const std::uint8_t> head) {
    const std::string_view text(reinterpret_cast<const char*>(head.data()), std::min(head.size(), kSniffSize));
    for (const OwnFile& own : kOwnFiles) {
        if (text.starts_with(own.begin.view())) return ForeignFormat{own.name.view(), {}};
    }
    for (const WideEncoding& encoding : kEncodings) {
        if (text.starts_with(encoding.mark.view())) return encoding.format.described();
    }
    for (const TextFormat& row : kTextFormats) {
        if (text.starts_with(row.begin.view())) return row.format.described();
    }
    if (!has_control(text)) return std::nullopt;
    for (const Row& row : kRows) {
        if (has(text, row.first) && has(text, row.second)) return row.format.described();
    }
    if (is_tar(text)) return kTar.described();
    if (has_zip_member(text)) return kZip.described();
    if (text.size() < kLeastWideSize) return std::nullopt;
    const auto* encoding = std::ranges::find_if(
        kEncodings, [counts = NulCounts(text)](const WideEncoding& row) { return counts.fit(row); });
    return encoding == std::end(kEncodings) ? std::nullopt : std::optional(encoding->format.described());
}

void refuse_foreign(std::span<const std::uint8_t> head) {
    const auto format = foreign_format(head);
    if (!format) return;
    std::string text = std::string(format->name) + ", not CSV";
    if (!format->command.empty()) text.append("; this prints it as CSV: ").append(format->command);
    throw InputError(text);
}

}  // namespace cleave
