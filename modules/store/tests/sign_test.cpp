// Signatures: the examples of the description of Signature Version 4 for S3, whose key and secret are Amazon's.
#include "sign.h"

#include <gtest/gtest.h>

namespace cleave::store {
namespace {

const Credentials kCredentials{"AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", ""};
constexpr std::time_t kTime = 1369353600;  // 2013-05-24 00:00:00 UTC

std::string signature_of(Request request) {
    request.host = "examplebucket.s3.amazonaws.com";
    sign(request, kCredentials, "us-east-1", kTime);
    const std::string& text = request.headers["authorization"];
    return text.substr(text.rfind('=') + 1);
}

TEST(Sign, ARange) {
    Request request{"GET", "", "/test.txt", {}, {{"range", "bytes=0-9"}}, sha256_hex("")};
    EXPECT_EQ(signature_of(request), "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
}

TEST(Sign, AnObjectThatIsWritten) {
    Request request{"PUT",
                    "",
                    percent_encoded("/test$file.text", true),
                    {},
                    {{"date", "Fri, 24 May 2013 00:00:00 GMT"}, {"x-amz-storage-class", "REDUCED_REDUNDANCY"}},
                    sha256_hex("Welcome to Amazon S3.")};
    EXPECT_EQ(signature_of(request), "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");
}

TEST(Sign, AQueryWithoutAValue) {
    Request request{"GET", "", "/", {{"lifecycle", ""}}, {}, sha256_hex("")};
    EXPECT_EQ(signature_of(request), "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
}

TEST(Sign, AQueryInOrder) {
    Request request{"GET", "", "/", {{"prefix", "J"}, {"max-keys", "2"}}, {}, sha256_hex("")};
    EXPECT_EQ(signature_of(request), "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
}

TEST(Sign, AToken) {
    Request request{"GET", "host", "/a", {}, {}, sha256_hex("")};
    Credentials credentials = kCredentials;
    credentials.session_token = "token";
    sign(request, credentials, "eu-north-1", kTime);
    EXPECT_EQ(request.headers["x-amz-security-token"], "token");
    EXPECT_NE(request.headers["authorization"].find("host;x-amz-content-sha256;x-amz-date;x-amz-security-token"),
              std::string::npos);
}

TEST(Sign, Encodes) {
    EXPECT_EQ(percent_encoded("a/b c+\xC3\xA9~-._", true), "a/b%20c%2B%C3%A9~-._");
    EXPECT_EQ(percent_encoded("a/b", false), "a%2Fb");
    EXPECT_EQ(encoded_query({{"uploads", ""}}), "uploads=");
    EXPECT_EQ(encoded_query({{"b", "x y"}, {"a", "1"}}), "a=1&b=x%20y");
}

}  // namespace
}  // namespace cleave::store
