// Text that looks like something that must not get out: examples written by hand, and random texts compared with
// regular expressions. tests/references/stages compares the command with an oracle.
#include <gtest/gtest.h>

#include <array>
#include <regex>
#include <string>

#include "features/redact/stage/forbidden/forbidden.h"
#include "guarded_memory.h"
#include "inputs.h"

namespace cleave::test::forbidden_test {

// Searches two copies of the text: one has unreadable memory before it, the other after it.
template <class Look>
bool found_in(std::string_view text, const Look& look) {
    static GuardedMemory memory;
    const auto value_of = [](std::string_view copy) { return Value{bytes_of(copy).data(), copy.size()}; };
    const bool found = look(value_of(memory.at_front(text)));
    EXPECT_EQ(look(value_of(memory.at_back(text))), found) << shown(text);
    return found;
}

bool has_mail(std::string_view text) { return found_in(text, has_mail_address); }
bool has_card(std::string_view text) { return found_in(text, has_card_number); }

// Tries every substring of the text.
bool has_card_by_parts(const std::string& text) {
    const std::string separators = "( |\t|[.]|/|-|\xC2\xA0|\xC2\xAD|\xE2\x80(\xAF|[\x90-\x95])|\xE2\x88\x92)";
    static const std::regex kPattern("[1-9](" + separators + "?[0-9]){12,18}");
    const auto is_digit_at = [&](std::size_t at) { return at < text.size() && text[at] >= '0' && text[at] <= '9'; };
    constexpr std::size_t kLongest = 19 + 18 * std::size_t{3};  // digits, and three-byte separators
    for (std::size_t begin = 0; begin < text.size(); ++begin) {
        for (std::size_t end = begin + 13; end <= std::min(text.size(), begin + kLongest); ++end) {
            if ((begin > 0 && is_digit_at(begin - 1)) || is_digit_at(end)) continue;
            std::string part = text.substr(begin, end - begin);
            if (!std::regex_match(part, kPattern)) continue;
            std::erase_if(part, [](char byte) { return byte < '0' || byte > '9'; });
            int sum = 0;
            for (std::size_t i = 0; i < part.size(); ++i) {
                const int digit = part[part.size() - 1 - i] - '0';
                const int weighted = i % 2 == 0 ? digit : 2 * digit;
                sum += weighted / 10 + weighted % 10;
            }
            if (sum % 10 == 0) return true;
        }
    }
    return false;
}

TEST(Forbidden, MailAddresses) {
    for (const char* text :
         {"ann@example.org", "write to <a.b+c%d_e-f@x-1.y.co> now", "@a@b.cd", "a@b.cd1", "a@b@c.de", "x@1.2.ab",
          "-@-.xx", "a@b.c.de", "\xC3\xA4n@b.de.", "ann@b\u00FCcher.example", "a@\xC3\xA4.de", "\xC3\xA4@b.de",
          "a@b.\xE4\xB8\xAD", "\"ann lee\"@x.example", "a@[192.0.2.1]", "to a@[IPv6:2001:db8::1]."}) {
        EXPECT_TRUE(has_mail(text)) << text;
    }
    for (const char* text : {"", "@", "a@b", "a@b.c", "a@b.c1", "a@.de", "a@b..de", "a @b.de", "@b.de", "a@ b.de",
                             "a@b.1de", "ann at example.org", "a@b_c.de", "a@[]", "a@[1.2", "a@[x.y]", "@[1.2.3.4]"}) {
        EXPECT_FALSE(has_mail(text)) << text;
    }
    const std::regex pattern(
        "[A-Za-z0-9._%+\"\x80-\xFF-]@(([A-Za-z0-9\x80-\xFF-]+\\.)+[A-Za-z\x80-\xFF]{2}"
        "|\\[[A-Za-z0-9.:]*[0-9][A-Za-z0-9.:]*\\])");
    Random random(1);
    for (unsigned round = 0; round < rounds(20'000); ++round) {
        const std::string text = random_noise(random, "aZ9-._@@.. \xC3\"[]:", random.below(24));
        ASSERT_EQ(has_mail(text), std::regex_search(text, pattern)) << shown(text);
    }
}

TEST(Forbidden, CardNumbers) {
    for (const char* text : {"4111111111111111", "4111 1111 1111 1111", "4111-1111-1111-1111", "card 378282246310005.",
                             "12 4111111111111111", "4111111111111111 9", "4222222222222", "6304000000000000000",
                             "x4111-1111 11111111x", "0 4111111111111111", "4111111111111111-", "4111.1111.1111.1111",
                             "4111/1111\t11111111", "4111\u00A01111\u201111111111", "4111\u2212111111111111",
                             "4111\u00AD1111\u20101111\u20151111", "4111\u202F111111111111"}) {
        EXPECT_TRUE(has_card(text)) << text;
    }
    for (const char* text :
         {"", "4111111111111112", "411111111111111", "4111  1111 1111 1111", "4111.-1111.1111.1111",
          "4111_111111111111", "4111\u201F111111111111", "4111\u200F111111111111", "4111\u2016111111111111",
          "4111\u00A1111111111111", "4111\u00E0111111111111", "04111111111111111", "14111111111111111",
          "0000000000000000", "4111111111111111000000", "41111111 text 11111111"}) {
        EXPECT_FALSE(has_card(text)) << text;
    }
    constexpr std::array kWide{"\xC2\xA0", "\xC2\xAD", "\xC2\xAE", "\xE2\x80\x93", "\xE2\x88\x92"};
    Random random(2);
    for (unsigned round = 0; round < rounds(3'000); ++round) {
        std::string text;
        for (std::size_t size = random.below(50); size > 0; --size) {
            if (random.chance(4)) {
                text += kWide[random.below(kWide.size())];
            } else {
                text += random.one_of(random.chance(80) ? "0123456789" : random.chance(80) ? " -" : "x \xC3\t./");
            }
        }
        ASSERT_EQ(has_card(text), has_card_by_parts(text)) << shown(text);
    }
}

void expect_found(bool (*look)(Value) noexcept, std::initializer_list<const char*> texts) {
    for (const char* text : texts) EXPECT_TRUE(found_in(text, look)) << text;
}
void expect_not_found(bool (*look)(Value) noexcept, std::initializer_list<const char*> texts) {
    for (const char* text : texts) EXPECT_FALSE(found_in(text, look)) << text;
}

TEST(Forbidden, AccountNumbers) {
    // The examples of the registry of ISO 13616.
    expect_found(has_iban, {"GB29 NWBK 6016 1331 9268 19", "GB29NWBK60161331926819", "at611904300234573201",
                            "pay to DE89 3704 0044 0532 0130 00.", "FR14-2004-1010-0505-0001-3M02-606",
                            "NO93\u00A08601\u00A01117\u00A0947", "(MT84MALT011000012345MTLCAST001S)",
                            "IBAN:BE68539007547034,", "x DE89370400440532013000 7"});
    expect_not_found(has_iban, {"", "GB29", "GB29 NWBK 6016 1331 9268 18", "GB28NWBK60161331926819",
                                "XX29NWBK60161331926819", "xGB29NWBK60161331926819", "GB29NWBK60161331926819x",
                                "1GB29NWBK60161331926819", "GB29  NWBK60161331926819", "GB29NWBK6016133192681",
                                "GBB9NWBK60161331926819", "G229NWBK60161331926819"});
}

TEST(Forbidden, PhoneNumbers) {
    expect_found(has_phone_number,
                 {"+43123456", "+1234567", "call +43 (1) 234-56.78!", "+1 (555) 010-9999", "+442071838750",
                  "(+49/30) 1234567", "+43\u00A01\u00A0234\u201156", "+123456789012345", "x +4312345678x",
                  "1 + +43123456", "++43123456", "+ 43 1 234 56", "+49 (0)30 / 123", "+49 (0)30 - 12345",
                  "+ (43) 123456", "+43 - 123456", "+\u00A043\u2011\u00A01\u00A0234\u201156"});
    expect_not_found(has_phone_number,
                     {"", "+", "+123456", "43123456", "+0123456789", "a+43123456", "1+43123456", "+43 1  x 23456",
                      "+1234567890123456", "+43--- 123456", "+    43123456", "+ 0123456789", "1 + 123456", "+ "});
}

TEST(Forbidden, IpAddresses) {
    expect_found(has_ip_address, {"192.0.2.1",
                                  "from 10.0.0.255.",
                                  "10.0.0.1:8080",
                                  "10.0.0.0/8",
                                  "::1",
                                  "2001:db8::1",
                                  "[2001:db8::1]:443",
                                  "1:2:3:4:5:6:7:8",
                                  "::ffff:192.0.2.1",
                                  "fe80::1%eth0",
                                  "1::",
                                  "a 0.0.0.0 b",
                                  "1:2:3:4:5:6:10.0.0.1",
                                  "to ::1:",
                                  "x=10.0.0.1;",
                                  "1::2:",
                                  "10.0.0.1::",
                                  "host:10.0.0.1",
                                  "host:10.0.0.1:http",
                                  "cafe:10.0.0.1",
                                  "1.2.3.4..",
                                  "...1.2.3.4...",
                                  "down.1.2.3.4",
                                  "at 10.0.0.1.Then",
                                  "5..1.2.3.4",
                                  "host:2001:db8::1",
                                  "ad:1:2:3:4:5:6:7:8",
                                  "decade:::1",
                                  "host:::1",
                                  "fe80::1:eth0",
                                  "node:fe80::1",
                                  "node:fe80::1:port",
                                  "at fe80::1.Then",
                                  "..::1..",
                                  ":2001:db8::1"});
    expect_not_found(has_ip_address, {"",
                                      "1.2.3",
                                      "1.2.3.4.5",
                                      "256.0.0.1",
                                      "01.2.3.4",
                                      "1.2.3.4x",
                                      "x1.2.3.4",
                                      "12:34:56",
                                      "::",
                                      "std::string",
                                      "1:2:3:4:5:6:7",
                                      "1:2:3:4:5:6:7:8:9",
                                      "1::2::3",
                                      "12345::1",
                                      "1:2:3:4:5:6:7:8::",
                                      "1..2.3.4",
                                      "0.1.2.3.4",
                                      "1.2.3.4.5.",
                                      "1::2:3::",
                                      "host::1",
                                      "x::ab::cd",
                                      "node::1",
                                      "ab::cd::x",
                                      "1:2:3:4:5:6:7:8:9",
                                      "1.2.3.1234",
                                      "1.2.3.4e",
                                      "ab::x",
                                      "0.5::1",
                                      "::1.5",
                                      ":",
                                      "a:b",
                                      "1.2.3.",
                                      "1234.1.2.3"});
}

TEST(Forbidden, Days) {
    expect_found(has_day, {"1980-05-17", "born 17.5.1980.", "05/17/1980", "17/05/1980", "1980/5/7", "2024-02-29T10:20",
                           "2099-12-31", "1900-01-01", "(1.1.2000)", "x 31-12-1999 y", "17. 5. 2024", "17.5. 2024",
                           "17.\u00A05.\u202F2024", "2024- 05- 17", "2024-02-29t10:20", "2024-02-29Z", "2024-02-29z"});
    expect_not_found(has_day, {"",
                               "1980-13-01",
                               "1980-02-30",
                               "1899-12-31",
                               "2100-01-01",
                               "17.5.80",
                               "1980-05",
                               "1980-05/17",
                               "x1980-05-17",
                               "1980-05-17x",
                               "11980-05-17",
                               "1980-005-17",
                               "1980-05-171",
                               "31.31.1999",
                               "1980 05 17",
                               "0.5.1980",
                               "19800517",
                               "17.  5. 2024",
                               "17 .5.2024",
                               "17. 5.",
                               "17. 5. ",
                               "1980-05-17s",
                               "17.\u00A15.2024"});
}

TEST(Forbidden, Secrets) {
    const std::string word = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    const std::string more = word + word;
    const auto found = [](const std::string& text) { return found_in(text, has_secret); };
    EXPECT_TRUE(found("AKIA" + std::string("ABCDEFGH01234567")));
    EXPECT_TRUE(found("id=ASIA" + std::string("ABCDEFGH01234567") + ","));
    EXPECT_TRUE(found("ghp_" + word.substr(0, 36)));
    EXPECT_TRUE(found("key hf_" + word.substr(0, 34) + "."));
    EXPECT_TRUE(found("sk-ant-" + more.substr(0, 90)));
    EXPECT_TRUE(found("Bearer eyJ" + more.substr(0, 30) + "." + more.substr(0, 40)));
    EXPECT_TRUE(found("SG." + more.substr(0, 22) + "." + more.substr(0, 43)));
    EXPECT_TRUE(found("-----BEGIN RSA PRIVATE KEY-----\nMIIE"));
    EXPECT_TRUE(found("x-----BEGIN PRIVATE KEY-----"));
    EXPECT_TRUE(found("-----BEGIN X-----BEGIN OPENSSH PRIVATE KEY-----"));
    EXPECT_FALSE(found("AKIA" + std::string("ABCDEFGH0123456")));
    EXPECT_TRUE(found("AKIA" + std::string("ABCDEFGH012345678"))) << "no longest size";
    EXPECT_TRUE(found("my_AKIA" + std::string("ABCDEFGH01234567")));
    EXPECT_TRUE(found("id%3DAKIA" + std::string("ABCDEFGH01234567")));
    EXPECT_FALSE(found("id%3xAKIA" + std::string("ABCDEFGH01234567")));
    EXPECT_FALSE(found("3DAKIA" + std::string("ABCDEFGH01234567")));
    EXPECT_FALSE(found("xAKIA" + std::string("ABCDEFGH01234567")));
    EXPECT_FALSE(found("AKIA" + std::string("abcdefgh01234567")));
    EXPECT_FALSE(found("ghp_" + word.substr(0, 35)));
    for (const char* before : {"", "x", "my_", "%3D", "5", "gh", "-"}) {
        EXPECT_TRUE(found(before + ("ghp_" + word.substr(0, 37)))) << before;
        EXPECT_TRUE(found(before + ("github_pat_" + more.substr(0, 82)))) << before;
        EXPECT_TRUE(found(before + ("sk-ant-" + more.substr(0, 100)))) << before;
        EXPECT_TRUE(found(before + ("AGE-SECRET-KEY-1" + std::string(58, 'Q')))) << before;
    }
    EXPECT_FALSE(found("hp_" + word.substr(0, 37)));
    EXPECT_FALSE(found("github_pa_" + more.substr(0, 82)));
    EXPECT_TRUE(found("-----BEGIN PGP PRIVATE KEY BLOCK-----\n"));
    EXPECT_FALSE(found("-----BEGIN PGP PUBLIC KEY BLOCK-----"));
    EXPECT_FALSE(found("-----BEGIN PGP PRIVATE KEY BLOC-----"));
    EXPECT_FALSE(found("-----BEGIN CERTIFICATE-----"));
    EXPECT_FALSE(found("-----BEGIN A VERY LONG KIND OF THING PRIVATE KEY-----"));
    EXPECT_FALSE(found(more));
    EXPECT_FALSE(found(""));
}

}  // namespace cleave::test::forbidden_test
