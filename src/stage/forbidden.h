// Finds what must not appear in free text: anything that looks like an email address or a card number. This is a
// tripwire rather than a proof, because it only knows patterns.
#pragma once

#include "stage/value.h"

namespace cleave {

// Whether the value contains one of [A-Za-z0-9._%+"-] or a byte beyond ASCII (RFC 6531), followed by `@` and a domain.
// A domain is one or more labels of [A-Za-z0-9-] and bytes beyond ASCII, each followed by a dot, and then two letters
// or bytes beyond ASCII; or an address literal (RFC 5321): `[`, letters, digits, dots and colons with at least one
// digit, `]`.
bool has_mail_address(Value value) noexcept;

// Whether the value contains 13 to 19 digits, the first of them not 0, with a correct check digit (Luhn's, ISO/IEC
// 7812-1). Two digits may have one separator between them: a space, tab, dot, slash or hyphen, or in UTF-8 U+00A0,
// U+00AD, U+202F, U+2010 to U+2015 or U+2212. There must be no digit directly before or after.
bool has_card_number(Value value) noexcept;

}  // namespace cleave
