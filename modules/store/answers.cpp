#include "answers.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/json.h"

namespace cleave::store {
namespace {

constexpr std::array<std::pair<std::string_view, char>, 7> kEntities{
    {{"&quot;", '"'}, {"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&apos;", '\''}, {"&#34;", '"'}, {"&#39;", '\''}}};

std::string xml_unescaped(std::string_view text) {
    std::string plain;
    while (!text.empty()) {
        const auto* const entity =
            std::ranges::find_if(kEntities, [&](const auto& one) { return text.starts_with(one.first); });
        plain += entity == kEntities.end() ? text.front() : entity->second;
        text.remove_prefix(entity == kEntities.end() ? 1 : entity->first.size());
    }
    return plain;
}

// The text between <name> and </name>, as it is.
std::optional<std::string_view> inside(std::string_view xml, std::string_view name) {
    const std::string open = '<' + std::string(name) + '>';
    const std::string close = "</" + std::string(name) + '>';
    const std::size_t begin = xml.find(open);
    if (begin == std::string_view::npos) return std::nullopt;
    xml.remove_prefix(begin + open.size());
    const std::size_t end = xml.find(close);
    return end == std::string_view::npos ? std::nullopt : std::optional(xml.substr(0, end));
}

// As keys are encoded in lists.
std::string url_decoded(std::string text) {
    std::ranges::replace(text, '+', ' ');
    return percent_decoded(text);
}

// "2026-11-28T08:00:00Z"; fractions of a second are ignored.
std::optional<std::time_t> utc_time(std::string_view text) {
    constexpr std::string_view kForm = "dddd-dd-ddTdd:dd:dd";
    if (text.size() <= kForm.size() || !text.ends_with('Z')) return std::nullopt;
    const std::string_view fraction = text.substr(kForm.size(), text.size() - kForm.size() - 1);
    if (!fraction.empty() && (!fraction.starts_with('.') || !number(fraction.substr(1)))) return std::nullopt;
    std::array<int, 6> values{};
    std::size_t at = 0;
    for (std::size_t i = 0; i < kForm.size(); ++i) {
        if (kForm[i] == 'd' ? text[i] < '0' || text[i] > '9' : text[i] != kForm[i]) return std::nullopt;
        if (kForm[i] != 'd') {
            ++at;
        } else {
            values[at] = values[at] * 10 + (text[i] - '0');
        }
    }
    std::tm parts{};
    parts.tm_year = values[0] - 1900;
    parts.tm_mon = values[1] - 1;
    parts.tm_mday = values[2];
    parts.tm_hour = values[3];
    parts.tm_min = values[4];
    parts.tm_sec = values[5];
    return ::timegm(&parts);
}

}  // namespace

const std::string& header(const Response& response, const std::string& name) {
    static const std::string kNone;
    const auto found = response.headers.find(name);
    return found == response.headers.end() ? kNone : found->second;
}

std::optional<std::uint64_t> number(std::string_view text) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size() && !text.empty() ? std::optional(value)
                                                                                     : std::nullopt;
}

std::optional<std::string> text_in(std::string_view xml, std::string_view name) {
    const auto text = inside(xml, name);
    if (!text || text->find('<') != std::string_view::npos) return std::nullopt;
    return xml_unescaped(*text);
}

std::string element(std::string_view xml, std::string_view name) {
    const auto text = inside(xml, name);
    const auto is_plain = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
    };
    return text && text->size() <= 64 && std::ranges::all_of(*text, is_plain) ? std::string(*text) : "";
}

bool is_error(std::string_view xml) {
    while (true) {
        const std::size_t begin = xml.find('<');
        if (begin == std::string_view::npos) return false;
        xml.remove_prefix(begin + 1);
        if (!xml.starts_with('?') && !xml.starts_with('!')) break;
    }
    constexpr std::string_view kName = "Error";
    return xml.starts_with(kName) && xml.find_first_of("> \t\r\n", kName.size()) == kName.size();
}

