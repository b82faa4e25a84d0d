// Archives in every form that a file in them may have, written field by field; and what is not one file, or no archive.
#include <gtest/gtest.h>

#include <zlib.h>

#include <optional>
#include <string>
#include <vector>

#include "cleave/compression.h"
#include "cleave/error.h"
#include "cleave/input.h"
#include "features/compressed/decoder.h"
#include "inputs.h"
#include "packed.h"
#include "pipe_input.h"
#include "temporary_directory.h"

namespace cleave::test::zip_decoder_test {

using namespace std::string_literals;

std::string number(std::uint64_t value, std::size_t size) {
    std::string bytes;
    for (std::size_t i = 0; i < size; ++i) bytes += static_cast<char>(value >> 8 * i);
    return bytes;
}

std::string deflated(const std::string& text) {
    z_stream stream{};
    EXPECT_EQ(::deflateInit2(&stream, 6, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
    std::string out(::deflateBound(&stream, text.size()), '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));  // zlib only reads it
    stream.avail_in = static_cast<uInt>(text.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    EXPECT_EQ(::deflate(&stream, Z_FINISH), Z_STREAM_END);
    out.resize(stream.total_out);
    ::deflateEnd(&stream);
    return out;
}

struct Member {
    std::string name = "a.csv";
    std::string text = "h\n1,2\n\"x\ny\",3\n";
    unsigned method = 8;
    unsigned flags = 0;
    std::size_t descriptor = 0;  // the width of its sizes; 0: there is none
    bool has_signature = true;   // of the descriptor
    bool is_large = false;       // its sizes are in a zip64 field
    std::string extra = {};
};

struct Options {
    bool has_large_end = false;
    bool shows_maximum = false;  // in the end after a large end
    std::string comment = {};
};

// The sizes of a member as in its own fields and in the zip64 field, or unknown as before a descriptor.
struct Sizes {
    std::string own, extra;
};
Sizes sizes_of(const Member& member, std::size_t packed, bool is_known) {
    const std::uint64_t plain = is_known ? member.text.size() : 0;
    const std::uint64_t size = is_known ? packed : 0;
    if (!member.is_large) return {number(size, 4) + number(plain, 4), ""};
    return {number(UINT32_MAX, 4) + number(UINT32_MAX, 4), "\1\0\x10\0"s + number(plain, 8) + number(size, 8)};
}

std::string archive(const std::vector<Member>& members, const Options& options = {}) {
    std::string bytes;
    std::string directory;
    for (const Member& member : members) {
        const std::string data = member.method == 8 ? deflated(member.text) : member.text;
        const auto checksum = ::crc32(0, bytes_of(member.text).data(), static_cast<uInt>(member.text.size()));
        const bool has_descriptor = member.descriptor > 0;
        const std::string begin =
            number(member.flags | (has_descriptor ? 8U : 0U), 2) + number(member.method, 2) + number(0x5A'21'60'00, 4);
        const Sizes sizes = sizes_of(member, data.size(), !has_descriptor);
        const Sizes listed = sizes_of(member, data.size(), true);
        const std::size_t offset = bytes.size();
        bytes += "PK\3\4"s + number(20, 2) + begin + number(has_descriptor ? 0 : checksum, 4) + sizes.own +
                 number(member.name.size(), 2) + number(member.extra.size() + sizes.extra.size(), 2) + member.name +
                 member.extra + sizes.extra + data;
        if (has_descriptor) {
            bytes += (member.has_signature ? "PK\7\10"s : ""s) + number(checksum, 4) +
                     number(data.size(), member.descriptor) + number(member.text.size(), member.descriptor);
        }
        directory += "PK\1\2"s + number(20, 2) + number(20, 2) + begin + number(checksum, 4) + listed.own +
                     number(member.name.size(), 2) + number(member.extra.size() + listed.extra.size(), 2) +
                     number(3, 2) + number(0, 2) + number(0, 6) + number(offset, 4) + member.name + member.extra +
                     listed.extra + "..."s;
    }
    const std::size_t end = bytes.size() + directory.size();
    const std::string numbers = number(directory.size(), 4) + number(bytes.size(), 4);
    if (options.has_large_end) {
        directory += "PK\6\6"s + number(44, 8) + number(45, 2) + number(45, 2) + number(0, 8) +
                     number(members.size(), 8) + number(members.size(), 8) + number(directory.size(), 8) +
                     number(bytes.size(), 8) + "PK\6\7"s + number(0, 4) + number(end, 8) + number(1, 4);
    }
    const std::uint64_t count = options.shows_maximum ? 0xFFFF : members.size();
    return bytes + directory + "PK\5\6"s + number(0, 4) + number(count, 2) + number(count, 2) +
           (options.shows_maximum ? number(UINT64_MAX, 8) : numbers) + number(options.comment.size(), 2) +
           options.comment;
}

struct Decoded {
    std::string text;
    std::string error;
    bool is_whole = false;
    bool has_place = true;

    std::optional<std::string> whole_text() const {
        return is_whole && error.empty() ? std::optional(text) : std::nullopt;
    }
};

Decoded decode(std::string_view stream, std::size_t part, std::size_t room = 1000) {
    const auto decoder = make_decoder(Compression::kZip);
    std::vector<std::uint8_t> into(room);
    Decoded decoded;
    try {
        while (!stream.empty()) {
            auto from = bytes_of(stream.substr(0, part));
            stream.remove_prefix(from.size());
            while (const std::size_t size = decoder->decode(from, into)) {
                decoded.text.append(into.begin(), into.begin() + static_cast<std::ptrdiff_t>(size));
            }
            EXPECT_TRUE(from.empty());
        }
        decoded.is_whole = decoder->is_whole();
    } catch (const InputError& error) {
        decoded.error = error.what();
    }
    decoded.has_place = decoder->has_place();
    return decoded;
}

constexpr std::size_t kParts[] = {1, 7, 1 << 20};

// Every form of a file.
std::vector<std::pair<std::string, std::string>> archives() {
    std::vector<std::pair<std::string, std::string>> all;  // with their texts
    const std::string large = [] {
        std::string text;
        for (int i = 0; i < 20'000; ++i) text += std::to_string(i * 7919 % 10'007) + "\n";
        return text;
    }();
    for (const std::string& text : {""s, Member().text, large}) {
        for (const unsigned method : {0U, 8U}) {
            for (const std::size_t descriptor : {std::size_t{0}, std::size_t{4}, std::size_t{8}}) {
                if (method == 0 && descriptor > 0 && !text.empty()) continue;
                for (const bool is_large : {false, true}) {
                    Member member{.text = text, .method = method, .descriptor = descriptor, .is_large = is_large};
                    if (method == 0 && descriptor > 0 && is_large) continue;
                    all.emplace_back(archive({member}), text);
                    member.has_signature = false;
                    member.extra = "UT\5\0\1abcd"s;
                    all.emplace_back(archive({member}, {.has_large_end = true, .shows_maximum = is_large}), text);
                }
            }
        }
    }
    const Member folder{.name = "d/", .text = "", .method = 0};
    const Member other{.name = "__MACOSX/d/._a.csv", .text = large, .descriptor = 4};
    const Member file{.name = "d/a.csv"};
    all.emplace_back(archive({folder, file, other}, {.comment = "PK\5\6 and more"}), file.text);
    all.emplace_back(archive({other, folder, file}), file.text);
    return all;
}

TEST(ZipDecoder, ReadsTheOneFile) {
    for (const auto& [bytes, text] : archives()) {
        EXPECT_EQ(compression_of(bytes_of(bytes)), Compression::kZip);
        for (const std::size_t part : kParts) {
            for (const std::size_t room : {std::size_t{1}, std::size_t{65'536}}) {
                if (room == 1 && text.size() > 1000) continue;
                const Decoded decoded = decode(bytes, part, room);
                EXPECT_EQ(decoded.error, "");
                EXPECT_TRUE(decoded.whole_text() == text);
            }
        }
    }
}

TEST(ZipDecoder, NoPartOfAnArchiveIsWhole) {
    for (const auto& [bytes, text] : archives()) {
        if (text.size() > 1000 || bytes.size() > 2000) continue;
        for (std::size_t size = 0; size < bytes.size(); ++size) {
            const Decoded decoded = decode(std::string_view(bytes).substr(0, size), 100);
            EXPECT_EQ(decoded.error, "") << size;
            EXPECT_FALSE(decoded.is_whole) << size;
        }
        EXPECT_EQ(decode(bytes + "x", 100).error, "corrupt zip data");
    }
}

// Some bits change nothing: times, versions, what comments say.
TEST(ZipDecoder, NoBitOfAnArchiveChangesTheText) {
    std::size_t refused = 0;
    std::size_t all = 0;
    for (const auto& [bytes, text] : archives()) {
        if (text.size() > 1000 || bytes.size() > 2000) continue;
        for (std::size_t i = 0; i < bytes.size() * 8; i += stride(3, 11)) {
            std::string changed = bytes;
            changed[i / 8] = static_cast<char>(changed[i / 8] ^ 1 << i % 8);
            const Decoded decoded = decode(changed, 1 << 20);
            EXPECT_EQ(decode(changed, 1).error, decoded.error) << i;
            EXPECT_TRUE(!decoded.is_whole || decoded.text == text) << i;
            // Whoever believes the directory alone reads the same.
            const auto unpacked = decoded.is_whole ? unzipped(changed) : std::nullopt;
            EXPECT_EQ(unpacked.value_or(text), text) << i;
            refused += decoded.is_whole ? 0 : 1;
            ++all;
        }
    }
    EXPECT_GT(refused * 2, all);
}

// Bytes that are damaged in many places never crash it, and yield the text or nothing.
TEST(ZipDecoder, NoNoiseChangesTheText) {
    Random random(5);
    for (const auto& [bytes, text] : archives()) {
        if (bytes.size() > 2000) continue;
        for (int i = 0; i < 300; ++i) {
            std::string changed = bytes;
            for (std::size_t count = 1 + random.below(4); count > 0; --count) {
                const std::size_t place = random.below(changed.size());
                if (random.chance(30)) changed.erase(place, 1 + random.below(9));
                if (random.chance(30))
                    changed.insert(place, random_noise(random, "PK\1\2\3\4\5\6", 1 + random.below(5)));
                if (changed.empty()) changed = "P";
                changed[random.below(changed.size())] = static_cast<char>(random.below(256));
            }
            const Decoded decoded = decode(changed, 1 + random.below(300));
            EXPECT_TRUE(!decoded.is_whole || decoded.text == text);
        }
    }
}

std::string error_of(const std::string& bytes, bool has_place = false) {
    for (const std::size_t part : kParts) {
        const Decoded decoded = decode(bytes, part);
        if (part != kParts[2]) continue;
        EXPECT_EQ(decoded.has_place, has_place);
        return decoded.error;
    }
    return "";
}

TEST(ZipDecoder, RefusesWhatItDoesNotRead) {
    EXPECT_EQ(error_of(archive({{.flags = 1}})), "an encrypted zip archive; this asks for the password: unzip -p FILE");
    EXPECT_EQ(error_of(archive({{.method = 14}})),
              "a zip archive with compression method 14; this prints it as CSV: 7z x -so FILE");
    EXPECT_EQ(
        error_of(archive({{.method = 0, .descriptor = 4}})),
        "a zip archive that states the size of a stored file only after it; this prints it as CSV: unzip -p FILE");
    EXPECT_EQ(error_of(archive({})), "a zip archive without a file");
    EXPECT_EQ(error_of(archive({{.name = "d/", .text = ""}})), "a zip archive without a file");
    EXPECT_EQ(error_of(archive({{.name = "a"}, {.name = "d/b"}, {.name = "c"}})),
              "a zip archive with several files: a, d/b, ...; this prints one of them: unzip -p FILE MEMBER");
    EXPECT_EQ(error_of(archive({{.flags = 1U << 5}}), true), "corrupt zip data");
    EXPECT_EQ(error_of(archive({{.name = "d/"}}), true), "corrupt zip data");
}

// The directory and the headers must describe the same archive: else programs would differ about what is in it.
TEST(ZipDecoder, TheDirectoryMustAgree) {
    const std::string one = archive({{.name = "a"}});
    const std::string other = archive({{.name = "b"}});
    const std::string two = archive({{.name = "a"}, {.name = "x/", .text = ""}});
    const auto directory = [](const std::string& bytes) { return bytes.find("PK\1\2"); };
    EXPECT_EQ(error_of(one.substr(0, directory(one)) + other.substr(directory(other)), true), "corrupt zip data");
    EXPECT_EQ(error_of(one.substr(0, directory(one)) + two.substr(directory(two)), true), "corrupt zip data");
    EXPECT_EQ(error_of(two.substr(0, directory(two)) + one.substr(directory(one)), true), "corrupt zip data");
    EXPECT_EQ(error_of(one.substr(0, directory(one)) + one.substr(one.find("PK\5\6")), true), "corrupt zip data");
    EXPECT_EQ(error_of(one + one, true), "corrupt zip data");
}

std::string error_of_input(const std::string& path) {
    try {
        Input input = Input::open(path);
        input.spool();
    } catch (const InputError& error) {
        return error.what();
    }
    return "";
}

// A file's directory is read first.
TEST(ZipInput, AFileNamesItsFiles) {
    const TemporaryDirectory folder;
    std::vector<Member> members{{.name = "d/", .text = ""}, {.name = "a.csv"}};
    for (const bool has_large_end : {false, true}) {
        const Options options{.has_large_end = has_large_end, .shows_maximum = has_large_end, .comment = "PK\5\6"};
        EXPECT_EQ(error_of_input(folder.write("one.zip", archive(members, options))), "");
        auto more = members;
        more.push_back({.name = std::string(200, 'b'), .flags = 1});
        EXPECT_EQ(error_of_input(folder.write("two.zip", archive(more, options))),
                  "a zip archive with 2 files: a.csv, " + std::string(100, 'b') +
                      "...; this prints one of them: unzip -p FILE MEMBER");
        for (int i = 0; i < 10; ++i) more.push_back({.name = std::to_string(i)});
        EXPECT_EQ(error_of_input(folder.write("many.zip", archive(more, options))),
                  "a zip archive with 12 files: a.csv, " + std::string(100, 'b') +
                      "..., 0, 1, 2, 3, 4, 5, 6, 7, ...; this prints one of them: unzip -p FILE MEMBER");
    }
    const Pipe pipe(archive({{.name = "a"}, {.name = "b"}}), {3});
    EXPECT_EQ(error_of_input(pipe.path()),
              "a zip archive with several files: a, b, ...; this prints one of them: unzip -p FILE MEMBER");
}

TEST(ZipInput, NoDamageMisleadsTheLookAtTheDirectory) {
    const TemporaryDirectory folder;
    Random random(9);
    const std::string bytes = archive({{.name = "d/", .text = ""}, {.name = "a"}}, {.has_large_end = true});
    for (std::size_t i = 4; i < bytes.size(); ++i) {
        std::string changed = bytes;
        changed[i] = static_cast<char>(random.below(256));
        const std::string path = folder.write("in.zip", changed);
        const Decoded wanted = decode(changed, 1 << 20);
        EXPECT_EQ(error_of_input(path).empty(), wanted.whole_text().has_value()) << i;
    }
    for (std::size_t size = 4; size < bytes.size(); ++size) {
        const std::string path = folder.write("in.zip", bytes.substr(0, size));
        EXPECT_EQ(error_of_input(path), "zip data that ends too early (compressed byte " + std::to_string(size) + ")");
    }
}

TEST(ZipMagic, OfficeDocumentsAreNotMeant) {
    EXPECT_EQ(compression_of(bytes_of(archive({{.name = "[Content_Types].xml"}, {.name = "a"}}))), Compression::kNone);
    EXPECT_EQ(compression_of(bytes_of(
                  archive({{.name = "mimetype", .text = "application/vnd.oasis.opendocument.text", .method = 0}}))),
              Compression::kNone);
    EXPECT_EQ(compression_of(bytes_of(archive({{.name = "mimetypes.csv"}}))), Compression::kZip);
    EXPECT_EQ(compression_of(bytes_of("PK\3\4"s)), Compression::kZip);
    EXPECT_EQ(compression_of(bytes_of(archive({}))), Compression::kZip);
    EXPECT_EQ(compression_of(bytes_of("PK,a\n1,2\n"s)), Compression::kNone);
}

}  // namespace cleave::test::zip_decoder_test
