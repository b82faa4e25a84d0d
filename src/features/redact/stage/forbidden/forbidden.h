// Finds what must not appear in free text. This is a tripwire rather than a proof, because it only knows patterns. Each
// kind has one file in this folder; pattern.h has those of the user.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

#include "cleave/stage.h"
#include "features/redact/stage/value.h"

namespace cleave {

// Whether the value contains one of [A-Za-z0-9._%+"-] or a byte beyond ASCII (RFC 6531), followed by `@` and a domain.
// A domain is one or more labels of [A-Za-z0-9-] and bytes beyond ASCII, each followed by a dot, and then two letters
// or bytes beyond ASCII; or an address literal (RFC 5321): `[`, letters, digits, dots and colons with at least one
// digit, `]`.
bool has_mail_address(Value value) noexcept;

// Whether the value contains 13 to 19 digits, the first of them not 0, with a correct check digit (Luhn's, ISO/IEC
// 7812-1). Two digits may have one separator between them; see text.h. There must be no digit directly before or after.
bool has_card_number(Value value) noexcept;

// Whether the value contains the two letters of a country, two digits and as many letters and digits as an account
// number of that country has (ISO 13616), with a correct check number: the remainder of 97. Letter case is ignored. Two
// of them may have a separator between them. There must be no letter or digit directly before or after.
bool has_iban(Value value) noexcept;

// Whether the value contains `+` and 7 to 15 digits, the first of them not 0 (E.164). Before each digit there may be up
// to three separators and parentheses. There must be no letter or digit directly before, and no digit after.
bool has_phone_number(Value value) noexcept;

// Whether the value contains four decimal numbers up to 255 without leading zeros, separated by dots; or eight
// hexadecimal numbers of up to four digits, separated by colons, or fewer of them with one `::` (RFC 4291). There must
// be no letter or digit directly before or after, and no digit on the other side of a dot. The second kind may have a
// word and a colon before it, or a colon and a word after it.
bool has_ip_address(Value value) noexcept;

// Whether the value contains a day of the years 1900 to 2099: year, month and day, or day and month in either order and
// year, separated by two dots, hyphens or slashes, in one or two digits each. A blank may follow each of these. There
// must be no letter or digit directly before or after, except for the `T` or `Z` of a time, in either case, after it.
bool has_day(Value value) noexcept;

// Whether the value contains something that gives access: a key or token with a known beginning, alphabet and shortest
// length (secret.cpp has the list), or the first line of a private key in PEM or of PGP.
bool has_secret(Value value) noexcept;

// The table of kinds.
struct ForbiddenRow {
    const char* name;    // in --forbid and in reports
    const char* phrase;  // in messages
    bool (*is_in)(Value) noexcept;
};
inline constexpr std::array<ForbiddenRow, kForbiddenKinds> kForbiddenTable = {{
    {"email", "an email address", has_mail_address},
    {"card", "a card number", has_card_number},
    {"iban", "an account number", has_iban},
    {"phone", "a phone number", has_phone_number},
    {"ip", "an IP address", has_ip_address},
    {"date", "a date", has_day},
    {"secret", "a key or a token", has_secret},
}};

// Whether this is the name of a kind, also an older one.
inline bool is_forbidden_kind(std::string_view name) {
    return name == "mail" || std::ranges::any_of(kForbiddenTable, [&](const auto& row) { return name == row.name; });
}

inline const ForbiddenRow& row_of(ForbiddenKind kind) { return kForbiddenTable[static_cast<std::size_t>(kind)]; }

}  // namespace cleave
