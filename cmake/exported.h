// Part of the precompiled header of the shared library, so every source includes it first. What is declared here is
// exported; everything else is hidden by CMAKE_CXX_VISIBILITY_PRESET.
#pragma once

#pragma GCC visibility push(default)
#include "cleave/cleave.h"
#pragma GCC visibility pop
