// What the rules of a stage did, as JSON: what --report writes.
#pragma once

#include <cstdint>
#include <string>

#include "cleave/stage.h"
#include "formats/plan_json.h"

namespace cleave {

// An object on a line. Holds names of columns and operations, but no text of a rule: rules may hold values.
std::string stage_report(const Stage& stage, const StageCounts& counts, const InputFacts& facts, std::uint64_t pieces);

}  // namespace cleave
