// What servers answer: headers, the little XML of S3's answers, and the JSON of credentials. Whatever a server sends,
// nothing here fails, and what is missing or is not closed is not there.
#pragma once

#include <cstdint>
#include <ctime>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "http.h"

namespace cleave::store {

// The value of the header with this lower-case name, or an empty string.
const std::string& header(const Response& response, const std::string& name);

// A decimal number without a sign, and nothing else.
std::optional<std::uint64_t> number(std::string_view text);

// The text of the first element of this name, with its entities replaced. Elements have no attributes.
std::optional<std::string> text_in(std::string_view xml, std::string_view name);

// The same if it consists of at most 64 letters, digits and hyphens, otherwise empty: nothing else of an answer gets
// into messages.
std::string element(std::string_view xml, std::string_view name);

// Whether the outermost element is <Error>.
bool is_error(std::string_view xml);

// The inverse of what text_in() replaces.
std::string xml_escaped(std::string_view text);

// An entity tag in quotes, whether it was given with them or without; empty if it is empty.
std::string quoted_tag(std::string_view tag);

// Whether a quoted tag belongs to an object made of this many parts. Nothing if the tag does not say.
std::optional<bool> is_of_parts(std::string_view tag, std::size_t parts);

// Whether a tag in quotes can be an MD5: it has 32 lower-case hexadecimal digits.
bool is_md5(std::string_view tag);

// The tag in quotes that an object gets from the tags of its parts: the MD5 of their MD5s, and their number. Empty
// unless all of them can be MD5s.
std::string tag_of_parts(std::span<const std::string> tags);

// A page of the uploads that a bucket has.
struct UploadList {
    struct Entry {
        std::string key;
        std::string id;
    };
    std::vector<Entry> uploads;
    bool is_truncated = false;  // there is another page, behind these:
    std::string next_key;
    std::string next_id;
};
UploadList upload_list(std::string_view xml);

// Credentials for a while.
struct Issued {
    Credentials credentials;
    std::optional<std::time_t> expires;  // nothing: never
};
// Nothing if the JSON has none, or has any that could not be sent in a header.
std::optional<Issued> issued_credentials(std::string_view json);

// Whether a header can have this value: printable ASCII, and at least one character.
bool is_header_value(std::string_view text);

}  // namespace cleave::store
