// Builds a FlatProgram from the rules of a stage.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cleave/stage.h"
#include "features/redact/stage/flat_program.h"
#include "rows/memory/secret_memory.h"

namespace cleave {

// The program and its tables, without key states. Everything else in `program` must be set. The flat program is for
// records whose columns are joined, except at the ends of `picks`; see Stage::Program::picks. Throws LogicError if the
// last rule of a column has conditions.
std::vector<std::uint8_t> flatten(const Stage::Program& program, std::vector<FlatPart> parts,
                                  std::vector<FlatPart> header_parts, std::span<const std::uint32_t> picks);

// The same with key states, in memory for secrets. Returns std::nullopt if only the CPU can run the rules: if the
// dialect has escapes, or quotes that open anywhere in a field; if values are searched (StageOptions::forbid); if a
// rule has a CpuOperation; or if the stage comes from with_keys(). Throws SystemError if memory cannot be locked.
std::optional<SecretMemory> flat_for_device(const Stage& stage);

}  // namespace cleave
