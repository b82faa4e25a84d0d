// cleave split: pieces into files.
#include "cleave/split.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "cli/diagnostics.h"
#include "cli/messages.h"
#include "cli/plan_json.h"
#include "cli/session.h"
#include "cli/standard_output.h"
#include "cli/verbs.h"
#include "io/fd.h"
#include "io/page_cache.h"

namespace cleave::cli {
namespace {

// --dry-run: what would be written.
class DryRun : public PieceSink {
public:
    // `check` throws what the run would for a piece.
    DryRun(
        StandardOutput& out, const PieceNamer& namer, HeaderMode mode, Diagnostics& diagnostics,
        std::function<void(std::span<const Piece>)> check = [](std::span<const Piece>) {})
        : out_(out), namer_(namer), mode_(mode), diagnostics_(diagnostics), check_(std::move(check)) {}

    void header(std::span<const std::uint8_t> bytes) override { header_size_ += bytes.size(); }
    void begin(const Piece&) override {}
    void body(std::span<const std::uint8_t>) override {}
    void end(const Piece& piece) override {
        diagnostics_.take(piece);
        check_({&piece, 1});
        print(piece, header_size_);
    }

    std::uint64_t header_size() const { return header_size_; }

    void print(const Piece& piece, std::uint64_t header_size) {
        out_.print("{}\t{}\n", namer_.name(piece), header_size_in(mode_, piece.number, header_size) + piece.length);
    }

private:
    StandardOutput& out_;
    const PieceNamer& namer_;
    HeaderMode mode_;
    Diagnostics& diagnostics_;
    std::function<void(std::span<const Piece>)> check_;
    std::uint64_t header_size_ = 0;
};

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

// For inputs of more bytes than this, a message about --clone is useful.
constexpr std::uint64_t kWorthCloning = std::uint64_t{1} << 30;

// How many plain bytes a piece has, with its header.
using SizeOf = std::function<std::uint64_t(const Piece&)>;

// Names are printed as the pieces are finished, so that a reader can begin with the first.
SplitOptions split_options(const Arguments& arguments, const SizeOf& size_of, StandardOutput& out,
                           Diagnostics& diagnostics) {
    SplitOptions options;
    options.make_directories = arguments.make_directories;
    options.replace = arguments.force;
    options.resume = arguments.resume;
    options.sync = arguments.sync;
    options.manifest = arguments.manifest;
    options.threads = arguments.execution.threads;
    options.clone = arguments.clone.value_or(CloneMode::kNever);
    options.compression = arguments.compression;
    options.checksum = arguments.checksum;
    options.filter = arguments.filter;
    if (arguments.json) options.filter_output = STDERR_FILENO;  // standard output is for events
    options.meter = arguments.execution.meter;
    options.finished = [&, size_of](const Piece& piece, const std::string& path, const PieceResult& result) {
        diagnostics.take(piece);
        if (arguments.json) {
            Json event = make_event("piece");
            add_piece(event, piece, PieceFile{path, size_of(piece), result});
            print_event(out, event);
        } else if (arguments.print) {
            out.print("{}{}", path, line_end(arguments));
            out.flush();
        }
    };
    return options;
}

InputFacts facts_of(const Context& context, const OpenInput& opened, std::uint64_t size, std::uint64_t header_size) {
    return {context.path,
            size,
            opened.input.identity().mtime_ns,
            opened.dialect,
            context.arguments.policy.header,
            header_size,
            opened.input.compression(),
            context.arguments.compression};
}

std::string read_file(const std::string& path) {
    const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!file.is_open()) throw_errno(path);
    std::string text;
    std::array<std::uint8_t, 1 << 16> buffer;
    while (const std::size_t size = read_some(file.get(), buffer, nullptr, path)) {
        text.append(reinterpret_cast<const char*>(buffer.data()), size);
    }
    return text;
}

// What was done before under a manifest must have been this very job: input, dialect and cuts. Better said before the
// pieces are compared, and with the reason.
void check_resumed(const std::string& manifest, const std::string& wanted) {
    struct stat status;
    if (::lstat(manifest.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return;
    if (const auto difference = manifest_difference(read_file(manifest), wanted)) {
        throw OtherPieceError(manifest, "is not the manifest of this run: " + *difference);
    }
}

bool makes_plain_files(const Arguments& arguments) {
    return arguments.filter.empty() && arguments.compression.format == Compression::kNone;
}

// Says that --clone would work for a large file that was cut into these pieces.
void remark_clone(const Arguments& arguments, const Input& input, std::span<const Piece> pieces,
                  const PieceNamer& namer, const Diagnostics& diagnostics) {
    const bool can_be_aligned = arguments.policy.pieces || arguments.policy.size;
    if (arguments.clone || !can_be_aligned || !makes_plain_files(arguments)) return;
    if (input.blob().size() <= kWorthCloning || !can_clone(input, namer.name(pieces.front()))) return;
    diagnostics.remark("this file system can share blocks: --clone auto would take almost no extra space");
}

// The event that says that all pieces are in place. `records` counts the header too.
void print_end(const Context& context, const InputFacts& facts, std::uint64_t records, StandardOutput& out) {
    if (!context.arguments.json) return;
    Json event = make_event("end");
    event["input"] = input_json(facts);
    event["header"] = header_json(facts);
    event["records"] = records - context.header_records;
    event["pieces"] = context.meter.pieces.load();
    print_event(out, event);
}

// Whether the manifest has more of a piece than the plan.
bool has_results(const Arguments& arguments) {
    const bool is_compressed = arguments.compression.format != Compression::kNone;
    return !arguments.manifest.empty() && (arguments.checksum || is_compressed);
}

RecordIndex scan_again(const Context& context, const OpenInput& opened) {
    return {opened.input.blob(), opened.dialect, context.arguments.execution, opened.input.cancellation()};
}

// Whether the policy gives these pieces of the index.
bool has_pieces(const RecordIndex& index, const Policy& policy, const std::vector<Piece>& pieces) {
    std::vector<Piece> planned;
    plan_pieces(index, policy, [&](const Piece& piece) { planned.push_back(piece); });
    return planned == pieces;
}

// Cuts an input that is all there by its index. `is_file` if it was not spooled.
void split_by_index(Context& context, OpenInput& opened, bool is_file, StandardOutput& out, Diagnostics& diagnostics) {
    const Arguments& arguments = context.arguments;
    const Policy& policy = arguments.policy;
    const RecordIndex index = index_of(context, opened);
    diagnostics.take(index.findings());
    std::vector<Piece> pieces;
    const std::uint64_t header_size = plan_pieces(index, policy, [&](const Piece& piece) { pieces.push_back(piece); });
    // Under --strict-size nothing is written if any piece is too large.
    if (arguments.strict_size) {
        for (const Piece& piece : pieces) diagnostics.take(piece);
    }
    const PieceNamer namer(arguments.output, context.path, arguments.first_index, pieces.size());
    const SizeOf size_of = [&](const Piece& piece) {
        return header_size_in(policy.header, piece.number, header_size) + piece.length;
    };
    SplitOptions options = split_options(arguments, size_of, out, diagnostics);
    const auto facts = [&] { return facts_of(context, opened, index.findings().size, header_size); };
    std::vector<PieceResult> results;  // by piece; empty unless the manifest shows them
    if (has_results(arguments)) {
        results.resize(pieces.size());
        options.finished = [&, print = options.finished](const Piece& piece, const std::string& path,
                                                         const PieceResult& result) {
            results[piece.number - 1] = result;
            print(piece, path, result);
        };
    }
    options.manifest_text = [&] {
        PlanJson plan;
        for (const Piece& piece : pieces) {
            const PieceResult result = results.empty() ? PieceResult{} : results[piece.number - 1];
            plan.add(piece, PieceFile{namer.name(piece), size_of(piece), result});
        }
        return plan.text(facts());
    };
    options.is_same_plan = [&] {
        const RecordIndex again = scan_again(context, opened);
        return again.has_same_records(index) && has_pieces(again, policy, pieces);
    };
    options.concluded = [&] { print_end(context, facts(), index.findings().records, out); };
    if (arguments.resume && !arguments.force && !arguments.manifest.empty()) {
        check_resumed(arguments.manifest, options.manifest_text());
    }
    if (arguments.dry_run) {
        check_split(opened.input, pieces, policy.header, header_size, namer, options);
        DryRun dry_run(out, namer, policy.header, diagnostics);
        for (const Piece& piece : pieces) {
            diagnostics.take(piece);
            dry_run.print(piece, header_size);
        }
        throw_if_changed(context, opened, index);
    } else {
        split_mapped(opened.input, pieces, policy.header, header_size, namer, options);
        context.is_committed = true;
        if (is_file) remark_clone(arguments, opened.input, pieces, namer, diagnostics);
    }
}

// Whether a mapped input is cut as it is read: it does not fit into memory, and its pieces and their names do not
// depend on what is found in it.
bool is_cut_in_order(const Arguments& arguments, const Input& input) {
    const Policy& policy = arguments.policy;
    return policy.pieces && policy.alignment == 0 && makes_plain_files(arguments) && !arguments.resume &&
           !arguments.dry_run && !input.is_snapshot() && is_too_large_to_cache(input.blob());
}

// Cuts a stream, or a mapped input as if it were one.
void split_in_order(Context& context, OpenInput& opened, StandardOutput& out, Diagnostics& diagnostics) {
    const Arguments& arguments = context.arguments;
    const Policy& policy = arguments.policy;
    const PieceNamer namer(arguments.output, context.path, arguments.first_index, policy.pieces);
    if (arguments.dry_run) {
        const SplitOptions options = split_options(arguments, {}, out, diagnostics);
        const auto check = [&](std::span<const Piece> pieces) {
            check_split(opened.input, pieces, policy.header, 0, namer, options);
        };
        check({});
        DryRun dry_run(out, namer, policy.header, diagnostics, check);
        const Findings findings = cut_stream(opened.input, opened.dialect, arguments.execution, policy, dry_run);
        opened.input.throw_if_changed();
        diagnostics.take(findings);
        return;
    }
    PlanJson plan;
    std::vector<Piece> pieces;  // of a mapped input
    Findings found;
    std::optional<std::uint64_t> header_size;  // known when the first piece is finished
    const SizeOf size_of = [&](const Piece& piece) {
        return header_size_in(policy.header, piece.number, *header_size) + piece.length;
    };
    SplitOptions options = split_options(arguments, size_of, out, diagnostics);
    // Without a piece there is nothing but the header.
    const auto facts = [&] { return facts_of(context, opened, found.size, header_size.value_or(found.size)); };
    options.finished = [&, print = options.finished](const Piece& piece, const std::string& path,
                                                     const PieceResult& result) {
        if (!header_size) header_size = piece.start;
        if (!opened.input.is_stream()) pieces.push_back(piece);
        if (!arguments.manifest.empty()) plan.add(piece, PieceFile{path, size_of(piece), result});
        print(piece, path, result);
    };
    options.manifest_text = [&] { return plan.text(facts()); };
    if (!opened.input.is_stream()) {
        options.is_same_plan = [&] {
            const RecordIndex again = scan_again(context, opened);
            return again.findings() == found && has_pieces(again, policy, pieces);
        };
    }
    options.concluded = [&] { print_end(context, facts(), found.records, out); };
    split_stream(opened.input, opened.dialect, arguments.execution, policy, namer, options,
                 [&](const Findings& findings) {
                     diagnostics.take(findings);
                     found = findings;
                 });
    context.is_committed = true;
    if (!opened.input.is_stream()) remark_clone(arguments, opened.input, pieces, namer, diagnostics);
}

// Pieces stay from the return of split_mapped() and split_stream() on. What fails after that is a warning, see
// Context::is_committed.
void split_input(Context& context, OpenInput& opened) {
    const bool is_file = !opened.input.is_stream();
    if (context.arguments.clone == CloneMode::kAlways && !is_file && !opened.input.peek(1).empty()) {
        const bool is_compressed = opened.input.compression() != Compression::kNone;
        throw CloneError(display_name(context.path), is_compressed ? "compressed" : "not a regular file");
    }
    if (needs_whole_input(context.arguments.policy)) spool(context, opened);
    StandardOutput out(opened.input.cancellation());
    Diagnostics diagnostics(context);
    if (context.arguments.json) {
        const InputFacts facts = facts_of(context, opened, 0, 0);
        Json input = input_json(facts);
        input.erase("size");  // may not be known yet
        Json event = make_event("begin");
        event["input"] = std::move(input);
        event["dialect"] = dialect_json(facts.dialect);
        print_event(out, event);
    }
    if (!opened.input.is_stream() && !is_cut_in_order(context.arguments, opened.input)) {
        split_by_index(context, opened, is_file, out, diagnostics);
    } else {
        split_in_order(context, opened, out, diagnostics);
    }
    if (context.arguments.dry_run) out.flush();
    diagnostics.conclude();
}

}  // namespace

void run_split(Context& context, const Cancellation& cancellation) {
    with_input(context, context.arguments.inputs.front(), &cancellation,
               [&](OpenInput& opened) { split_input(context, opened); });
}

}  // namespace cleave::cli
