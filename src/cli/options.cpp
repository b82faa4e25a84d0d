#include "cli/options.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <boost/program_options.hpp>

#include "cli/choices.h"
#include "cli/option_table.h"
#include "cli/values.h"

namespace cleave::cli {
namespace {

namespace po = boost::program_options;

// The cores that this process may use.
unsigned usable_cores() {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (::sched_getaffinity(0, sizeof set, &set) != 0) return 1;
    return std::max(1U, static_cast<unsigned>(CPU_COUNT(&set)));
}

po::options_description describe(Verb verb) {
    po::options_description description;
    auto add = description.add_options();
    for (const OptionRow& row : option_table()) {
        if ((row.verbs & bit(verb)) == 0) continue;
        const std::string name = row.letter == 0 ? row.name : fmt::format("{},{}", row.name, row.letter);
        if (row.value == nullptr) {
            add(name.c_str(), row.help);
        } else {
            add(name.c_str(), po::value<std::string>(), row.help);
        }
    }
    add("input", po::value<std::vector<std::string>>());
    return description;
}

po::variables_map parse(Verb verb, const std::vector<std::string>& words) {
    namespace style = po::command_line_style;
    constexpr int kStyle = style::unix_style & ~style::allow_guessing;
    po::positional_options_description positional;
    positional.add("input", -1);
    po::variables_map given;
    try {
        const po::options_description description = describe(verb);
        po::store(po::command_line_parser(words).options(description).positional(positional).style(kStyle).run(),
                  given);
        po::notify(given);
    } catch (const po::unknown_option& error) {
        // Its what() replaces placeholders, those in the word at hand too, and never ends where one stands for itself.
        throw UsageError(fmt::format("unrecognised option '{}'", error.get_option_name()));
    } catch (const po::error& error) {
        throw UsageError(error.what());
    }
    return given;
}

// The values given, by option.
class Given {
public:
    explicit Given(const po::variables_map& map) : map_(map) {}

    bool has(const char* name) const { return map_.count(name) > 0; }

    // nullptr if the option was not given.
    const std::string* text(const char* name) const { return has(name) ? &map_[name].as<std::string>() : nullptr; }

    std::optional<std::uint64_t> count(const char* name, std::uint64_t least) const {
        const std::string* value = text(name);
        return value == nullptr ? std::nullopt : std::optional(parse_count(name, *value, least));
    }

