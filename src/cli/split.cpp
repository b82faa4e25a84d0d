// cleave split: writes pieces to files.
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "cleave/job.h"
#include "cli/diagnostics.h"
#include "cli/feature_parts.h"
#include "cli/formatted.h"
#include "cli/messages.h"
#include "cli/session.h"
#include "cli/standard_output.h"
#include "cli/verbs.h"
#include "core/writer/clone.h"
#include "core/writer/destination.h"
#include "engine/known_job.h"
#include "engine/plan_json.h"

namespace cleave::cli {
namespace {

// For inputs with more bytes than this, a hint about --reflink is useful.
constexpr std::uint64_t kWorthCloning = std::uint64_t{1} << 30;

// A limit that leads to more pieces than this may be a mistake, such as -C 500 instead of -l 500.
constexpr std::uint64_t kManyPieces = 10000;

// How many objects a message names.
constexpr std::size_t kMostNamed = 3;

// The options that limit pieces, as the user would type them.
std::string limits_text(const Policy& policy) {
    std::string text = policy.records ? formatted("-l {}", *policy.records) : "";
    if (policy.max_bytes) text += formatted("{}-C {}", text.empty() ? "" : " ", *policy.max_bytes);
    return text;
}

// --json: prints each event as it happens, one object per line.
void print_event(StandardOutput& out, const Json& event) {
    out.print("{}\n", event.text());
    out.flush();
}

Json make_event(const char* name) {
    Json event;
    event["event"] = name;
    return event;
}

// Prints names, events, or the files that a dry run would write.
class SplitObserver : public JobObserver {
public:
    SplitObserver(Context& context, OpenInput& opened, StandardOutput& out, Diagnostics& diagnostics)
        : context_(context), opened_(opened), out_(out), diagnostics_(diagnostics) {}

    void begin() {
        if (!context_.arguments.json) return;
        Json input = input_json(facts());
        input.erase("size");  // it may not be known yet
        Json event = make_event("begin");
        event["input"] = std::move(input);
        event["dialect"] = dialect_json(opened_.dialect);
        print_event(out_, event);
    }

    void spooled(std::uint64_t size) override { opened_.bar.resize(size); }

    void compiled(const cleave::Stage& stage, std::uint64_t header_records) override {
        context_.header_records = header_records;
        diagnostics_.take(stage);
    }

    void found(const Findings& findings) override { diagnostics_.take(findings); }

    void cut(const Piece& piece) override {
        diagnostics_.take(piece);
        if (piece.number == kManyPieces + 1) warn_of_many(piece);
    }

    // Names are printed as pieces are finished, so that a reader can start on the first.
    void finished(const Piece& piece, const std::string& path, const PieceResult& result) override {
        const Arguments& arguments = context_.arguments;
        if (first_path_.empty()) first_path_ = path;
        if (arguments.json) {
            Json event = make_event("piece");
            add_piece(event, piece, PieceFile{path, result});
            print_event(out_, event);
        } else if (arguments.output.dry_run) {
            out_.print("{}\t{}\n", path, result.size);
        } else if (arguments.print) {
            out_.print("{}{}", path, line_end(arguments));
            out_.flush();
        }
    }

    // Prints the event that says that all pieces are in place.
    void concluded(const JobReport& report) override {
        if (!context_.arguments.json) return;
        InputFacts all = facts();
        all.size = report.findings.size;
        all.header_size = report.header_size;
        Json event = make_event("end");
        event["input"] = input_json(all);
        event["header"] = header_json(all);
        event["records"] = report.findings.records - context_.header_records;
        event["pieces"] = report.pieces;
        print_event(out_, event);
    }

    // Not even --quiet hides it: somebody has to remove them.
    void left(const std::vector<std::string>& urls) override {
        std::string text = "these may be left in the store, as objects or as uploads that nobody sees: ";
        const std::size_t count = std::min(urls.size(), kMostNamed);
        for (std::size_t i = 0; i < count; ++i) text += (i > 0 ? ", " : "") + printable(urls[i]);
        if (urls.size() > count) text += formatted(" and {} more", urls.size() - count);
        print_warning(text);
    }

    // The path of the first piece; empty if there are no pieces.
    const std::string& first_path() const { return first_path_; }

private:
    // `piece` is the first one above kManyPieces. The number of pieces is not known before the last cut.
    void warn_of_many(const Piece& piece) const {
        const std::string limits = limits_text(context_.arguments.policy);
        if (limits.empty()) return;  // with -n and --by, the user asked for that many
        std::string text = formatted("{} makes more than {} pieces", limits, kManyPieces);
        if (!opened_.input.is_stream() && piece.start > 0) {
            const auto share = static_cast<double>(opened_.input.blob().size()) / static_cast<double>(piece.start);
            text += formatted(", about {:.0f} in all", share * kManyPieces);
        }
        diagnostics_.warn(text);
    }

    InputFacts facts() const { return facts_of(opened_.input, opened_.dialect, context_.arguments.policy.header); }

    Context& context_;
    OpenInput& opened_;
    StandardOutput& out_;
    Diagnostics& diagnostics_;
    std::string first_path_;
};

// Says that --reflink would have worked for a large file that was cut into plain files.
void remark_reflink(const Arguments& arguments, const Input& input, const std::string& path,
                    const Diagnostics& diagnostics) {
    const bool can_be_aligned = arguments.policy.pieces || (arguments.policy.max_bytes && !arguments.policy.by);
    const bool are_plain = destination_of(arguments.output).has_plain_bytes;
    if (arguments.clone || !can_be_aligned || !are_plain || path.empty()) return;
    if (input.blob().size() <= kWorthCloning || !can_clone(input, path)) return;
    diagnostics.remark("this file system can share blocks: --reflink auto would take almost no extra space");
}

// Once run_known_job() returns, the pieces stay. Later failures are only warnings: see Context::is_committed.
void split_input(Context& context, OpenInput& opened) {
    const Arguments& arguments = context.arguments;
    const bool is_file = !opened.input.is_stream();
    StandardOutput out(opened.input.cancellation());
    Diagnostics diagnostics(context);
    SplitObserver observer(context, opened, out, diagnostics);
    observer.begin();
    Job job{{}, arguments.policy, arguments.stage, arguments.execution, arguments.output};
    job.allow_open_quote = arguments.allows_open_quote;
    if (arguments.json) job.output.filter_output = STDERR_FILENO;  // standard output is for events
    std::optional<ReportSigning> signing;
    if (opened.hash) signing.emplace(ReportSigning{*context.keys, arguments.sign, *opened.hash});
    const JobReport report =
        run_known_job(opened.input, job, observer,
                      {&opened.sniffed, signing ? &*signing : nullptr,
                       store_of(context, Location(arguments.output.names)), opened.sifting.get(), opened.joined.get()});
    context.is_committed = !arguments.output.dry_run;
    if (is_file && context.is_committed) remark_reflink(arguments, opened.input, observer.first_path(), diagnostics);
    if (arguments.output.dry_run) out.flush();
    diagnostics.take(report);
    if (report.rejects) diagnostics.take(*report.rejects);
    diagnostics.conclude();
}

}  // namespace

void run_split(Context& context, const Cancellation& cancellation) {
    with_input(context, context.arguments.inputs.front(), &cancellation,
               [&](OpenInput& opened) { split_input(context, opened); });
}

}  // namespace cleave::cli
