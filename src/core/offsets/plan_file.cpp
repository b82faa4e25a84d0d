#include "cleave/plan_file.h"

#include "cleave/error.h"
#include "cleave/foreign.h"
#include "core/offsets/check_arguments.h"
#include "core/scan/check_arguments.h"

namespace cleave {
namespace {

// Keeps the pieces of a stream, but none of its bytes.
class PlanSink : public PieceSink {
public:
    explicit PlanSink(Plan& plan) : plan_(plan) {}

    void header(std::span<const std::uint8_t> bytes) override { plan_.header_size += bytes.size(); }
    void begin(const Piece&) override {}
    void body(std::span<const std::uint8_t>) override {}
    void end(const Piece& piece) override { plan_.pieces.push_back(piece); }

private:
    Plan& plan_;
};

void check(const Policy& policy, const PlanOptions& options) {
    checked_for_ranges(policy);
    checked_kernel(options.execution);
    settle_dialect(options.dialect, {}, "");
}

void plan_blob(Input& input, const Policy& policy, const Execution& execution, Plan& plan) {
    const RecordIndex index = index_records(input, ValidDialect(plan.sniffed), execution);
    plan.findings = index.findings();
    plan.header_size = plan_pieces(index, policy, [&](const Piece& piece) { plan.pieces.push_back(piece); });
}

void plan_stream(Input& input, const Policy& policy, const Execution& execution, Plan& plan) {
    PlanSink sink(plan);
    plan.findings = cut_stream(input, plan.sniffed.dialect, execution, policy, sink);
}

}  // namespace

Plan plan(const std::string& path, const Policy& policy, const PlanOptions& options, const Cancellation* cancellation) {
    check(policy, options);
    Input input = Input::open(path, cancellation, Access::kMapped);
    return plan(input, policy, options);
}

Plan plan(Input& input, const Policy& policy, const PlanOptions& options) {
    check(policy, options);
    try {
        Plan plan;
        plan.path = input.path();
        plan.identity = input.identity();
        input.set_threads(options.execution.thread_count());
        plan.sniffed = settle_dialect(options.dialect, input);
        plan.header = header_mode(policy.header, plan.sniffed.dialect);
        plan.compression = input.compression();
        if (needs_whole_input(policy)) {
            refuse_foreign(input.peek(kSniffSize));  // now rather than after the copy
            input.spool();
        }
        if (input.is_stream()) {
            plan_stream(input, policy, options.execution, plan);
        } else {
            plan_blob(input, policy, options.execution, plan);
        }
        input.throw_if_changed();
        if (plan.findings.open_quote && !options.allow_open_quote) throw OpenQuoteError(*plan.findings.open_quote);
        return plan;
    } catch (const std::exception&) {
        input.rethrow();
    }
}

}  // namespace cleave
