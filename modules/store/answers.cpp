#include "answers.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

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

// As keys are encoded in lists. What is not such an encoding stays.
std::string url_decoded(std::string_view text) {
    std::string plain;
    for (std::size_t at = 0; at < text.size(); ++at) {
        const std::string_view digits = text.substr(at + 1, 2);
        std::uint8_t byte = 0;
        if (text[at] == '%' && digits.size() == 2 &&
            std::from_chars(digits.data(), digits.data() + 2, byte, 16).ptr == digits.data() + 2) {
            plain += static_cast<char>(byte);
            at += 2;
        } else {
            plain += text[at] == '+' ? ' ' : text[at];
        }
    }
    return plain;
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

}  // namespace cleave::store
