// The whole library.
#pragma once

#include "cleave/cancel.h"
#include "cleave/compression.h"
#include "cleave/dialect.h"
#include "cleave/error.h"
#include "cleave/examine.h"
#include "cleave/foreign.h"
#include "cleave/input.h"
#include "cleave/kernel.h"
#include "cleave/mapping_guard.h"
#include "cleave/meter.h"
#include "cleave/names.h"
#include "cleave/plan.h"
#include "cleave/plan_file.h"
#include "cleave/scan.h"
#include "cleave/split.h"
#include "cleave/version.h"
