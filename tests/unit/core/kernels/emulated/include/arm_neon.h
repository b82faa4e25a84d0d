// Replaces the compiler's header of this name, so that a kernel can run on machines without its instructions.
#pragma once

#define SIMDE_NO_NATIVE
#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/arm/neon.h>
