// The table of operations, with one type per row. Each operation has one file in stage/operations/, and provides
//
//   static constexpr const char* kName;              its name in rules
//   static X parse(const OperationSyntax&, RuleScope&);   throws SyntaxError and RuleError
//   std::uint64_t bound(std::uint64_t size) const;   the most bytes that write() can write for a value of `size` bytes
//   std::uint64_t measure(Value value, H& hasher) const;       what write() returns
//   std::uint64_t write(Value value, std::uint8_t* out, H& hasher) const;   the bytes written, or kBecomesNull
//   static const ArgumentSyntax* file_of(const OperationSyntax&);   the argument that names a file, if it can have one
//
// measure() and write() also compile for a GPU, where H is a different type. Only operations with a key use the hasher,
// through token() and lower_token(); see stage/hasher.h. write() writes nothing beyond the bytes that it reports.
// bound() may be static.
//
// A CpuOperation does not run on a GPU. It takes an OperationContext& instead of a hasher, and may also refuse a value.
// If it has a member `by`, the number of a column, the context has that column's value.
#pragma once

#include <variant>

#include "features/redact/stage/operations/bucket.h"
#include "features/redact/stage/operations/date.h"
#include "features/redact/stage/operations/decrypt.h"
#include "features/redact/stage/operations/email.h"
#include "features/redact/stage/operations/encrypt.h"
#include "features/redact/stage/operations/fixed.h"
#include "features/redact/stage/operations/form.h"
#include "features/redact/stage/operations/generalise.h"
#include "features/redact/stage/operations/hmac.h"
#include "features/redact/stage/operations/initials.h"
#include "features/redact/stage/operations/keep.h"
#include "features/redact/stage/operations/mask.h"
#include "features/redact/stage/operations/noise.h"
#include "features/redact/stage/operations/null.h"
#include "features/redact/stage/operations/pick.h"
#include "features/redact/stage/operations/round.h"
#include "features/redact/stage/operations/shift_date.h"
#include "features/redact/stage/operations/short_name.h"
#include "features/redact/stage/operations/suppress.h"
#include "features/redact/stage/operations/top.h"
#include "features/redact/stage/syntax.h"

namespace cleave {

using Operation = std::variant<Keep, Null, Fixed, Hmac, Mask, Initials, ShortName, Email, Date, Bucket, Round, Top,
                               Form, Pick, ShiftDate, Noise, Generalise, Encrypt, Decrypt, Suppress>;

// Creates the operation that the text describes, without its argument `empty=change`. Throws SyntaxError and RuleError.
Operation make_operation(const OperationSyntax& syntax, RuleScope& scope);

// The argument that names a file; nullptr if the operation has none. `syntax` may be invalid.
const ArgumentSyntax* file_of(const OperationSyntax& syntax);

}  // namespace cleave
