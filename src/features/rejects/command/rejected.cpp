// --rejects, the options that need it, and `cleave cat --rejected`.
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/crc32c.h"
#include "base/text_bytes.h"
#include "cli/choices.h"
#include "cli/feature_parts.h"
#include "cli/formatted.h"
#include "cli/named.h"
#include "cli/verbs.h"
#include "core/reader/fd.h"
#include "features/rejects/reject_file.h"

namespace cleave::cli {
namespace {

constexpr std::uint64_t kMillion = 1'000'000;

// N, P% or all.
void take_limit(const Given& given, RejectOptions& options) {
    const std::string* const text = given.text("max-rejects");
    if (text == nullptr) return;
    const std::string& option = given.spelling("max-rejects");
    options.at_least = 0;
    options.per_million = 0;
    if (*text == "all") {
        options.per_million = kMillion;
    } else if (!text->ends_with('%')) {
        options.at_least = parse_count(option, *text, 0);
    } else {
        const std::size_t point = std::min(text->find('.'), text->size() - 1);
        const std::string whole = text->substr(0, point);
        std::string part = point + 1 < text->size() ? text->substr(point + 1, text->size() - point - 2) : "";
        constexpr std::size_t kMostDigits = 4;  // of a percent are a millionth
        if (part.size() > kMostDigits) throw UsageError(formatted("{}: at most four digits after the point", option));
        part.resize(kMostDigits, '0');
        const std::uint64_t percent = parse_count(option, whole, 0);
        options.per_million = std::min<std::uint64_t>(percent, 101) * kMillion / 100 + parse_count(option, part, 0);
        if (options.per_million > kMillion) throw UsageError(formatted("{}: '{}' is more than 100%", option, *text));
    }
}

void take_kinds(const Given& given, RejectOptions& options) {
    const std::string* const text = given.text("reject");
    if (text == nullptr) return;
    std::uint8_t kinds = 0;
    for (std::size_t from = 0; from <= text->size();) {
        const std::size_t end = std::min(text->find(',', from), text->size());
        kinds |= bits_of(parse_choice(given.spelling("reject"), text->substr(from, end - from), kRejectKinds));
        from = end + 1;
    }
    options.kinds = kinds;
}

// Reads the file a line at a time.
class RejectLines {
public:
    explicit RejectLines(const Location& location) : name_(location.shown()), file_(open_file(location)) {}

