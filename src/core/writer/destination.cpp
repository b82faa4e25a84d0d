#include "core/writer/destination.h"

#include <string>

#include "cleave/error.h"
#include "cleave/names.h"

namespace cleave {
namespace {

void check(const CompressionOptions& wanted) {
    if (wanted.format == Compression::kNone) return;
    if (!is_writable(wanted.format)) {
        throw ArgumentError("output: pieces cannot be compressed with " + std::string(compression_name(wanted.format)));
    }
    const int least = least_level(wanted.format);
    const int most = most_level(wanted.format);
    if (wanted.level && (*wanted.level < least || *wanted.level > most)) {
        throw ArgumentError("output: the level of " + std::string(compression_name(wanted.format)) + " is not in " +
                            std::to_string(least) + " .. " + std::to_string(most));
    }
}

}  // namespace

void check(const OutputOptions& options) {
    if (destination_of(options).is_files) check(options.compression);
    if (options.hive_names && !PieceNamer(options.names, "", 1, 1, 1).has_value_folder()) {
        throw ArgumentError("{value} must be a whole folder of the output template, as in {value}/{i}");
    }
}

}  // namespace cleave
