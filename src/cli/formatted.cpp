#include "cli/formatted.h"

namespace cleave::cli {

std::string format_all(fmt::string_view format, fmt::format_args arguments) { return fmt::vformat(format, arguments); }

void append_all(fmt::memory_buffer& buffer, fmt::string_view format, fmt::format_args arguments) {
    fmt::vformat_to(fmt::appender(buffer), format, arguments);
}

}  // namespace cleave::cli
