// The table of operations: one type a row. Each operation is one file in stage/operations/, and has
//
//   static constexpr const char* kName;              its name in rules
//   static X parse(const OperationSyntax&, KeyUses&);   throws SyntaxError
//   std::uint64_t bound(std::uint64_t size) const;   the most bytes that write() writes for a value of `size` bytes
//   std::uint64_t measure(Value value, H& hasher) const;       what write() returns
//   std::uint64_t write(Value value, std::uint8_t* out, H& hasher) const;   the bytes written, or kBecomesNull
//
// measure() and write() also compile for a GPU, where H is another type. Only operations with a key use the hasher: its
// token() and lower_token(), see stage/hasher.h. write() writes no byte behind what it returns. bound() may be static.
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

// The operation that the text asks for, without its argument `empty=change`. Throws SyntaxError.
Operation make_operation(const OperationSyntax& syntax, KeyUses& keys);

}  // namespace cleave
