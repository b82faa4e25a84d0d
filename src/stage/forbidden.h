// What must not be in free text: things that look like a mail address or a card number. A tripwire, not a proof: it
// knows patterns only.
#pragma once

#include "stage/value.h"

namespace cleave {

// Somewhere: one of [A-Za-z0-9._%+"-] or a byte beyond ASCII (RFC 6531), `@`, and a domain. That is one or more labels
// of [A-Za-z0-9-] and bytes beyond ASCII with a dot behind each, and two letters or bytes beyond ASCII; or an address
// literal (RFC 5321): `[`, letters, digits, dots and colons with a digit among them, `]`.
bool has_mail_address(Value value) noexcept;

// Somewhere: 13 to 19 digits, the first one not 0, with a right check digit (Luhn's, ISO/IEC 7812-1). Between two
// digits there may be one separator: blank, tab, dot, slash, hyphen; in UTF-8 U+00A0, U+00AD, U+202F, U+2010 to U+2015
// and U+2212. No digit is directly before or behind.
bool has_card_number(Value value) noexcept;

}  // namespace cleave
