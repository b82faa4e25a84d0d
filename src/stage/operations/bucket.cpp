#include "stage/operations/bucket.h"

#include <string>

#include "stage/arguments.h"

namespace cleave {

Bucket Bucket::parse(const OperationSyntax& syntax, KeyUses&) {
    Arguments arguments(syntax, "bucket(WIDTH)");
    const ArgumentSyntax& argument = arguments.take_first("the width");
    arguments.finish();
    const std::string& text = argument.value;
    const std::size_t point = text.find('.');
    const std::string digits = point == std::string::npos ? text : text.substr(0, point) + text.substr(point + 1);

    bool is_number = !digits.empty() && digits.size() <= kMaxDigits && point != 0 && point + 1 != text.size();
    Bucket bucket{0, point == std::string::npos ? 0 : text.size() - point - 1};
    for (std::size_t i = 0; is_number && i < digits.size(); ++i) {
        is_number = is_digit(static_cast<std::uint8_t>(digits[i]));
        bucket.width = 10 * bucket.width + static_cast<std::uint64_t>(digits[i] - '0');
    }
    if (!is_number || bucket.width == 0) {
        Arguments::fail("the width is a decimal number above 0 of at most 18 digits", argument);
    }
    return bucket;
}

}  // namespace cleave
