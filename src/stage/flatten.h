// Makes a FlatProgram of a stage.
#pragma once

#include <optional>

#include "cleave/stage.h"
#include "memory/secret_memory.h"
#include "stage/flat_program.h"

namespace cleave {

// The program and its tables, in memory for secrets: it has what was computed from keys. Nothing if the rules are for
// the CPU alone: the dialect has escapes or quotes open anywhere, or values are looked for (StageOptions::forbid_mail
// and _card). Throws std::system_error if memory cannot be locked.
std::optional<SecretMemory> flatten(const Stage& stage);

}  // namespace cleave
