// Reports, as JSON, what the rules of a stage did: the output of --redact-report.
#pragma once

#include <cstdint>

#include "base/json.h"
#include "cleave/stage.h"
#include "engine/plan_json.h"

namespace cleave {

// Returns a JSON object. It contains the names of columns and operations, but not the text of the rules,
// which may contain values.
Json stage_report(const Stage& stage, const StageCounts& counts, const InputFacts& facts, std::uint64_t pieces);

}  // namespace cleave
