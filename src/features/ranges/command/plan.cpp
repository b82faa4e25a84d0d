// cleave plan: turns the summaries of all ranges into a plan, without the data.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cleave/experimental/range_plan.h"
#include "cli/diagnostics.h"
#include "cli/formatted.h"
#include "cli/named.h"
#include "cli/verbs.h"
#include "core/reader/location.h"

namespace cleave::cli {
namespace {

constexpr std::size_t kSummariesSize = std::size_t{1} << 20;
constexpr std::size_t kMostLine = std::size_t{64} << 10;

// The summaries so far.
class Summaries {
public:
    // Takes one line; blank lines are skipped.
    void take(std::string_view line) {
        if (line.find_first_not_of(" \t\r") == std::string_view::npos) return;
        const SummarisedRange range = parse_range_text(line);
        if (!input_) {
            input_ = range.input;
            fold_.emplace(range.input.size);
        }
        if (range.input != *input_) {
            throw RangesError(formatted(
                "bytes {}-{} belong to another input or version: {} bytes, {}, not {} bytes, {}", range.summary.begin,
                range.summary.end, range.input.size, range.input.name, input_->size, input_->name));
        }
        fold_->add(range.summary);
    }

    const std::optional<InputVersion>& input() const { return input_; }
    const RangeFold& fold() const { return *fold_; }

private:
    std::optional<InputVersion> input_;
    std::optional<RangeFold> fold_;
};

// Assembles lines from parts of the input and passes them on.
class Lines {
public:
    explicit Lines(Summaries& summaries) : summaries_(summaries) {}

    void add(std::string_view part) {
        for (std::size_t end = part.find('\n'); end != std::string_view::npos; end = part.find('\n')) {
            rest_ += part.substr(0, end);
            part.remove_prefix(end + 1);
            finish();
        }
        rest_ += part;
        if (rest_.size() > kMostLine)
            throw InputError("not a range summary (the output of cleave scan): a line is too long");
    }
    void finish() {
        summaries_.take(rest_);
        rest_.clear();
    }

private:
    Summaries& summaries_;
    std::string rest_;
};

std::string_view text_of(std::span<const std::uint8_t> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void read_summaries(Input& input, Summaries& summaries) {
    Lines lines(summaries);
    if (input.is_stream()) {
        for (auto bytes = input.read(); !bytes.empty(); bytes = input.read()) lines.add(text_of(bytes));
    } else {
        std::vector<std::uint8_t> buffer;
        const std::uint64_t size = input.blob().size();
        for (std::uint64_t at = 0; at < size; at += kSummariesSize) {
            const auto part = static_cast<std::size_t>(std::min<std::uint64_t>(size - at, kSummariesSize));
            lines.add(text_of(input.blob().lend(at, part, buffer)));
        }
    }
    lines.finish();
    input.throw_if_changed();
}

}  // namespace

void run_plan(Context& context) {
    Summaries summaries;
    for (const Location& location : context.arguments.inputs.all()) {
        context.location = location;
        Input input = open_named(context, location, nullptr);
        read_summaries(input, summaries);
    }
    context.location = Location("summaries");
    if (!summaries.input()) throw RangesError("none were given; run cleave scan first");
    RangePlan plan = summaries.fold().plan(context.arguments.policy);
    plan.input = *summaries.input();
    Diagnostics(context).take(plan.findings);
    StandardOutput out;
    out.print("{}\n", plan_text(plan));
    out.flush();
}

}  // namespace cleave::cli
