// cleave split: pieces into files.
#include <unistd.h>

#include "cleave/job.h"
#include "cli/diagnostics.h"
#include "cli/messages.h"
#include "cli/session.h"
#include "cli/standard_output.h"
#include "cli/verbs.h"
#include "formats/plan_json.h"
#include "write/clone.h"
#include "write/destination.h"

namespace cleave::cli {
namespace {

// For inputs of more bytes than this, a message about --clone is useful.
constexpr std::uint64_t kWorthCloning = std::uint64_t{1} << 30;

// --json: what happens, one object a line, as it happens.
void print_event(StandardOutput& out, const Json& event) {
    out.print("{}\n", event.text());
    out.flush();
}

Json make_event(const char* name) {
    Json event;
    event["event"] = name;
    return event;
}

// Prints names, events, or what a dry run would write.
class SplitObserver : public JobObserver {
public:
    SplitObserver(Context& context, OpenInput& opened, StandardOutput& out, Diagnostics& diagnostics)
        : context_(context), opened_(opened), out_(out), diagnostics_(diagnostics) {}

    void begin() {
        if (!context_.arguments.json) return;
        Json input = input_json(facts());
        input.erase("size");  // may not be known yet
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

    void cut(const Piece& piece) override { diagnostics_.take(piece); }

    // Names are printed as the pieces are finished, so that a reader can begin with the first.
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

    // The event that says that all pieces are in place.
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

    // Of the first piece; empty if there is no piece.
    const std::string& first_path() const { return first_path_; }

private:
    InputFacts facts() const { return facts_of(opened_.input, opened_.dialect, context_.arguments.policy.header); }

    Context& context_;
    OpenInput& opened_;
    StandardOutput& out_;
    Diagnostics& diagnostics_;
    std::string first_path_;
};

// Says that --clone would have worked for a large file that was cut into plain files.
void remark_clone(const Arguments& arguments, const Input& input, const std::string& path,
                  const Diagnostics& diagnostics) {
    const bool can_be_aligned = arguments.policy.pieces || (arguments.policy.size && !arguments.policy.by);
    const bool are_plain = destination_of(arguments.output).has_plain_bytes;
    if (arguments.clone || !can_be_aligned || !are_plain || path.empty()) return;
    if (input.blob().size() <= kWorthCloning || !can_clone(input, path)) return;
    diagnostics.remark("this file system can share blocks: --clone auto would take almost no extra space");
}

// Pieces stay from the return of run_job() on. What fails after that is a warning, see Context::is_committed.
void split_input(Context& context, OpenInput& opened) {
    const Arguments& arguments = context.arguments;
    const bool is_file = !opened.input.is_stream();
    StandardOutput out(opened.input.cancellation());
    Diagnostics diagnostics(context);
    SplitObserver observer(context, opened, out, diagnostics);
    observer.begin();
    Job job{settled_options(opened.dialect), arguments.policy, arguments.stage, arguments.execution, arguments.output};
    if (arguments.json) job.output.filter_output = STDERR_FILENO;  // standard output is for events
    const JobReport report = run_job(opened.input, job, observer);
    context.is_committed = !arguments.output.dry_run;
    if (is_file && context.is_committed) remark_clone(arguments, opened.input, observer.first_path(), diagnostics);
    if (arguments.output.dry_run) out.flush();
    diagnostics.take(report);
    diagnostics.conclude();
}

}  // namespace

void run_split(Context& context, const Cancellation& cancellation) {
    with_input(context, context.arguments.inputs.front(), &cancellation,
               [&](OpenInput& opened) { split_input(context, opened); });
}

}  // namespace cleave::cli
