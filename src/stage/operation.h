// The table of operations, with one type per row. Each operation has one file in stage/operations/, and provides
//
//   static constexpr const char* kName;              its name in rules
//   static X parse(const OperationSyntax&, KeyUses&);   throws SyntaxError
//   std::uint64_t bound(std::uint64_t size) const;   the most bytes that write() can write for a value of `size` bytes
//   std::uint64_t measure(Value value, H& hasher) const;       what write() returns
//   std::uint64_t write(Value value, std::uint8_t* out, H& hasher) const;   the bytes written, or kBecomesNull
//
// measure() and write() also compile for a GPU, where H is a different type. Only operations with a key use the hasher,
// through token() and lower_token(); see stage/hasher.h. write() writes nothing beyond the bytes that it reports.
// bound() may be static.
#pragma once

#include <variant>

#include "stage/operations/bucket.h"
#include "stage/operations/date.h"
#include "stage/operations/email.h"
#include "stage/operations/fixed.h"
#include "stage/operations/hmac.h"
#include "stage/operations/initials.h"
#include "stage/operations/keep.h"
#include "stage/operations/mask.h"
#include "stage/operations/null.h"
#include "stage/operations/short_name.h"
#include "stage/syntax.h"

namespace cleave {

using Operation = std::variant<Keep, Null, Fixed, Hmac, Mask, Initials, ShortName, Email, Date, Bucket>;

// Creates the operation that the text describes, without its argument `empty=change`. Throws SyntaxError.
Operation make_operation(const OperationSyntax& syntax, KeyUses& keys);

}  // namespace cleave
