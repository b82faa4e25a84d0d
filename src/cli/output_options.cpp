#include "cli/option_groups.h"

#include <sys/stat.h>

#include <array>
#include <utility>

#include "cli/choices.h"
#include "cli/formatted.h"
#include "cli/values.h"
#include "core/reader/location.h"

namespace cleave::cli {
namespace {

const char* default_names(const Given& given, const Policy& policy) {
    if (!policy.by || policy.by->buckets) return "{stem}.{i}{ext}";
    if (given.has("hive")) return "{value}/{stem}.{i}{ext}";
    return policy.records || policy.max_bytes ? "{stem}.{value}.{i}{ext}" : "{stem}.{value}{ext}";
}

// Whether the text is the path of a folder. Text with braces is a template, even if something with that name exists.
bool is_folder(const std::string& text) {
    struct stat status;
    return text.find_first_of("{}") == std::string::npos && ::stat(text.c_str(), &status) == 0 &&
           S_ISDIR(status.st_mode);
}

// The template for the names. A folder stands for the default names inside it.
std::string names_of(const Given& given, const Policy& policy) {
    std::string defaults = default_names(given, policy);
    const std::string* output = given.text("output");
    if (output == nullptr) return defaults;
    if (output->ends_with('/')) return *output + defaults;
    return is_folder(*output) ? *output + '/' + defaults : *output;
}

void take_files(const Given& given, Arguments& arguments) {
    arguments.output.names = names_of(given, arguments.policy);
    arguments.output.hive_names = given.has("hive");
    arguments.output.first_index = given.count("first-index", 0).value_or(1);
    constexpr std::uint64_t kMaxFirstIndex = 1'000'000'000'000'000'000;
    if (arguments.output.first_index > kMaxFirstIndex)
        throw UsageError(formatted("--first-index: must be at most {}", kMaxFirstIndex));
    arguments.output.make_directories = given.has("mkdir") || arguments.output.hive_names;
    arguments.output.replace = given.has("force");
    arguments.output.resume = given.has("resume");
    arguments.output.sync = given.has("sync");
    if (const std::string* manifest = given.text("manifest")) {
        if (manifest->empty() || manifest->ends_with('/'))
            throw UsageError("--manifest: '" + *manifest + "' names no file");
        arguments.output.manifest = *manifest == "-" ? "/dev/stdout" : *manifest;
    }
    arguments.null = given.has("print0");
    arguments.print = given.has("print-names") || arguments.null;
    arguments.output.dry_run = given.has("dry-run");
    arguments.json = given.has("json");
    arguments.output.checksum = given.has("checksum");
    if (given.has("all")) arguments.max_listed = UINT64_MAX;
    for (const char* other : {"print-names", "print0", "dry-run"}) given.refuse_both("json", other);
    const std::string* manifest = given.text("manifest");
    if (manifest != nullptr && *manifest == "-" && (arguments.json || arguments.print)) {
        throw UsageError(
            "--manifest - cannot be used with --print-names, --print0 or --json: they all use standard output");
    }
    if (arguments.output.checksum && manifest == nullptr && !arguments.json)
        throw UsageError("--checksum needs --manifest or --json");
    if (given.has("every")) arguments.format = Format::kStarts;
    if (const auto format = given.choice("format", kFormats)) arguments.format = *format;
    given.refuse_both("every", "format");
}

// Rejects names with a compression suffix for pieces that are not compressed.
void refuse_plain_pieces(const Given& given, const Arguments& arguments) {
    struct Suffix {
        const char* suffix;
        const char* format;  // nullptr if --compress has no such format
    };
    constexpr std::array<Suffix, 6> kSuffixes = {
        {{".gz", "gzip"}, {".zst", "zstd"}, {".xz", nullptr}, {".bz2", nullptr}, {".lz4", nullptr}, {".zip", nullptr}}};
    if (!given.has("output")) return;
    for (const auto& [suffix, format] : kSuffixes) {
        if (!arguments.output.names.ends_with(suffix)) continue;
        const std::string way = format != nullptr ? formatted("--compress {}", format) : "--filter CMD";
        throw UsageError(formatted("{}: the names end with {}, but the pieces are not compressed; add {}",
                                   given.spelling("output"), suffix, way));
    }
}

// FORMAT or FORMAT:LEVEL. Appends the suffix to the template for the names, unless it is there already.
void take_compression(const Given& given, Arguments& arguments) {
    const std::string* text = given.text("compress");
    if (text == nullptr && !given.has("filter")) refuse_plain_pieces(given, arguments);
    if (text == nullptr) return;
    const std::size_t colon = text->find(':');
    CompressionOptions& wanted = arguments.output.compression;
    wanted.format = parse_choice(given.spelling("compress"), text->substr(0, colon), kCompressions);
    wanted.level = default_level(wanted.format);
    if (colon != std::string::npos) {
        const auto least = static_cast<std::uint64_t>(least_level(wanted.format));
        const std::uint64_t level = parse_count(given.spelling("compress"), text->substr(colon + 1), least);
        if (std::cmp_greater(level, most_level(wanted.format))) {
            throw UsageError(formatted("--compress: {} has levels {} to {}", compression_name(wanted.format), least,
                                       most_level(wanted.format)));
        }
        wanted.level = static_cast<int>(level);
    }
    if (arguments.output.clone == CloneMode::kAlways)
        throw UsageError("--reflink always and --compress cannot be used together");
    const std::string_view suffix = compression_suffix(wanted.format);
    if (!arguments.output.names.ends_with(suffix)) arguments.output.names += suffix;
}

void take_filter(const Given& given, Arguments& arguments) {
    const std::string* command = given.text("filter");
    if (command == nullptr) return;
    if (command->empty()) throw UsageError("--filter: the command is empty");
    arguments.output.filter = *command;
    if (arguments.output.clone == CloneMode::kAlways)
        throw UsageError("--reflink always and --filter cannot be used together");
    for (const char* other : {"compress", "force", "manifest", "mkdir", "resume", "sync"}) {
        if (given.has(other))
            throw UsageError(
                formatted("{} cannot be used with --filter, which writes no files", given.spelling(other)));
    }
}

// Objects lack some of what files have.
void refuse_for_store(const Given& given, const Arguments& arguments) {
    const Location names(arguments.output.names);
    for (const char* const option : {"manifest", "redact-report"}) {
        const Location file(given.has(option) ? *given.text(option) : "");
        if (file.is_url() && file.root() != names.root())
            throw UsageError(formatted("--{}: an object must be in the bucket of the pieces", option));
    }
    if (!arguments.output.filter.empty() || !names.is_url()) return;
    if (names.is_web())
        throw UsageError(formatted("{}: objects are written only under s3:// and gs://", given.spelling("output")));
    if (given.has("reflink")) throw UsageError("--reflink cannot be used with objects");
    if (given.has("sign")) throw UsageError("--sign cannot be used with objects");
    given.refuse_both("resume", "compress");
}

}  // namespace

void take_output(const Given& given, Arguments& arguments) {
    take_files(given, arguments);
    take_compression(given, arguments);
    take_filter(given, arguments);
    refuse_for_store(given, arguments);
}

}  // namespace cleave::cli
