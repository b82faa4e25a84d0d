#include "sign.h"

#include <nettle/hmac.h>
#include <nettle/md5.h>
#include <nettle/sha2.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <span>

namespace cleave::store {
namespace {

using Digest = std::array<std::uint8_t, SHA256_DIGEST_SIZE>;

const std::uint8_t* bytes_of(std::string_view text) { return reinterpret_cast<const std::uint8_t*>(text.data()); }

std::string_view text_of(const Digest& digest) { return {reinterpret_cast<const char*>(digest.data()), digest.size()}; }

std::string hex(std::span<const std::uint8_t> bytes) {
    std::string text;
    for (const std::uint8_t byte : bytes) {
        text += "0123456789abcdef"[byte >> 4U];
        text += "0123456789abcdef"[byte & 0xFU];
    }
    return text;
}

Digest hmac(std::string_view key, std::string_view text) {
    hmac_sha256_ctx state;
    Digest digest;
    ::nettle_hmac_sha256_set_key(&state, key.size(), bytes_of(key));
    ::nettle_hmac_sha256_update(&state, text.size(), bytes_of(text));
    ::nettle_hmac_sha256_digest(&state, digest.size(), digest.data());
    return digest;
}

bool is_plain(char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
           c == '_' || c == '~';
}

std::string utc(std::time_t now, const char* format) {
    std::tm parts{};
    ::gmtime_r(&now, &parts);
    std::array<char, 32> text{};
    return {text.data(), std::strftime(text.data(), text.size(), format, &parts)};
}

}  // namespace

std::string percent_encoded(std::string_view text, bool keep_slashes) {
    std::string encoded;
    for (const char c : text) {
        if (is_plain(c) || (keep_slashes && c == '/')) {
            encoded += c;
        } else {
            const auto byte = static_cast<std::uint8_t>(c);
            encoded += '%';
            encoded += "0123456789ABCDEF"[byte >> 4U];
            encoded += "0123456789ABCDEF"[byte & 0xFU];
        }
    }
    return encoded;
}

std::string percent_decoded(std::string_view text) {
    std::string plain;
    for (std::size_t at = 0; at < text.size(); ++at) {
        const std::string_view digits = text.substr(at + 1, 2);
        std::uint8_t byte = 0;
        if (text[at] == '%' && digits.size() == 2 &&
            std::from_chars(digits.data(), digits.data() + 2, byte, 16).ptr == digits.data() + 2) {
            plain += static_cast<char>(byte);
            at += 2;
        } else {
            plain += text[at];
        }
    }
    return plain;
}

std::string encoded_query(const Query& query) {
    std::string text;
    for (const auto& [name, value] : query) {
        if (!text.empty()) text += '&';
        text += percent_encoded(name, false) + '=' + percent_encoded(value, false);
    }
    return text;
}

std::string sha256_hex(std::string_view bytes) {
    sha256_ctx state;
    Digest digest;
    ::nettle_sha256_init(&state);
    ::nettle_sha256_update(&state, bytes.size(), bytes_of(bytes));
    ::nettle_sha256_digest(&state, digest.size(), digest.data());
    return hex(digest);
}

std::string md5_hex(std::string_view bytes) {
    md5_ctx state;
    std::array<std::uint8_t, MD5_DIGEST_SIZE> digest;
    ::nettle_md5_init(&state);
    ::nettle_md5_update(&state, bytes.size(), bytes_of(bytes));
    ::nettle_md5_digest(&state, digest.size(), digest.data());
    return hex(digest);
}

void sign(Request& request, const Credentials& credentials, std::string_view region, std::time_t now,
          std::string_view service) {
    const std::string time = utc(now, "%Y%m%dT%H%M%SZ");
    const std::string day = time.substr(0, 8);
    request.headers["x-amz-date"] = time;
    if (service == "s3") request.headers["x-amz-content-sha256"] = request.body_hash;
    if (!credentials.session_token.empty()) request.headers["x-amz-security-token"] = credentials.session_token;

    std::string names;
    std::string canonical = request.method + '\n' + request.path + '\n' + encoded_query(request.query) + '\n';
    Headers headers = request.headers;
    headers["host"] = request.host;
    for (const auto& [name, value] : headers) {
        canonical.append(name).append(":").append(value).append("\n");
        names += (names.empty() ? "" : ";") + name;
    }
    canonical += '\n' + names + '\n' + request.body_hash;

    const std::string scope = day + '/' + std::string(region) + '/' + std::string(service) + "/aws4_request";
    const std::string to_sign = "AWS4-HMAC-SHA256\n" + time + '\n' + scope + '\n' + sha256_hex(canonical);
    Digest key = hmac("AWS4" + credentials.secret, day);
    for (const std::string_view part : {region, service, std::string_view("aws4_request")}) {
        key = hmac(text_of(key), part);
    }
    request.headers["authorization"] = "AWS4-HMAC-SHA256 Credential=" + credentials.key_id + '/' + scope +
                                       ", SignedHeaders=" + names + ", Signature=" + hex(hmac(text_of(key), to_sign));
}

}  // namespace cleave::store
