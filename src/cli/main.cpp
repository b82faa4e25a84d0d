// The command: parses the words, runs a verb, and turns exceptions into messages and exit statuses.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <vector>

#include "base/json.h"
#include "base/shell_word.h"
#include "base/suggest.h"
#include "cleave/experimental/device.h"
#include "cleave/index_file.h"
#include "cleave/mapping_guard.h"
#include "cli/diagnostics.h"
#include "cli/feature_parts.h"
#include "cli/formatted.h"
#include "cli/help.h"
#include "cli/manual_page.h"
#include "cli/messages.h"
#include "cli/option_table.h"
#include "cli/other_tools.h"
#include "cli/prepare.h"
#include "cli/signals.h"
#include "cli/standard_output.h"
#include "cli/values.h"
#include "cli/verbs.h"
#include "core/reader/fd.h"
#include "core/writer/destination.h"
#include "engine/rules.h"

namespace cleave::cli {
namespace {

constexpr int kDone = 0;
constexpr int kUsage = 2;
constexpr int kMalformed = 3;

// split --json: an error is an event, too. If this fails, there is still the message.
void print_error_event(int code, std::string_view text) noexcept {
    try {
        Json event;
        event["event"] = "error";
        event["status"] = static_cast<std::uint64_t>(code);
        event["message"] = std::string(text);
        StandardOutput out;
        out.print("{}\n", event.text());
        out.flush();
    } catch (const std::exception& error) {
        std::ignore = error;
    }
}

// What people who press Ctrl-C want to know.
void tell_nothing_is_left(const Context& context) noexcept {
    const Arguments& arguments = context.arguments;
    const bool has_pieces = arguments.verb == Verb::kSplit && destination_of(arguments.output).leaves_files;
    if (caught_signal() == SIGINT && has_pieces && !arguments.quiet && is_terminal(STDERR_FILENO))
        print_message("interrupted; no piece of this run is left");
}

// After the commit every failure becomes a warning.
int fail(const Context& context, int code, std::string_view text) noexcept {
    if (context.is_committed) {
        print_warning(text);
        return kDone;
    }
    tell_nothing_is_left(context);
    die_of_caught_signal();
    print_message(text);
    if (context.arguments.verb == Verb::kSplit && context.arguments.json) print_error_event(code, text);
    return code;
}

// Names the options that help if a name is taken. Under -f no option helps, because the file cannot be replaced at all.
const char* hint(const Arguments& arguments, const std::error_code& code) {
    const bool has_option = arguments.verb == Verb::kSplit || arguments.verb == Verb::kJoin;
    if (code != std::errc::file_exists || !has_option || arguments.output.replace) return "";
    if (arguments.verb == Verb::kJoin) return "; -f replaces it";
    return arguments.output.resume || arguments.rejects ? "; -f replaces it"
                                                        : "; -f replaces it, --resume keeps it if it is identical";
}

// For a file that does not exist and whose name looks like a network address.
std::string url_hint(const Context& context, const std::error_code& code) {
    const std::string& name = context.location.name();
    if (code != std::errc::no_such_file_or_directory || name.find("://") == std::string::npos) return "";
    if (context.location.is_url()) return "";  // something else does not exist
    return formatted("; try: curl -s {} | cleave {} ... -", shell_word(name), verb_name(context.arguments.verb));
}

// The offset at which the UTF-8 character that contains this byte begins; `offset` itself if the byte is not part of a
// character.
std::size_t character_begin(std::string_view text, std::size_t offset) {
    constexpr std::size_t kLongest = 4;
    for (std::size_t back = 0; back < kLongest && back <= offset && offset < text.size(); ++back) {
        if ((static_cast<unsigned char>(text[offset - back]) & 0xC0U) != 0x80U) return offset - back;
    }
    return offset;
}

// Prints "--redact: what is wrong", the rule, and a caret below the error. A line in a rules file may be megabytes
// long, so only the part near the error is shown.
int fail(const Context& context, const RuleError& error) {
    const int code = fail(context, kUsage, formatted("{}: {}", error.origin(), error.what()));
    if (error.text().empty()) return code;
    constexpr std::size_t kMostShown = 200;  // in bytes, before the error and again after it
    const std::string_view rule = error.text();
    const std::size_t place = std::min(error.place(), rule.size());
    const std::size_t begin = character_begin(rule, place - std::min(place, kMostShown));
    const std::size_t end = character_begin(rule, place + std::min(rule.size() - place, kMostShown));
    const std::string_view before = begin > 0 ? "..." : "";
    const PrintableData shown = printable_data(rule.substr(begin, end - begin), place - begin);
    print_detail(formatted("{}{}{}", before, shown.text, end < rule.size() ? "..." : ""));
    print_detail(std::string(before.size() + shown.caret, ' ') + '^');
    return code;
}

int status_of(const Failure& failure) {
    const auto* const error = failure.as<DeviceUnavailable>();
    return error != nullptr && error->missing() == DeviceUnavailable::Missing::kTrust ? kUsage : failure.status;
}

std::string spool_hint(const Context& context) {
    const Policy& policy = context.arguments.policy;
    const bool is_only_way = policy.together || policy.by || context.arguments.verb != Verb::kSplit ||
                             needs_two_passes(context.arguments.stage);
    return formatted("; {}allow it with --spool plain", is_only_way ? "" : "use -l or -C, or ");
}

// The place of the error, after a blank.
std::string described_place(const Context& context, const Place& place) {
    // Until the end of the header is known, the place is in the header.
    const bool is_header = context.has_header() && context.header_records == 0;
    const std::uint64_t header_records = is_header ? UINT64_MAX : context.header_records;
    const std::optional<std::uint64_t> line =
        context.are_records_lines ? std::optional(place.record + 1) : std::nullopt;
    return ' ' + describe_place(place, header_records, line);
}

// The reason of a failure, with what helps.
std::string reason(const Context& context, const Failure& failure) {
    std::string what = failure.what;
    const Arguments& arguments = context.arguments;
    if (failure.place) return what + described_place(context, *failure.place);
    if (const auto* error = failure.as<HeaderSizeError>()) return describe(context, *error);
    if (failure.as<ValueLimitError>() != nullptr)
        return formatted("{} of {}; --max-values allows more", what, arguments.policy.by->columns.text);
    if (failure.as<SnapshotError>() != nullptr) return "--snapshot needs a plain regular file: " + what;
    if (failure.as<SpoolError>() != nullptr) return what + spool_hint(context);
    if (failure.as<MissingDirectoryError>() != nullptr)
        return what + (arguments.verb == Verb::kSplit ? "; --mkdir creates it" : "");
    if (failure.as<OtherPieceError>() != nullptr) return what + "; -f replaces it";
    if (failure.as<CloneError>() != nullptr) return what + "; --reflink auto would copy";
    if (const auto* error = failure.as<std::system_error>())
        return what + hint(arguments, error->code()) + url_hint(context, error->code());
    return what;
}

// Runs `work` and turns what it throws into a message and an exit status. Throws only std::bad_alloc.
template <class Work>
int described(const Context& context, const Work& work) {
    try {
        return work();
    } catch (const UsageError& error) {
        return fail(context, kUsage, error.what());
    } catch (const RuleError& error) {
        return fail(context, error);
    } catch (const std::bad_alloc&) {
        throw;
    } catch (const std::exception&) {
        using Kind = Failure::Kind;
        const Failure failure = current_failure();
        const bool is_about_input = failure.kind == Kind::kInput || failure.kind == Kind::kChanged ||
                                    failure.kind == Kind::kUnfit || failure.as<SpoolError>() != nullptr;
        const std::string subject = failure.kind == Kind::kIndex ? index_path(context.location.bare()) + ": "
                                    : is_about_input             ? context.location.shown() + ": "
                                                                 : "";
        return fail(context, status_of(failure), subject + reason(context, failure));
    }
}

// The same, but also reports std::bad_alloc, because `work`, or composing an error message, may run out of memory.
template <class Work>
int guarded(const Context& context, const Work& work) noexcept {
    try {
        return described(context, work);
    } catch (const std::bad_alloc&) {
        const Failure failure = current_failure();
        const bool is_explicit =
            failure.as<MemoryError>() != nullptr && context.arguments.memory_manager == "huge:explicit";
        return fail(context, failure.status,
                    is_explicit ? "huge:explicit: too few huge pages are reserved; sysctl vm.nr_hugepages reserves them"
                                : failure.what);
    }
}

// A signal ends the run only once this input's files are in a consistent state.
void index_guarded(Context& context, const Location& location, bool is_last) {
    {
        Cancellation cancellation;
        SignalGuard guard(cancellation);
        index_input(context, location, cancellation);
        if (is_last) guard.conclude();
    }
    if (!is_last) die_of_caught_signal();
}

// Inputs are independent: if one fails, the others are still read. Returns the largest exit status.
int run_inputs(Context& context) {
    StandardOutput out;
    CountTotal total;
    int worst = kDone;
    const LocationList& inputs = context.arguments.inputs;
    for (std::size_t number = 0; number < inputs.size(); ++number) {
        const Location location = inputs[number];
        const int code = guarded(context, [&] {
            if (context.arguments.verb == Verb::kCheck) return check_input(context, location, out) ? kDone : kMalformed;
            if (context.arguments.verb == Verb::kIndex) {
                index_guarded(context, location, number + 1 == inputs.size());
            } else {
                count_input(context, location, out, total);
            }
            return kDone;
        });
        worst = std::max(worst, code);
    }
    const bool has_total = context.arguments.verb == Verb::kCount && inputs.size() > 1;
    if (has_total) print_total(context.arguments, total, out);
    out.flush();
    return worst;
}

// Runs outside the sandbox, because a device driver opens arbitrary files and no input is read.
int run_info(const Context& context) {
    StandardOutput out;
    describe_info(context.arguments, out);
    out.flush();
    return kDone;
}

int run_verb(Context& context) {
    if (context.arguments.verb == Verb::kInfo) return run_info(context);
    prepare(context);
    switch (context.arguments.verb) {
        case Verb::kSplit: {
            Cancellation cancellation;
            SignalGuard guard(cancellation);
            run_split(context, cancellation);
            explain(context.arguments);
            guard.conclude();
            return kDone;
        }
        case Verb::kOffsets: run_offsets(context); return kDone;
        case Verb::kCat:
            run_cat(context);
            explain(context.arguments);
            return kDone;
        case Verb::kSample: run_sample(context); return kDone;
        case Verb::kScan: run_scan(context); return kDone;
        case Verb::kPlan: run_plan(context); return kDone;
        case Verb::kJoin: {
            Cancellation cancellation;
            SignalGuard guard(cancellation);
            run_join(context, cancellation);
            guard.conclude();
            return kDone;
        }
        case Verb::kVerify: return run_verify(context) ? kDone : kMalformed;
        case Verb::kKey: run_key(context.arguments); return kDone;
        case Verb::kCount:
        case Verb::kCheck:
        case Verb::kIndex:
        case Verb::kInfo: break;
    }
    return run_inputs(context);
}

int print(const std::string& text) {
    StandardOutput out;
    out.print("{}", text);
    out.flush();
    return kDone;
}

// The shell that --completion names, as the next word or after an equals sign. std::nullopt for any other first word.
std::optional<Shell> shell_to_complete(const std::vector<std::string>& words) {
    constexpr std::string_view kOption = "--completion";
    if (words[0].starts_with(std::string(kOption) + "=") && words.size() == 1)
        return parse_shell(words[0].substr(kOption.size() + 1));
    if (words[0] != kOption) return std::nullopt;
    if (words.size() != 2) throw UsageError("--completion takes one SHELL");
    return parse_shell(words[1]);
}

Verb verb_of(const std::string& word) {
    if (const auto verb = verb_by_name(word)) {
        refuse_left_out(*verb);
        return *verb;
    }
    const std::vector<std::string> names = separate(verb_names(kAllVerbs));
    const std::string hint = verb_hint(word);
    const std::string suggestion = hint.empty() ? did_you_mean(word, names) : hint;
    throw UsageError(
        formatted("unknown command '{}'{}", word, suggestion.empty() ? "; see cleave --help" : suggestion));
}

// Rejects a file name in place of the command.
void refuse_file(const std::string& word) {
    if (verb_by_name(word)) return;
    struct stat status;
    const bool is_there = ::stat(word.c_str(), &status) == 0;
    const bool is_file = is_there ? !S_ISDIR(status.st_mode) : word.find_first_of("./") != std::string::npos;
    if (!is_file) return;
    throw UsageError(formatted("'{0}' {1}, not a command; try: cleave check {2}, or: cleave split -n 4 {2}", word,
                               is_there ? "is a file" : "looks like a file", shell_word(word)));
}

std::string help_of(Verb verb, HelpLevel level) {
    return level == HelpLevel::kShort ? short_help(verb) : long_help(verb);
}

// Prints the help for `option`, which is "help", "-h" or "--help", and the words after it.
int print_help(const std::string& option, const std::vector<std::string>& words) {
    if (words.size() > 1) throw UsageError(formatted("{} takes one command", option));
    if (words.empty()) return print(general_help());
    const bool is_topic = option == "help" && std::ranges::count(topics(), words[0]) > 0;
    const Verb verb = is_topic ? Verb::kCount : verb_of(words[0]);  // unused for a topic
    if (option == "help") {
        const std::string name(is_topic ? words[0] : verb_name(verb));
        const PageShown shown = show_manual_page(name);
        if (shown == PageShown::kYes) return kDone;
        const std::string page = manual_page(name);
        const std::string why =
            (shown == PageShown::kNoMan ? "man is not installed, and would show " : "man has no page ") + page;
        if (is_topic) throw std::runtime_error(why);
        print_message(why + "; these are the options");
    }
    return print(help_of(verb, option == "-h" ? HelpLevel::kShort : HelpLevel::kLong));
}

// Prints the help on standard error, because the user did not ask for it.
int print_missing_verb() {
    const std::string text = general_help();
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = text.find('\n', begin);
        print_line(std::string_view(text).substr(begin, end - begin));
        begin = end + 1;
    }
    return kUsage;
}

// Rejects a first word that looks like an option but is not --help, --version or --completion.
// `words` are all words of the command line.
[[noreturn]] void refuse_general_option(const std::vector<std::string>& words) {
    const std::string& word = words[0];
    std::vector<std::string> names;
    for (const OptionRow& row : option_table()) {
        if ((row.verbs & kGeneral) != 0) names.push_back(formatted("--{}", row.name));
    }
    const std::string suggestion = did_you_mean(word, names);
    if (!suggestion.empty()) throw UsageError(formatted("unknown option '{}'{}", word, suggestion));
    std::string command = "cleave split";
    for (const std::string& each : words) command += ' ' + shell_word(each);
    // "-n4", "--pieces=4".
    const bool is_of_split = has_option(Verb::kSplit, word.substr(0, word.starts_with("--") ? word.find('=') : 2));
    throw UsageError(
        formatted("there is no command before '{}'; {}", word, is_of_split ? "try: " + command : "see cleave --help"));
}

int run(const std::vector<std::string>& words, Context& context) {
    if (words.empty()) return print_missing_verb();
    const std::string& first = words[0];
    const std::vector<std::string> rest(words.begin() + 1, words.end());
    if (first == "help" || first == "--help" || first == "-h") return print_help(first, rest);
    if (first == "--version" || first == "-V") {
        if (!rest.empty()) throw UsageError(formatted("{} takes no arguments", first));
        return print(version_text());
    }
    if (const auto shell = shell_to_complete(words)) return print(completion_script(*shell));
    if (first.starts_with('-')) refuse_general_option(words);
    refuse_file(first);
    const Verb verb = verb_of(first);
    context.arguments = parse_arguments(verb, rest);
    context.arguments.execution.meter = &context.meter;
    const HelpLevel level = context.arguments.help;
    return level != HelpLevel::kNone ? print(help_of(verb, level)) : run_verb(context);
}

// Opens descriptors 0 to 2 on /dev/null if they are closed, so that no piece gets one of them. They are opened in the
// wrong direction, so using them still fails.
void occupy_standard_descriptors() {
    for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; ++descriptor) {
        if (::fcntl(descriptor, F_GETFD) >= 0) continue;
        const int opened = ::open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY);
        if (opened >= 0 && opened != descriptor) ::close(opened);
    }
}

int main(std::span<char*> words) {
    occupy_standard_descriptors();
    std::ignore = ::signal(SIGXFSZ, SIG_IGN);  // a write beyond the file size limit then fails with EFBIG
    const MappingGuard mapping_guard;
    Context context;
    return guarded(context, [&] { return run({words.begin(), words.end()}, context); });
}

}  // namespace
}  // namespace cleave::cli

// In place of libstdc++'s, which prints the exception, whose text may show a value, and needs a demangler of 50 KB.
namespace __gnu_cxx {                                 // NOLINT(bugprone-reserved-identifier)
void __verbose_terminate_handler() { std::abort(); }  // NOLINT(bugprone-reserved-identifier)
}  // namespace __gnu_cxx

int main(int argc, char** argv) { return cleave::cli::main({argv + (argc > 0 ? 1 : 0), argv + argc}); }
