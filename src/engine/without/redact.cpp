// In place of rules. A run without any comes here only to leave out the columns of Policy::by.
#include "cleave/error.h"
#include "engine/records_by_value.h"
#include "engine/rules.h"
#include "rows/fields/column_list.h"

namespace cleave {
namespace {

constexpr const char* kNoRules = "this build of cleave does not change records";

}  // namespace

std::vector<const std::string*> similar_names(std::string_view /*name*/, const std::vector<std::string>& /*names*/) {
    return {};
}

bool needs_two_passes(const JobRules& /*rules*/) { return false; }

std::shared_ptr<Rewriting> compile_rules(Input& /*input*/, const Dialect& /*dialect*/, const Policy& /*policy*/,
                                         const Job& /*job*/, JobObserver& /*observer*/) {
    throw ArgumentError(kNoRules);
}

std::shared_ptr<InputHash> make_input_hash(Input& /*input*/) { throw ArgumentError(kNoRules); }

StageCounts counts_of(const Rewriting& /*rewriting*/) { throw ArgumentError(kNoRules); }

std::unique_ptr<PieceBytes> make_rewritten_records(const JobContext& /*context*/) { throw ArgumentError(kNoRules); }

Findings cut_in_order(Rewriting& /*rewriting*/, PieceSink& /*sink*/) { throw ArgumentError(kNoRules); }

std::unique_ptr<RulesReport> make_rules_report(const JobContext& /*context*/) { throw ArgumentError(kNoRules); }

void RecordsByValue::plan_staged() { throw ArgumentError(kNoRules); }

void RecordsByValue::plan_shortened(const RecordIndex& /*index*/, const std::vector<KeyColumn>& /*columns*/) {
    throw ArgumentError(kNoRules);
}

}  // namespace cleave
