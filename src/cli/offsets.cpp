// cleave offsets: prints where the pieces are.
#include "cli/diagnostics.h"
#include "cli/feature_parts.h"
#include "cli/formats.h"
#include "cli/session.h"
#include "cli/verbs.h"

namespace cleave::cli {
namespace {

class OffsetsSink : public PieceSink {
public:
    OffsetsSink(OffsetsWriter& writer, Diagnostics& diagnostics) : writer_(writer), diagnostics_(diagnostics) {}

    void header(std::span<const std::uint8_t> bytes) override { header_size_ += bytes.size(); }
    void begin(const Piece&) override {}
    void body(std::span<const std::uint8_t>) override {}
    void end(const Piece& piece) override {
        diagnostics_.take(piece);
        writer_.piece(piece);
    }

    std::uint64_t header_size() const { return header_size_; }

private:
    OffsetsWriter& writer_;
    Diagnostics& diagnostics_;
    std::uint64_t header_size_ = 0;
};

void print_offsets(Context& context, OpenInput& opened) {
    const Arguments& arguments = context.arguments;
    const Policy& policy = arguments.policy;
    Input& input = opened.input;
    if (needs_whole_input(policy)) spool(context, opened);

    StandardOutput out;
    Diagnostics diagnostics(context);
    // JSON is the only format that states how the input is compressed and encoded.
    const bool says_compression = arguments.format == Format::kJson;
    if (input.encoding() != Encoding::kBytes && !says_compression) {
        diagnostics.warn("offsets count bytes of UTF-8, to which the input is converted");
    } else if (input.compression() != Compression::kNone && !says_compression) {
        diagnostics.warn("offsets count decompressed bytes");
    }
    const auto writer = make_offsets_writer(arguments.format, out);
    InputFacts facts = facts_of(input, opened.dialect, policy.header);
    if (!input.is_stream()) {
        const RecordIndex& index = index_of(context, opened);
        facts.size = index.findings().size;
        facts.header_size = header_size(index, policy);
        writer->start(facts);
        plan_pieces(index, policy, [&](const Piece& piece) {
            diagnostics.take(piece);
            writer->piece(piece);
        });
    } else {
        OffsetsSink sink(*writer, diagnostics);
        const Findings findings = cut_stream(input, opened.dialect, arguments.execution, policy, sink);
        require_same(context, opened);
        diagnostics.take(findings);
        facts.size = findings.size;
        facts.header_size = sink.header_size();
    }
    writer->finish(facts);
    require_same(context, opened);
    out.flush();
    diagnostics.conclude();
}

}  // namespace

void run_offsets(Context& context) {
    if (!context.arguments.plan.empty()) return print_planned_offsets(context);
    with_input(context, context.arguments.inputs.front(), nullptr,
               [&](OpenInput& opened) { print_offsets(context, opened); });
}

}  // namespace cleave::cli
