// Signed reports. tests/system/signed_report_test.py tries attacks on them.
#include "features/redact/run/signed_report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>

#include "cleave/error.h"
#include "inputs.h"

namespace cleave::test::signed_report_test {

const std::string kSecret = "0123456789abcdef0123456789abcdef";
const std::string kSha256(64, 'a');

KeyRing ring(const std::string& secret = kSecret) {
    const std::array<NamedKey, 1> keys = {{{"audit", bytes_of(secret)}}};
    return KeyRing({}, keys);
}

// What stage_report() returns has more members.
Json report() {
    Json json;
    json["cleave"] = 1;
    json["input"]["path"] = "in.csv";
    return json;
}

ReportedFiles files() {
    return {reported_input({25, kSha256}, ring(), "audit"),
            {{"p1.csv", {14, kSha256}, 2}, {"-", {11, kSha256}, 1}},
            ReportedFile{"m", {7, kSha256}, {}}};
}

TEST(SignedReport, HasTwoLinesThatListTheFiles) {
    const std::string text = signed_report(report(), files(), ring(), "audit");
    EXPECT_EQ(std::ranges::count(text, '\n'), 2);
    EXPECT_TRUE(is_authentic(text, ring(), "audit"));
    const ReportedFiles there = files_of_report(text);
    EXPECT_EQ(there.input, files().input);
    // From Python's hmac and hashlib: see tests/system/signed_report_test.py.
    EXPECT_EQ(there.input.size, 25U);
    EXPECT_EQ(there.input.hmac_sha256, "8f20c4eb7752bee3e32a76c3e8e22e0aeae69c802a6053ac00b1188abb27905a");
    ASSERT_EQ(there.pieces.size(), 2U);
    EXPECT_EQ(there.pieces[0].name, "p1.csv");
    EXPECT_EQ(there.pieces[0].content, (ContentDigest{14, kSha256}));
    EXPECT_EQ(there.pieces[0].records, 2U);
    ASSERT_TRUE(there.manifest);
    EXPECT_EQ(there.manifest->name, "m");
    EXPECT_EQ(there.manifest->records, std::nullopt);
}

TEST(SignedReport, IsNotAuthenticWithAnotherKeyOrAnotherByte) {
    const std::string text = signed_report(report(), files(), ring(), "audit");
    EXPECT_FALSE(is_authentic(text, ring("1123456789abcdef0123456789abcdef"), "audit"));
    for (std::size_t i = 0; i < text.size(); ++i) {
        std::string changed = text;
        changed[i] = static_cast<char>(changed[i] ^ 1);
        EXPECT_FALSE(is_authentic(changed, ring(), "audit")) << i;
        EXPECT_FALSE(is_authentic(text.substr(0, i), ring(), "audit")) << i;
    }
    EXPECT_FALSE(is_authentic("", ring(), "audit"));
    EXPECT_THROW(is_authentic(text, ring(), "other"), ArgumentError);
    EXPECT_THROW(signed_report(report(), files(), ring(), "other"), ArgumentError);
}

TEST(SignedReport, IsReadOnlyIfItIsWhole) {
    const std::string text = signed_report(report(), files(), ring(), "audit");
    for (std::size_t size = 0; size < text.size(); ++size) {
        EXPECT_THROW(files_of_report(text.substr(0, size)), InputError) << size;
    }
    EXPECT_THROW(files_of_report("\n" + text), InputError);
    EXPECT_THROW(files_of_report(" " + text), InputError);
}

TEST(SignedReport, IsNotLargerThanWhatIsRead) {
    Json large = report();
    large["unnamed"] = std::string(kMaxSignedReport, 'x');
    EXPECT_THROW(signed_report(large, files(), ring(), "audit"), ArgumentError);
}

TEST(SignedReport, NamesFilesBeneathItsFolder) {
    EXPECT_EQ(name_in_report("r.json", "p.csv"), "p.csv");
    EXPECT_EQ(name_in_report("r.json", "a/./b//p.csv"), "a/b/p.csv");
    EXPECT_EQ(name_in_report("out/r.json", "out/p.csv"), "p.csv");
    EXPECT_EQ(name_in_report("/out/r.json", "/out/a/p.csv"), "a/p.csv");
    EXPECT_EQ(name_in_report("/dev/stdout", "out/p.csv"), "out/p.csv");
    for (const auto& [of_report, path] :
         {std::pair("out/r.json", "p.csv"), std::pair("r.json", "../p.csv"), std::pair("r.json", "/tmp/p.csv"),
          std::pair("/out/r.json", "out/p.csv"), std::pair("/r.json", "/dev/stdout"), std::pair("r.json", "./-"),
          std::pair("r.json", "\xFF.csv")}) {
        EXPECT_THROW(name_in_report(of_report, path), ArgumentError) << of_report << ' ' << path;
    }
}

}  // namespace cleave::test::signed_report_test