    std::optional<std::uint64_t> size(const char* name) const {
        const std::string* value = text(name);
        return value == nullptr ? std::nullopt : std::optional(parse_size(name, *value));
    }

private:
    const po::variables_map& map_;
};

void take_policy(const Given& given, Arguments& arguments) {
    Policy& policy = arguments.policy;
    policy.records = given.count("records", 1);
    policy.size = given.size("size");
    if (const auto every = given.count("every", 1)) {
        if (policy.records || policy.size || given.has("pieces"))
            throw UsageError("--every goes without -l, -C and -n");
        policy.records = every;  // each start is that of a piece of so many records
    }
    if (const std::string* pieces = given.text("pieces")) {
        if (arguments.verb == Verb::kCat) {
            const Share share = parse_share("pieces", *pieces);
            policy.pieces = share.count;
            arguments.cat_piece = share.number;
        } else {
            policy.pieces = parse_count("pieces", *pieces, 1);
        }
    }
    if (policy.pieces && (policy.records || policy.size)) throw UsageError("-n goes with neither -l nor -C");
    const bool cuts =
        arguments.verb == Verb::kSplit || arguments.verb == Verb::kOffsets || arguments.verb == Verb::kCat;
    if (!cuts || policy.pieces || policy.records || policy.size) return;
    throw UsageError(arguments.verb == Verb::kCat ? "which piece? -n K/N says it"
                                                  : "how to cut? -l RECORDS, -C SIZE or -n PIECES says it");
}

void take_clone(const Given& given, Arguments& arguments) {
    const std::string* mode = given.text("clone");
    if (mode == nullptr) return;
    arguments.clone = parse_choice("clone", *mode, kCloneModes);
    if (arguments.clone == CloneMode::kNever) return;
    Policy& policy = arguments.policy;
    if (!policy.size && !policy.pieces) throw UsageError("--clone needs -C or -n");
    policy.alignment = kCloneAlignment;
}

void take_header(const Given& given, Arguments& arguments) {
    if (const std::string* mode = given.text("header")) {
        if (given.has("no-header")) throw UsageError("--header and --no-header exclude each other");
        arguments.policy.header = parse_choice("header", *mode, kHeaderModes);
    }
    if (given.has("no-header")) arguments.policy.header = HeaderMode::kNone;
}

void take_quotes(const Given& given, Dialect& dialect) {
    if (const std::string* quote = given.text("quote")) {
        if (given.has("no-quote")) throw UsageError("--quote and --no-quote exclude each other");
        dialect.quote = parse_byte("quote", *quote);
    }
    if (given.has("no-quote")) dialect.quote.reset();
    if (const std::string* escape = given.text("escape")) dialect.escape = parse_byte("escape", *escape);
    if (const std::string* scope = given.text("escape-scope")) {
        if (!dialect.escape) throw UsageError("--escape-scope needs an --escape");
        dialect.escape_scope = parse_choice("escape-scope", *scope, kEscapeScopes);
    }
    // A quote that escapes a quote is a doubled quote.
    if (dialect.escape == dialect.quote) dialect.escape.reset();
    if (const std::string* quoting = given.text("quoting")) {
        dialect.quoting = parse_choice("quoting", *quoting, kQuotings);
    }
}

void take_dialect(const Given& given, Arguments& arguments) {
    DialectWish& wish = arguments.dialect;
    if (const std::string* name = given.text("dialect")) {
        const auto preset = dialect_preset(*name);
        if (!preset) refuse_choice("dialect", *name, joined(dialect_presets()));
        wish = *preset;
    }
    take_quotes(given, wish.dialect);
    if (const std::string* delimiter = given.text("delimiter")) {
        wish.sniff_delimiter = *delimiter == "auto";
        if (!wish.sniff_delimiter) wish.dialect.delimiter = parse_byte("delimiter", *delimiter);
    }
    if (const std::string* terminator = given.text("terminator")) {
        const auto kind = parse_choice("terminator", *terminator, kTerminators);
        wish.sniff_terminator = !kind;
        if (kind) wish.dialect.terminator = *kind;
    }
    // A delimiter that is yet to be found cannot be at fault.
    Dialect dialect = wish.dialect;
    if (wish.sniff_delimiter) dialect.delimiter = dialect.quote == ',' || dialect.escape == ',' ? ';' : ',';
    if (const auto fault = dialect_fault(dialect)) throw UsageError(*fault);
}

void take_machine(const Given& given, Arguments& arguments) {
    Machine& machine = arguments.machine;
    constexpr std::uint64_t kMaxThreads = 1024;
    machine.threads = static_cast<unsigned>(std::min(given.count("threads", 1).value_or(usable_cores()), kMaxThreads));
    if (const auto size = given.size("block-size")) {
        if (*size > kMaxBlockSize) throw UsageError(fmt::format("--block-size: at most {}", kMaxBlockSize));
        machine.block_size = static_cast<std::size_t>(*size);
    }
    try {
        const std::string* name = given.text("kernel");
        machine.kernel = name == nullptr ? &default_kernel() : &kernel_by_name(*name);
    } catch (const std::invalid_argument& error) {
        throw UsageError(error.what());
    }
}

void take_output(const Given& given, Arguments& arguments) {
    if (const std::string* output = given.text("output")) arguments.output = *output;
    arguments.first_index = given.count("first-index", 0).value_or(1);
    constexpr std::uint64_t kMaxFirstIndex = 1'000'000'000'000'000'000;
    if (arguments.first_index > kMaxFirstIndex)
        throw UsageError(fmt::format("--first-index: at most {}", kMaxFirstIndex));
    arguments.make_directories = given.has("mkdir");
    arguments.force = given.has("force");
    arguments.resume = given.has("resume");
    arguments.sync = given.has("sync");
    if (const std::string* manifest = given.text("manifest")) {
        if (manifest->empty() || manifest->ends_with('/'))
            throw UsageError("--manifest: '" + *manifest + "' names no file");
        arguments.manifest = *manifest;
    }
    if (given.has("print")) arguments.print_end = '\n';
    if (given.has("null")) arguments.print_end = '\0';
    arguments.dry_run = given.has("dry-run");
    arguments.json = given.has("json");
    if (arguments.verb == Verb::kSplit && arguments.json && (arguments.print_end || arguments.dry_run)) {
        throw UsageError("--json goes with none of --print, --null and --dry-run");
    }
    if (given.has("every")) arguments.format = Format::kStarts;
    if (const std::string* format = given.text("format")) {
        if (given.has("every")) throw UsageError("--every has a format of its own");
        arguments.format = parse_choice("format", *format, kFormats);
    }
}

// FORMAT or FORMAT:LEVEL. The suffix is put to the names, unless the template has it.
void take_compression(const Given& given, Arguments& arguments) {
    const std::string* text = given.text("compress");
    if (text == nullptr) return;
    const std::size_t colon = text->find(':');
    CompressionWish& wish = arguments.compression;
    wish.format = parse_choice("compress", text->substr(0, colon), kCompressions);
    wish.level = default_level(wish.format);
    if (colon != std::string::npos) {
        const auto least = static_cast<std::uint64_t>(least_level(wish.format));
        const std::uint64_t level = parse_count("compress", text->substr(colon + 1), least);
        if (level > static_cast<std::uint64_t>(most_level(wish.format))) {
            throw UsageError(fmt::format("--compress: the levels of {} are {} to {}", compression_name(wish.format),
                                         least, most_level(wish.format)));
        }
        wish.level = static_cast<int>(level);
    }
    if (arguments.clone == CloneMode::kAlways) throw UsageError("--clone always and --compress exclude each other");
    const std::string_view suffix = compression_suffix(wish.format);
    if (!arguments.output.ends_with(suffix)) arguments.output += suffix;
}

void take_filter(const Given& given, Arguments& arguments) {
    const std::string* command = given.text("filter");
    if (command == nullptr) return;
    if (command->empty()) throw UsageError("--filter: an empty command");
    arguments.filter = *command;
    if (arguments.clone == CloneMode::kAlways) throw UsageError("--clone always and --filter exclude each other");
    for (const char* other : {"compress", "force", "manifest", "mkdir", "resume", "sync"}) {
        if (given.has(other)) throw UsageError(fmt::format("--{} is about files, and --filter makes none", other));
    }
}

// What is said on standard error, beside errors.
void take_talk(const Given& given, Arguments& arguments) {
    arguments.quiet = given.has("quiet");
    arguments.verbose = given.has("verbose");
    if (arguments.quiet && arguments.verbose) throw UsageError("--quiet and --verbose exclude each other");
    const std::string* progress = given.text("progress");
    if (progress != nullptr) arguments.progress = parse_choice("progress", *progress, kWhens);
    if (!arguments.quiet) return;
    if (arguments.progress == When::kAlways) throw UsageError("--quiet and --progress always exclude each other");
    arguments.progress = When::kNever;
}

void take_inputs(const po::variables_map& map, Arguments& arguments) {
    if (map.count("input") > 0) arguments.inputs = map["input"].as<std::vector<std::string>>();
    const bool many = arguments.verb == Verb::kCount || arguments.verb == Verb::kCheck;
    if (!many && arguments.inputs.size() > 1) {
        throw UsageError(fmt::format("one input at a time, and '{}' is a second one", arguments.inputs[1]));
    }
    if (!arguments.inputs.empty()) return;
    if (arguments.verb == Verb::kOffsets || arguments.verb == Verb::kCat) throw UsageError("which FILE?");
    arguments.inputs = {"-"};
}

}  // namespace

Shell parse_shell(const std::string& name) { return parse_choice("completion", name, kShells); }

Arguments parse_arguments(Verb verb, const std::vector<std::string>& words) {
    const po::variables_map map = parse(verb, words);
    const Given given(map);
    Arguments arguments;
    arguments.verb = verb;
    arguments.help = given.has("help");
    if (arguments.help) return arguments;
    take_policy(given, arguments);
    take_clone(given, arguments);
    take_header(given, arguments);
    take_dialect(given, arguments);
    take_machine(given, arguments);
    take_output(given, arguments);
    take_compression(given, arguments);
    take_filter(given, arguments);
    take_inputs(map, arguments);
    take_talk(given, arguments);
    arguments.lenient = given.has("lenient");
    arguments.strict = given.has("strict");
    arguments.strict_size = given.has("strict-size");
    if (arguments.strict_size && !arguments.policy.size) throw UsageError("--strict-size needs -C");
    return arguments;
}

}  // namespace cleave::cli
