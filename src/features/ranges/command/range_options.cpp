#include "cli/option_groups.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/utf8.h"
#include "cli/formatted.h"
#include "cli/option_table.h"
#include "cli/values.h"

namespace cleave::cli {
namespace {

// The options that offsets and cat accept together with --plan.
constexpr std::array<std::string_view, 11> kBesidePlan = {
    "plan",     "pieces", "format",  "input-version", "require-one-reading", "threads", "kernel",
    "progress", "quiet",  "verbose", "help"};

// Whether JSON leaves the string unchanged. It makes control characters longer and changes bytes that are not UTF-8.
bool is_plain(const std::string& text) {
    const auto* at = reinterpret_cast<const std::uint8_t*>(text.data());
    const std::uint8_t* const end = at + text.size();
    while (at != end) {
        const std::uint64_t size = utf8_size(at, end);
        constexpr std::uint8_t kDelete = 0x7F;
        if (size == 0 || *at < ' ' || *at == kDelete) return false;
        at += size;
    }
    return true;
}

void take_version(const Given& given, Arguments& arguments) {
    const std::string* const version = given.text("input-version");
    if (version == nullptr) return;
    constexpr std::size_t kMostSize = 128;  // a summary is at most 1 KiB
    const auto escaped = static_cast<std::size_t>(
        std::ranges::count_if(*version, [](char byte) { return byte == '"' || byte == '\\'; }));
    if (version->empty() || version->size() + escaped > kMostSize) {
        throw UsageError(
            formatted(R"(--input-version: must have 1 to {} bytes, where each " or \ counts as two)", kMostSize));
    }
    if (!is_plain(*version)) throw UsageError("--input-version: must be UTF-8 without control characters");
    arguments.input_version = *version;
}

}  // namespace

void take_byte_range(const Given& given, Arguments& arguments) {
    if (arguments.dialect.sniff_delimiter || arguments.dialect.sniff_terminator) {
        throw UsageError(
            "scan needs the whole dialect, the same for all ranges: give --delimiter and --terminator, or a --dialect "
            "that has both");
    }
    arguments.inputs = given.inputs();
    if (arguments.inputs.size() != 1) throw UsageError("scan needs one FILE; - is a range on standard input");
    if (const std::string* range = given.text("bytes")) {
        arguments.bytes = parse_byte_range(given.spelling("bytes"), *range);
    }
    arguments.input_size = given.count("input-size", 0);
    take_version(given, arguments);
    const bool is_pipe = arguments.inputs.front().is_stream();
    for (const char* option : {"skip-lines", "comment"}) {
        if (is_pipe && given.has(option))
            throw UsageError(
                formatted("{} needs a FILE: a range on - does not show where the lines end", given.spelling(option)));
    }
    if (is_pipe && !(given.has("bytes") && given.has("input-size") && given.has("input-version")))
        throw UsageError("scan - needs --bytes, --input-size and --input-version");
    if (!is_pipe && given.has("input-size"))
        throw UsageError("--input-size is only for scan -, a range on standard input");
    if (is_pipe && !arguments.bytes.end) arguments.bytes.end = arguments.input_size;
    if (is_pipe && (*arguments.bytes.end > *arguments.input_size || arguments.bytes.begin > *arguments.bytes.end))
        throw UsageError("--bytes: the range must lie within --input-size");
}

void take_range_plan(const Given& given, Arguments& arguments) {
    take_version(given, arguments);
    if (!given.has("plan")) {
        if (given.has("input-version")) throw UsageError("--input-version needs --plan");
        return;
    }
    arguments.plan = Location(*given.text("plan"));
    if (arguments.plan.empty()) throw UsageError("--plan: '' names no file");
    for (const OptionRow& row : option_table()) {
        const bool is_beside = std::ranges::find(kBesidePlan, row.name) != kBesidePlan.end();
        const bool is_other = row.name == std::string_view("pieces") && arguments.verb != Verb::kCat;
        if ((row.verbs & bit(arguments.verb)) != 0 && (!is_beside || is_other)) given.refuse_both("plan", row.name);
    }
    if (arguments.verb == Verb::kCat && !given.has("pieces")) throw UsageError("cat --plan needs -n K");
    const bool is_pipe = std::ranges::any_of(given.inputs().all(), &Location::is_stream);
    if (is_pipe) throw UsageError("--plan needs a FILE; a range of it is read again");
}

void take_planned_piece(const Given& given, Arguments& arguments) {
    const std::string& text = *given.text("pieces");
    const std::string& option = given.spelling("pieces");
    const Share share =
        text.find('/') != std::string::npos ? parse_share(option, text) : Share{parse_count(option, text, 1), 0};
    arguments.cat_piece = share.number;
    if (share.count != 0) arguments.policy.pieces = share.count;
}

}  // namespace cleave::cli
