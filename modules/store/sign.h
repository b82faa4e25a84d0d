// Signs requests to S3: AWS Signature Version 4.
// (https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html)
//
// The signature covers the method, the path, the query, some headers and the SHA-256 of the body. libcurl can sign too,
// but its 7.88 orders and encodes queries differently from servers that check them.
#pragma once

#include <ctime>
#include <map>
#include <string>
#include <string_view>

namespace cleave::store {

struct Credentials {
    std::string key_id;
    std::string secret;
    std::string session_token;  // may be empty

    bool is_empty() const noexcept { return key_id.empty(); }
    bool operator==(const Credentials&) const = default;
};

// By name, in lower case. Names and values as they are sent.
using Headers = std::map<std::string, std::string>;
// Not encoded.
using Query = std::map<std::string, std::string>;

struct Request {
    std::string method;
    std::string host;  // with the port, if it is not the scheme's own
    std::string path;  // encoded, begins with "/"
    Query query;
    Headers headers;        // without "host"
    std::string body_hash;  // its SHA-256, in lower-case hexadecimal digits; or kUnsignedBody
};

// Percent-encodes all bytes but letters, digits, "-", ".", "_" and "~", and "/" if it is to stay.
std::string percent_encoded(std::string_view text, bool keep_slashes);

// The inverse. What is not such an encoding stays.
std::string percent_decoded(std::string_view text);

// The query as it is sent and signed, without "?": sorted, encoded, and with "=" even where the value is empty.
std::string encoded_query(const Query& query);

// The signature does not cover the body.
inline constexpr std::string_view kUnsignedBody = "UNSIGNED-PAYLOAD";

// In lower-case hexadecimal digits.
std::string sha256_hex(std::string_view bytes);
std::string md5_hex(std::string_view bytes);

// Adds the headers "authorization", "x-amz-date", "x-amz-content-sha256" and, if there is a token,
// "x-amz-security-token". `service` is "s3" except in tests.
void sign(Request& request, const Credentials& credentials, std::string_view region, std::time_t now,
          std::string_view service = "s3");

}  // namespace cleave::store
