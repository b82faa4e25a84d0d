// What is taken from answers, and what is not.
#include "answers.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace cleave::store {
namespace {

TEST(Answers, TextOfElements) {
    const std::string xml = "<A><Id>a&amp;b&lt;&gt;&apos;&#39;</Id><ETag>&quot;x&#34;</ETag><Id>2</Id><E></E></A>";
    EXPECT_EQ(text_in(xml, "Id"), "a&b<>''");
    EXPECT_EQ(text_in(xml, "ETag"), "\"x\"");
    EXPECT_EQ(text_in(xml, "E"), "");
    EXPECT_EQ(text_in(xml, "I"), std::nullopt);
    EXPECT_EQ(text_in("<Id>&amp;lt;&unknown;&#3", "Id"), std::nullopt);
    EXPECT_EQ(text_in("<Id>&amp;lt;&unknown;&#3</Id>", "Id"), "&lt;&unknown;&#3");
}

TEST(Answers, EveryTruncationHasNoElement) {
    const std::string xml = "<R><UploadId>abc</UploadId></R>";
    const std::size_t whole = xml.find("</R>");
    for (std::size_t size = 0; size < whole; ++size) {
        EXPECT_EQ(text_in(xml.substr(0, size), "UploadId"), std::nullopt) << size;
        EXPECT_EQ(element(xml.substr(0, size), "UploadId"), "") << size;
    }
    EXPECT_EQ(text_in(xml.substr(0, whole), "UploadId"), "abc");
}

TEST(Answers, NestedElementsAreNoText) {
    EXPECT_EQ(text_in("<Id><Id>a</Id></Id>", "Id"), std::nullopt);
    EXPECT_EQ(text_in("<Id>a<b/></Id>", "Id"), std::nullopt);
}

TEST(Answers, OnlyPlainTextIsShown) {
    EXPECT_EQ(element("<Code>No-Such1</Code>", "Code"), "No-Such1");
    for (const std::string text : {"a b", "a\nb", "\x1B[2J", "&lt;", "a<b>", "\xC3\xA9", "a_b", "../a"}) {
        EXPECT_EQ(element("<Code>" + text + "</Code>", "Code"), "") << text;
    }
    EXPECT_EQ(element("<Code>" + std::string(64, 'a') + "</Code>", "Code").size(), 64U);
    EXPECT_EQ(element("<Code>" + std::string(65, 'a') + "</Code>", "Code"), "");
}

TEST(Answers, Errors) {
    for (const char* const xml : {"<Error><Code>A</Code></Error>", "  \n<?xml version=\"1.0\"?>\n<Error>", "<Error >",
                                  "<!DOCTYPE a><Error\n"}) {
        EXPECT_TRUE(is_error(xml)) << xml;
    }
    for (const char* const xml : {"", "Error", "<Errors>", "<A><Error></Error></A>", "<Error", "<"}) {
        EXPECT_FALSE(is_error(xml)) << xml;
    }
}

TEST(Answers, EscapesAndUnescapes) {
    const std::string text = "a&b<c>\"d'&amp;";
    EXPECT_EQ(text_in("<A>" + xml_escaped(text) + "</A>", "A"), text);
}

TEST(Answers, Tags) {
    EXPECT_EQ(quoted_tag("\"a\""), "\"a\"");
    EXPECT_EQ(quoted_tag("a"), "\"a\"");
    EXPECT_EQ(quoted_tag("\"\""), "");
    EXPECT_EQ(quoted_tag(""), "");
    EXPECT_EQ(is_of_parts("\"abc-12\"", 12), true);
    EXPECT_EQ(is_of_parts("\"abc-12\"", 2), false);
    EXPECT_EQ(is_of_parts("\"abc\"", 1), std::nullopt);
    EXPECT_EQ(is_of_parts("\"a-b\"", 1), std::nullopt);
    EXPECT_EQ(is_of_parts("-", 1), std::nullopt);
    EXPECT_EQ(is_of_parts("\"a-\"", 1), std::nullopt);
}

TEST(Answers, TagsOfParts) {
    const std::string empty = quoted_tag(md5_hex(""));
    EXPECT_EQ(empty, "\"d41d8cd98f00b204e9800998ecf8427e\"");
    EXPECT_TRUE(is_md5(empty));
    const std::vector<std::string> one{empty};
    const std::string_view digest("\xD4\x1D\x8C\xD9\x8F\x00\xB2\x04\xE9\x80\x09\x98\xEC\xF8\x42\x7E", 16);
    EXPECT_EQ(tag_of_parts(one), '"' + md5_hex(digest) + "-1\"");
    for (const std::string tag : {"\"D41D8CD98F00B204E9800998ECF8427E\"", "d41d8cd98f00b204e9800998ecf8427e",
                                  "\"d41d8cd98f00b204e9800998ecf8427\"", "\"\"", ""}) {
        EXPECT_FALSE(is_md5(tag)) << tag;
        const std::vector<std::string> tags{empty, tag};
        EXPECT_EQ(tag_of_parts(tags), "") << tag;
    }
}

std::string upload_of(const std::string& key, const std::string& id) {
    return "<Upload><Key>" + key + "</Key><UploadId>" + id + "</UploadId></Upload>";
}

TEST(Answers, ListsOfUploads) {
    const UploadList list = upload_list(
        "<L><IsTruncated>true</IsTruncated><NextKeyMarker>b+c</NextKeyMarker><NextUploadIdMarker>2</"
        "NextUploadIdMarker>" +
        upload_of("a&amp;b", "1") + upload_of("b+c", "2+") + "<Upload><Key>c</Key></Upload></L>");
    ASSERT_EQ(list.uploads.size(), 2U);
    EXPECT_EQ(list.uploads[0].key, "a&b");
    EXPECT_EQ(list.uploads[1].key, "b+c");
    EXPECT_EQ(list.uploads[1].id, "2+");
    EXPECT_TRUE(list.is_truncated);
    EXPECT_EQ(list.next_key, "b+c");
    EXPECT_EQ(list.next_id, "2");
}

TEST(Answers, EncodedListsOfUploads) {
    const UploadList list =
        upload_list("<L><EncodingType>url</EncodingType><NextKeyMarker>%41</NextKeyMarker>" +
                    upload_of("a+b%2Bc%c3%a9/%", "1%41") + upload_of("%4", "2") + upload_of("%zz%-1", "3") + "</L>");
    ASSERT_EQ(list.uploads.size(), 3U);
    EXPECT_EQ(list.uploads[0].key, "a b+c\xC3\xA9/%");
    EXPECT_EQ(list.uploads[0].id, "1%41");
    EXPECT_EQ(list.uploads[1].key, "%4");
    EXPECT_EQ(list.uploads[2].key, "%zz%-1");
    EXPECT_FALSE(list.is_truncated);
    EXPECT_EQ(list.next_key, "A");
}

TEST(Answers, TruncatedListsOfUploads) {
    const std::string xml = "<L>" + upload_of("a", "1") + upload_of("b", "2") + "</L>";
    for (std::size_t size = 0; size < xml.size(); ++size) {
        for (const UploadList::Entry& one : upload_list(xml.substr(0, size)).uploads) {
            EXPECT_TRUE((one.key == "a" && one.id == "1") || (one.key == "b" && one.id == "2")) << size;
        }
    }
    EXPECT_EQ(upload_list(xml).uploads.size(), 2U);
}

TEST(Answers, Numbers) {
    EXPECT_EQ(number("18446744073709551615"), UINT64_MAX);
    for (const char* const text : {"", "-1", "+1", " 1", "1 ", "18446744073709551616", "0x1"}) {
        EXPECT_EQ(number(text), std::nullopt) << text;
    }
}

// An answer of metadata, with one of its members replaced.
std::string credentials_with(const std::string& name, const std::string& value) {
    std::map<std::string, std::string> members{{"Code", "\"Success\""},
                                               {"AccessKeyId", "\"AKID\""},
                                               {"SecretAccessKey", "\"a+/=\""},
                                               {"Token", "\"t\""},
                                               {"Expiration", "\"1970-01-02T00:00:01Z\""}};
    members[name] = value;
    std::string json;
    for (const auto& [key, text] : members) {
        if (!text.empty()) json.append(json.empty() ? "{" : ",").append("\"" + key + "\":").append(text);
    }
    return json + "}";
}

TEST(Answers, Credentials) {
    const auto issued = issued_credentials(credentials_with("Type", "{\"x\":[1]}"));
    ASSERT_TRUE(issued);
    EXPECT_EQ(issued->credentials, (Credentials{"AKID", "a+/=", "t"}));
    EXPECT_EQ(issued->expires, 86401);
    EXPECT_EQ(issued_credentials(credentials_with("Token", ""))->credentials.session_token, "");
}

TEST(Answers, NoCredentials) {
    const std::string whole = credentials_with("Type", "1");
    for (std::size_t size = 0; size < whole.size(); ++size) EXPECT_FALSE(issued_credentials(whole.substr(0, size)));
    for (const char* const json : {"null", "[]", "\"AKID\"", "{}", "\xFF"}) EXPECT_FALSE(issued_credentials(json));
    EXPECT_FALSE(issued_credentials(credentials_with("Code", "\"Failed\"")));
    EXPECT_FALSE(issued_credentials(credentials_with("Token", R"("a\nb")")));
}

TEST(Answers, NoKeys) {
    for (const char* const value : {"", "null", "\"\"", "1", R"("a\r\nx: y")", R"("\u00e4")", "[]"}) {
        EXPECT_FALSE(issued_credentials(credentials_with("AccessKeyId", value))) << value;
        EXPECT_FALSE(issued_credentials(credentials_with("SecretAccessKey", value))) << value;
    }
}

TEST(Answers, Expiration) {
    const auto expiration = [](const char* value) { return credentials_with("Expiration", value); };
    EXPECT_EQ(issued_credentials(expiration(""))->expires, std::nullopt);
    EXPECT_EQ(issued_credentials(expiration("null"))->expires, std::nullopt);
    EXPECT_EQ(issued_credentials(expiration("\"2026-11-28T08:00:00.123Z\""))->expires, 1795852800);
    for (const char* const value :
         {"1", "\"2026-11-28\"", "\"2026-11-28T08:00:00\"", "\"2026-11-28 08:00:00Z\"", "\"2026-11-28T08:00:00.Z\"",
          "\"2026-11-2xT08:00:00Z\"", "\"2026-11-28T08:00:00+01:00Z\""}) {
        EXPECT_FALSE(issued_credentials(expiration(value))) << value;
    }
}

}  // namespace
}  // namespace cleave::store
