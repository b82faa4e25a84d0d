// Part of the precompiled header of the library, so every source includes it first. The shared library exports what is
// declared here; CMAKE_CXX_VISIBILITY_PRESET hides everything else.
#pragma once

#pragma GCC visibility push(default)
#include "cleave/cleave.h"
#include "cleave/experimental/arrow.h"
#include "cleave/experimental/column_stream.h"
#include "cleave/experimental/columns.h"
#include "cleave/experimental/device.h"
#include "cleave/experimental/device_choice.h"
#include "cleave/experimental/device_context.h"
#include "cleave/experimental/device_module.h"
#include "cleave/experimental/machine_profile.h"
#include "cleave/experimental/offload.h"
#include "cleave/experimental/range_plan.h"
#include "cleave/experimental/range_summary.h"
#include "cleave/experimental/split_type.h"
#pragma GCC visibility pop
