// What a verb works on: its arguments and its current input.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "cleave/dialect.h"
#include "cleave/index_file.h"
#include "cleave/input.h"
#include "cleave/keys.h"
#include "cleave/meter.h"
#include "cleave/plan.h"
#include "cleave/scan.h"
#include "cli/bar.h"
#include "cli/options.h"

namespace cleave::cli {

struct OpenInput;

// The state of a run. It outlives exceptions, so that main can name the current input in messages.
struct Context {
    Arguments arguments;
    std::string path;  // of the current input, as given; empty before the first one
    Meter meter;       // of the current input
    std::optional<KeyRing> keys;
    // The pieces of a split are complete and stay. From here on the run has succeeded, even if something else fails.
    bool is_committed = false;
    const OpenInput* opened = nullptr;  // the input while it is open
    // How many records of the input are not data: the preamble and the header. 0 if it is not scanned yet.
    std::uint64_t header_records = 0;

    bool has_header() const { return arguments.policy.header != HeaderMode::kNone; }
};

struct OpenInput {
    Input input;
    Dialect dialect;
    SniffedDialect sniffed;  // the dialect, and why
    Bar& bar;
    std::shared_ptr<const IndexFile> index;  // that the verb uses, or nullptr
    std::optional<RecordIndex> records;      // if the verb needs it: see index_of()
};

}  // namespace cleave::cli
