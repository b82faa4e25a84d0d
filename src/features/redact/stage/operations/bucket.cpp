#include "features/redact/stage/operations/bucket.h"

#include "features/redact/stage/arguments.h"

namespace cleave {

Bucket Bucket::parse(const OperationSyntax& syntax, RuleScope&) {
    Arguments arguments(syntax, "bucket(WIDTH)");
    const ArgumentSyntax& argument = arguments.take_first("the width");
    arguments.finish();
    const ScaledLimit width = Arguments::to_scaled(argument, kMaxDigits);
    if (width.units == 0) Arguments::fail("the width is above 0", argument);
    Bucket bucket{width.units, width.decimals};
    return bucket;
}

}  // namespace cleave