    // Returns nothing at the end. Throws what open_rejected() says.
    std::optional<ListedReject> next() {
        std::string line;
        while (!line.ends_with('\n')) {
            if (rest_.empty()) rest_ = std::span(buffer_).first(read_some(file_.get(), buffer_, nullptr, name_));
            if (rest_.empty()) break;
            const auto end = std::ranges::find(rest_, '\n');
            const std::size_t size = static_cast<std::size_t>(end - rest_.begin()) + (end == rest_.end() ? 0 : 1);
            line.append(rest_.begin(), rest_.begin() + static_cast<std::ptrdiff_t>(size));
            rest_ = rest_.subspan(size);
        }
        if (line.empty()) return std::nullopt;
        sum_.add(bytes_of(line));
        if (line.ends_with('\n')) line.pop_back();
        return reject_of_line(line);
    }
    // Of what was read.
    std::uint32_t crc32c() const { return sum_.value(); }

private:
    const std::string name_;
    const Fd file_;
    std::vector<std::uint8_t> buffer_ = std::vector<std::uint8_t>(std::size_t{1} << 16);
    std::span<const std::uint8_t> rest_;  // read, and not passed on
    Crc32c sum_;
};

void check_path(const std::string& path, const OutputOptions& output) {
    if (path.empty() || path.ends_with('/')) throw UsageError(formatted("--rejects: '{}' names no file", path));
    if (path == "-") throw UsageError("--rejects: standard output is for names and records");
    if (Location::is_url(path)) throw UsageError("--rejects names a file, not an object");
    if (path == output.manifest || path == output.report)
        throw UsageError(formatted("--rejects: '{}' is also the manifest or the report", path));
}

}  // namespace

void take_rejects(const Given& given, Arguments& arguments) {
    if (const std::string* const rejected = given.text("rejected")) {
        for (const char* other : {"rejects", "pieces", "range", "last", "plan"}) given.refuse_both("rejected", other);
        if (!arguments.inputs.empty() || !arguments.stage.options.is_empty())
            throw UsageError("--rejected takes neither an input nor rules: the file has the records");
        arguments.rejected = Location(*rejected);
    }
    RejectOptions options;
    take_kinds(given, options);
    take_limit(given, options);
    const std::string* const path = given.text("rejects");
    if (path == nullptr) {
        for (const char* name : {"max-rejects", "reject", "fields"}) {
            if (given.has(name)) throw UsageError(formatted("{} needs --rejects FILE", given.spelling(name)));
        }
        return;
    }
    for (const char* other : {"snapshot", "plan", "resume"}) given.refuse_both("rejects", other);
    const std::uint8_t kinds = options.kinds.value_or(bits_of(RejectKind::kFields, RejectKind::kQuotes));
    if ((kinds & bits_of(RejectKind::kFields)) != 0) given.refuse_both("rejects", "allow-ragged");
    if ((kinds & bits_of(RejectKind::kQuotes)) != 0) given.refuse_both("rejects", "allow-open-quote");
    check_path(*path, arguments.output);
    options.path = arguments.output.dry_run ? "" : *path;
    options.makes_folder = arguments.output.make_directories;
    options.replaces = arguments.output.replace;
    options.has_texts = arguments.stage.options.is_empty();
    options.waits = arguments.verb == Verb::kCat && !options.has_texts && arguments.cat_piece == 0 && !arguments.range;
    options.fields = given.count("fields", 1).value_or(0);
    if (options.fields > 0 && arguments.header != HeaderMode::kNone)
        throw UsageError("--fields is for input without a header; see --no-header");
    if (const auto size = given.size("max-record")) {
        if (*size > kMaxRecordLimit)
            throw UsageError(formatted("--max-record: must be 1 to {} bytes", kMaxRecordLimit));
        options.max_record = *size;
    }
    arguments.rejects = options;
    if (arguments.index == IndexUse::kRequire)
        throw UsageError("--index require cannot be used with --rejects, which reads the whole input");
    arguments.index = IndexUse::kNever;
}

void take_rejects_of_join(const Given& given, Arguments& arguments) {
    const std::string* const path = given.text("rejects");
    if (path == nullptr) return;
    if (arguments.output.manifest.empty())
        throw UsageError("--rejects needs --manifest FILE, which says that the pieces follow each other");
    arguments.rejected = Location(*path);
}

RejectedRecords open_rejected(Context& context) {
    const auto lines = std::make_shared<RejectLines>(context.arguments.rejected);
    return [lines, &context]() -> std::optional<RejectedRecord> {
        const Location piece = std::exchange(context.location, context.arguments.rejected);  // for errors
        std::optional<ListedReject> reject = lines->next();
        context.location = piece;
        if (!reject) return std::nullopt;
        return RejectedRecord{reject->byte, std::move(reject->text), lines->crc32c()};
    };
}

void print_rejected(Context& context) {
    context.location = context.arguments.rejected;
    RejectLines lines(context.location);
    char line_break = '\n';
    bool is_open = false;  // the last record of an input that another one follows
    const auto print = [&](std::string text) {
        if (text.empty()) return;
        if (is_open) text.insert(0, 1, line_break);
        is_open = !is_line_break(bytes_of(text).back());
        if (!is_open) line_break = text.back();
        write_all(STDOUT_FILENO, bytes_of(text), "write error");
    };
    for (std::optional<ListedReject> reject; (reject = lines.next());) {
        if (context.arguments.policy.header != HeaderMode::kDrop) print(reject->header);  // which only the first has
        print(reject->text);
    }
}

}  // namespace cleave::cli
