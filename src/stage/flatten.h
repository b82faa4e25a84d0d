// Makes a FlatProgram of the rules of a stage.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cleave/stage.h"
#include "memory/secret_memory.h"
#include "stage/flat_program.h"

namespace cleave {

// The program and its tables, without states of keys. All else of `program` is set. Throws std::logic_error if the last
// rule of a column has conditions.
std::vector<std::uint8_t> flatten(const Stage::Program& program, std::span<const FlatPart> parts,
                                  std::span<const FlatPart> header_parts);

// The same with the states of keys, in memory for secrets. Nothing if the rules are for the CPU alone: the dialect has
// escapes or quotes open anywhere, values are looked for (StageOptions::forbid_mail and _card), or columns are keys.
// Throws std::system_error if memory cannot be locked.
std::optional<SecretMemory> flat_for_device(const Stage& stage);

}  // namespace cleave
