// Text becomes UTF-8, however its bytes arrive. containers.case and encodings_test.py compare it with others.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cleave/error.h"
#include "cleave/input.h"
#include "features/compressed/text_decoder.h"
#include "inputs.h"
#include "pipe_input.h"
#include "temporary_directory.h"

namespace cleave::test::text_decoder_test {

std::string encoded(const std::u16string& text, Encoding encoding) {
    std::string bytes;
    for (const char16_t unit : text) {
        const auto low = static_cast<char>(unit & 0xFF);
        const auto high = static_cast<char>(unit >> 8);
        bytes += encoding == Encoding::kUtf16Le ? std::string{low, high} : std::string{high, low};
    }
    return bytes;
}

void append_pair(std::u16string& text, char32_t character) {
    text += static_cast<char16_t>(0xD800 + ((character - 0x10000) >> 10));
    text += static_cast<char16_t>(0xDC00 + ((character - 0x10000) & 0x3FF));
}

// By division: six bits for each further byte, and what is left of the first.
std::string utf8(char32_t character) {
    if (character < 0x80) return {static_cast<char>(character)};
    const std::size_t further = character < 0x800 ? 1 : character < 0x10000 ? 2 : 3;
    std::string bytes(further + 1, '\0');
    for (std::size_t i = further; i > 0; --i, character /= 64) bytes[i] = static_cast<char>(0x80 + character % 64);
    constexpr unsigned kFirst[] = {0, 0xC0, 0xE0, 0xF0};
    bytes[0] = static_cast<char>(kFirst[further] + character);
    return bytes;
}

struct Converted {
    std::string text;
    std::string error;
};

Converted convert(std::string_view bytes, Encoding encoding, std::size_t part, bool keeps_invalid = false) {
    const auto decoder = make_text_decoder(encoding, keeps_invalid);
    Converted converted;
    try {
        while (!bytes.empty()) {
            const auto from = bytes_of(bytes.substr(0, part));
            const auto text = decoder ? decoder->decode(from) : from;
            converted.text.append(text.begin(), text.end());
            bytes.remove_prefix(std::min(part, bytes.size()));
        }
        if (decoder) decoder->finish();
    } catch (const InputError& error) {
        converted.error = error.what();
    }
    return converted;
}

constexpr std::size_t kParts[] = {1, 2, 3, 31, 32, 33, 1000, 1 << 20};
constexpr Encoding kBoth[] = {Encoding::kUtf16Le, Encoding::kUtf16Be};

TEST(Utf16Decoder, EveryCharacterBecomesThatOfUtf8) {
    std::u16string text;
    std::string wanted;
    const auto step = static_cast<char32_t>(stride(3, 11));
    for (char32_t character = 0; character <= 0x10FFFF; character += step) {
        if (character >= 0xD800 && character < 0xE000) continue;
        if (character < 0x10000) {
            text += static_cast<char16_t>(character);
        } else {
            append_pair(text, character);
        }
        wanted += utf8(character);
    }
    for (const Encoding encoding : kBoth) {
        const std::string bytes = encoded(text, encoding);
        for (const std::size_t part : {std::size_t{1}, std::size_t{65'536}, bytes.size()}) {
            const Converted converted = convert(bytes, encoding, part);
            EXPECT_EQ(converted.error, "");
            EXPECT_TRUE(converted.text == wanted) << part;
        }
    }
}

// Runs of ASCII of all lengths, between other characters, at all distances from the ends of the parts.
TEST(Utf16Decoder, TheGroupsChangeNothing) {
    Random random(11);
    for (int i = 0; i < 300; ++i) {
        std::u16string text;
        std::string wanted;
        while (text.size() < 200) {
            for (std::size_t count = random.below(70); count > 0; --count) {
                const auto character = static_cast<char32_t>(random.below(0x80));
                text += static_cast<char16_t>(character);
                wanted += utf8(character);
            }
            constexpr char32_t kOthers[] = {0x80, 0xE9, 0x7FF, 0x800, 0x20AC, 0xFEFF, 0xFFFF, 0x10000, 0x1F600};
            const char32_t other = kOthers[random.below(std::size(kOthers))];
            if (other < 0x10000) {
                text += static_cast<char16_t>(other);
            } else {
                append_pair(text, other);
            }
            wanted += utf8(other);
        }
        for (const Encoding encoding : kBoth) {
            for (const std::size_t part : kParts) {
                EXPECT_EQ(convert(encoded(text, encoding), encoding, part).text, wanted);
            }
        }
    }
}

TEST(Utf16Decoder, ErrorsSayWhere) {
    const std::string before(40, 'x');
    const std::u16string wide(before.begin(), before.end());
    const std::u16string high(1, 0xD83D);
    const std::u16string low(1, 0xDE00);
    for (const Encoding encoding : kBoth) {
        const std::string begin = std::string(encoding_name(encoding)) + " text ";
        const auto expect = [&](const std::u16string& text, const std::string& rest, const std::string& what) {
            for (const std::size_t part : kParts) {
                EXPECT_EQ(convert(encoded(text, encoding) + rest, encoding, part).error,
                          begin + what + ", line 1 before its conversion)");
            }
        };
        expect(wide + low + wide, "", "with an unpaired surrogate (byte 80");
        expect(wide + high + wide, "", "with an unpaired surrogate (byte 80");
        expect(wide + high + high + low, "", "with an unpaired surrogate (byte 80");
        expect(wide + high, "", "with an unpaired surrogate (byte 80");
        expect(wide + high, "x", "with an unpaired surrogate (byte 80");
        expect(wide + high + low + low, "", "with an unpaired surrogate (byte 84");
        expect(wide, "x", "that ends within a character (byte 80");
        expect(u"", "x", "that ends within a character (byte 0");
        const std::u16string mark(1, 0xFEFF);
        EXPECT_EQ(convert(encoded(mark + u"a", encoding), encoding, 3).text,
                  "\xEF\xBB\xBF"
                  "a");
        EXPECT_EQ(convert("", encoding, 3).error, "");
    }
}

// What comes before an invalid byte is converted, whatever the parts.
TEST(TextDecoder, PartsChangeNothing) {
    const Encoding cp1252 = encoding_named("Windows 1252");
    Random random(12);
    for (unsigned i = rounds(1000); i > 0; --i) {
        const std::string before(random.below(70), 'x');
        const std::string bytes = before + "\x80\n\xE9" + before;
        const std::string text = before + "\xE2\x82\xAC\n\xC3\xA9" + before;
        const std::string place = std::to_string(bytes.size());
        for (const std::size_t part : kParts) {
            EXPECT_EQ(convert(bytes, cp1252, part).text, text);
            const Converted bad = convert(bytes + "\x81" + bytes, cp1252, part);
            EXPECT_EQ(bad.text, text);
            EXPECT_EQ(bad.error, "cp1252 text with byte 0x81, which the set does not define (byte " + place +
                                     ", line 2 before its conversion)");
            EXPECT_EQ(convert(bytes + "\x81", cp1252, part, true).text, text + "\xED\xB2\x81");

            EXPECT_EQ(convert(text, Encoding::kUtf8, part).text, text);
            EXPECT_EQ(convert(text + "\xF0\x9F\x98\x80" + text, Encoding::kUtf8, part).text,
                      text + "\xF0\x9F\x98\x80" + text);
            const std::string size = std::to_string(text.size());
            for (const std::string invalid : {"\xC3x", "\x81", "\xE2\x82x", "\xF0\x9F\x98\n", "\xED\xA0\x80", "\xFF"}) {
                const Converted wrong = convert(text + invalid + text, Encoding::kUtf8, part);
                EXPECT_EQ(wrong.text, text);
                EXPECT_NE(wrong.error.find(" text that is not valid (byte " + size + ", line 2)"), std::string::npos)
                    << wrong.error;
                EXPECT_EQ(convert(text + invalid, Encoding::kUtf8, part, true).text, text + invalid);
            }
            for (const std::string cut : {"\xC3", "\xE2\x82", "\xF0\x9F\x98"}) {
                EXPECT_EQ(convert(text + cut, Encoding::kUtf8, part).error,
                          "utf-8 text that ends within a character (byte " + size + ", line 2)");
            }
        }
    }
}

TEST(TextDecoder, NamesArePythons) {
    EXPECT_EQ(encoding_name(encoding_named("Latin-1")), "iso8859-1");
    EXPECT_EQ(encoding_named("UTF_16LE"), Encoding::kUtf16Le);
    EXPECT_EQ(encoding_named("U8"), Encoding::kUtf8);
    EXPECT_EQ(encoding_named("utf-8-sig"), Encoding::kUtf8Sig);
    EXPECT_EQ(encoding_named("auto"), Encoding::kAuto);
    for (const std::string_view name : encoding_names()) EXPECT_EQ(encoding_name(encoding_named(name)), name);
    EXPECT_THROW(encoding_named("shift_jis"), ArgumentError);
    EXPECT_THROW(encoding_named("bytes"), ArgumentError);
    EXPECT_THROW(encoding_named(""), ArgumentError);
}

TEST(TextDecoder, MarksAgree) {
    using namespace std::string_literals;
    const auto settled = [](Encoding wanted, const std::string& head) -> std::string {
        try {
            return std::string(encoding_name(settle_encoding(wanted, bytes_of(head), true)));
        } catch (const InputError& error) {
            return error.what();
        }
    };
    const std::string begin = " text that begins with the byte order mark of ";
    const std::string end = " (byte 0 before its conversion)";
    EXPECT_EQ(settled(Encoding::kUtf16Le, "\xFF\xFE"), "utf-16le");
    EXPECT_EQ(settled(Encoding::kUtf16Le, "\xFE\xFF"), "utf-16le" + begin + "utf-16be" + end);
    EXPECT_EQ(settled(Encoding::kUtf16Be, "\xFF\xFE"), "utf-16be" + begin + "utf-16le" + end);
    EXPECT_EQ(settled(Encoding::kUtf16Le, "\xFF\xFE\0\0"s), "utf-16le" + begin + "utf-32" + end);
    EXPECT_EQ(settled(Encoding::kUtf16Be, "\0\0\xFE\xFF"s), "utf-16be" + begin + "utf-32" + end);
    EXPECT_EQ(settled(Encoding::kUtf16Be, "\xEF\xBB\xBF"), "utf-16be" + begin + "utf-8" + end);
    EXPECT_EQ(settled(Encoding::kUtf16, "\xFE\xFF"), "utf-16be");
    EXPECT_EQ(settled(Encoding::kUtf16, "ab"), "utf-16 text without a byte order mark; it may be utf-16le or utf-16be");
    EXPECT_EQ(settled(encoding_named("cp1251"), "\xFF\xFE"), "cp1251" + begin + "utf-16le" + end);
    EXPECT_EQ(settled(Encoding::kUtf8Sig, "\xEF\xBB\xBF"), "utf-8-sig");
}

// The name of what is found in a pipe that gives its bytes one by one or all at once, and its text.
TEST(EncodedInput, FindsItsEncoding) {
    const TemporaryDirectory folder;
    const auto expect = [&](const std::string& bytes, Encoding wanted, std::string_view name, const std::string& text) {
        const Pipe pipe(bytes, {1, 2, 5, 65'536});
        for (const std::string& from : {folder.write("in", bytes), pipe.path()}) {
            Input input = Input::open(from, nullptr, Access::kRead, wanted);
            const auto found = input.peek(text.size() + 1);
            EXPECT_EQ(std::string(found.begin(), found.end()), text);
            EXPECT_EQ(encoding_name(input.encoding()), name);
            input.spool();
            EXPECT_EQ(encoding_name(input.encoding()), name);
        }
    };
    const std::string text = "id,name\n1,caf\xC3\xA9\n";
    expect(text, Encoding::kAuto, "utf-8", text);
    expect("\xEF\xBB\xBF" + text, Encoding::kAuto, "utf-8", "\xEF\xBB\xBF" + text);
    expect("\xEF\xBB\xBF" + text, Encoding::kUtf8Sig, "utf-8-sig", text);
    expect("id,name\n1,caf\xE9\n", Encoding::kAuto, "cp1252", text);
    expect(encoded(u"\uFEFFid,name\n1,caf\u00E9\n", Encoding::kUtf16Be), Encoding::kUtf16, "utf-16be", text);
    EXPECT_EQ(Input::open(folder.write("in", ""), nullptr, Access::kRead, Encoding::kAuto).encoding(), Encoding::kUtf8);
    Input unknown = Input::open(folder.write("in", "a,\xCF\xF0\xE8\xE2\n"), nullptr, Access::kRead, Encoding::kAuto);
    EXPECT_THROW(unknown.peek(1), InputError);
}

TEST(EncodedInput, IsAStreamOfUtf8) {
    std::u16string text;
    std::string wanted;
    for (int i = 0; i < 100'000; ++i) {
        for (const char digit : std::to_string(i)) text += static_cast<char16_t>(digit);
        text += u"\u00E9\n";
        wanted += std::to_string(i) + "\xC3\xA9\n";
    }
    const TemporaryDirectory folder;
    const std::string bytes = encoded(text, Encoding::kUtf16Be);
    const std::string path = folder.write("in", bytes);
    const Pipe pipe(bytes, {1, 2, 5, 65'536});
    for (const std::string& from : {path, pipe.path()}) {
        Input input = Input::open(from, nullptr, Access::kRead, Encoding::kUtf16Be);
        EXPECT_TRUE(input.is_stream());
        EXPECT_EQ(input.encoding(), Encoding::kUtf16Be);
        const auto head = input.peek(1000);
        EXPECT_EQ(std::string(head.begin(), head.end()), wanted.substr(0, 1000));
        input.spool();
        EXPECT_EQ(input.blob().size(), wanted.size());
        EXPECT_EQ(input.encoding(), Encoding::kUtf16Be);
        EXPECT_EQ(input.consumed(), bytes.size());
        std::vector<std::uint8_t> buffer;
        const auto all = input.blob().lend(0, wanted.size(), buffer);
        const std::string found(all.begin(), all.end());
        EXPECT_TRUE(found == wanted);
    }
    Input empty = Input::open(folder.write("empty", ""), nullptr, Access::kRead, Encoding::kUtf16Le);
    EXPECT_FALSE(empty.is_stream());
    Input plain = Input::open(path);
    EXPECT_EQ(plain.encoding(), Encoding::kBytes);
}

}  // namespace cleave::test::text_decoder_test
