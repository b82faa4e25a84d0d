// What must not be in free text: things that look like a mail address or a card number. A tripwire, not a proof: it
// knows patterns only.
#pragma once

#include "stage/value.h"

namespace cleave {

// Somewhere: one or more of [A-Za-z0-9._%+-], `@`, one or more labels of [A-Za-z0-9-] with a dot behind each, two
// letters.
bool has_mail_address(Value value) noexcept;

// Somewhere: 13 to 19 digits, the first one not 0, with a right check digit (Luhn's, ISO/IEC 7812-1). Between two
// digits there may be one space or one `-`. No digit is directly before or behind.
bool has_card_number(Value value) noexcept;

}  // namespace cleave