std::string xml_escaped(std::string_view text) {
    std::string escaped;
    for (const char c : text) {
        const auto* const entity = std::ranges::find_if(kEntities, [&](const auto& one) { return one.second == c; });
        if (entity == kEntities.end()) {
            escaped += c;
        } else {
            escaped += entity->first;
        }
    }
    return escaped;
}

std::string quoted_tag(std::string_view tag) {
    if (tag.size() >= 2 && tag.starts_with('"') && tag.ends_with('"')) tag = tag.substr(1, tag.size() - 2);
    return tag.empty() ? "" : '"' + std::string(tag) + '"';
}

std::optional<bool> is_of_parts(std::string_view tag, std::size_t parts) {
    const std::size_t hyphen = tag.rfind('-');
    if (hyphen == std::string_view::npos || !tag.ends_with('"')) return std::nullopt;
    const auto found = number(tag.substr(hyphen + 1, tag.size() - hyphen - 2));
    return found ? std::optional(*found == parts) : std::nullopt;
}

bool is_md5(std::string_view tag) {
    const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
    return tag.size() == 34 && tag.starts_with('"') && tag.ends_with('"') &&
           std::ranges::all_of(tag.substr(1, 32), is_digit);
}

std::string tag_of_parts(std::span<const std::string> tags) {
    std::string digests;
    for (const std::string& tag : tags) {
        if (!is_md5(tag)) return "";
        for (std::size_t at = 1; at < 33; at += 2) {
            std::uint8_t byte = 0;
            std::from_chars(tag.data() + at, tag.data() + at + 2, byte, 16);
            digests += static_cast<char>(byte);
        }
    }
    return '"' + md5_hex(digests) + '-' + std::to_string(tags.size()) + '"';
}

UploadList upload_list(std::string_view xml) {
    const bool is_encoded = text_in(xml, "EncodingType") == "url";
    const auto key_in = [&](std::string_view part, std::string_view name) {
        const std::string text = text_in(part, name).value_or("");
        return is_encoded ? url_decoded(text) : text;
    };
    UploadList list;
    list.is_truncated = text_in(xml, "IsTruncated") == "true";
    list.next_key = key_in(xml, "NextKeyMarker");
    list.next_id = text_in(xml, "NextUploadIdMarker").value_or("");
    while (const auto upload = inside(xml, "Upload")) {
        std::string id = text_in(*upload, "UploadId").value_or("");
        if (!id.empty()) list.uploads.push_back({key_in(*upload, "Key"), std::move(id)});
        xml.remove_prefix(static_cast<std::size_t>(upload->data() - xml.data()) + upload->size());
    }
    return list;
}

std::optional<Issued> issued_credentials(std::string_view json) {
    const std::optional<Json> answer = parse_json(json);
    if (!answer) return std::nullopt;
    // Nothing if there is a member of the name that is not a string.
    const auto text_of = [&](std::string_view name) -> std::optional<std::string> {
        const Json* const member = answer->find(name);
        if (member == nullptr || *member == Json(nullptr)) return "";
        return member->string() == nullptr ? std::nullopt : std::optional(*member->string());
    };
    const auto code = text_of("Code");
    const auto key_id = text_of("AccessKeyId");
    const auto secret = text_of("SecretAccessKey");
    const auto token = text_of("Token");
    const auto expiration = text_of("Expiration");
    if (!code || !key_id || !secret || !token || !expiration) return std::nullopt;
    if ((!code->empty() && *code != "Success") || !is_header_value(*key_id) || !is_header_value(*secret) ||
        !(token->empty() || is_header_value(*token))) {
        return std::nullopt;
    }
    Issued issued{{*key_id, *secret, *token}, utc_time(*expiration)};
    return issued.expires || expiration->empty() ? std::optional(std::move(issued)) : std::nullopt;
}

bool is_header_value(std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
}

}  // namespace cleave::store
