// What a verb works on: its arguments and its current input.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "cleave/dialect.h"
#include "cleave/index_file.h"
#include "cleave/input.h"
#include "cleave/meter.h"
#include "cleave/plan.h"
#include "cleave/scan.h"
#include "cli/bar.h"
#include "cli/options.h"
#include "core/dialect/check_arguments.h"
#include "core/reader/location.h"

namespace cleave {

class InputHash;
class JoinedInputs;
class KeyRing;
class Sifting;
class Stores;

}  // namespace cleave

namespace cleave::cli {

struct OpenInput;

// The state of a run. It outlives exceptions so that main can name the current input in messages.
struct Context {
    Arguments arguments;
    Location location;                    // of the current input; empty before the first input
    bool is_about_one = false;            // of several inputs: an error is, and this is its location
    Meter meter;                          // of the current input
    std::shared_ptr<const KeyRing> keys;  // null unless there are rules, or a signature is checked
    std::shared_ptr<Stores> stores;       // where its URLs lead; null without any
    // Whether the pieces of a split are complete and will stay. If so, the run has succeeded, even if something fails
    // later.
    bool is_committed = false;
    const OpenInput* opened = nullptr;  // the input while it is open
    // The number of records that are not data (preamble and header). 0 until the input is scanned.
    std::uint64_t header_records = 0;

    // Whether records are lines, so that the number of a record is the number of its line. Set as header_records is.
    bool are_records_lines = false;

    bool has_header() const { return arguments.policy.header != HeaderMode::kNone; }
};

struct OpenInput {
    Input input;
    ValidDialect dialect;
    SniffedDialect sniffed;  // the dialect, and why it was chosen
    Bar& bar;
    std::shared_ptr<const IndexFile> index;  // the one the verb uses, or nullptr
    std::optional<RecordIndex> records;      // if the verb needs it: see index_of()
    std::shared_ptr<InputHash> hash;         // if the report is signed
    std::shared_ptr<JoinedInputs> joined;    // if the input stands for several
    std::shared_ptr<Sifting> sifting;        // if records are set aside
};

}  // namespace cleave::cli
