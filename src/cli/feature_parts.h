// What the verbs ask of features. Each feature defines its part; a build without the feature has the file in without/
// that bears its name.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "cleave/cancel.h"
#include "cleave/encoding.h"
#include "cleave/index_file.h"
#include "cleave/input.h"
#include "cli/context.h"
#include "cli/given.h"
#include "cli/sandbox.h"
#include "cli/standard_output.h"
#include "core/reader/remote_file.h"

namespace cleave {

class Store;

}  // namespace cleave

namespace cleave::cli {

// redact: the parts of `cleave check` that deal with rules and columns.

// Applies the rules to all records and prints what they did, but no values. Returns false if it found forbidden values.
bool check_rules(Context& context, OpenInput& opened, StandardOutput& out);

// Prints the number and name of each column, or a starter file of rules.
void print_columns(const Context& context, OpenInput& opened, StandardOutput& out);
void print_template(const Context& context, OpenInput& opened, StandardOutput& out);

// redact: what cat and sample print under rules.

// Print the records that the rules produce. Apply the rules even if they change nothing, because a user who names
// columns must hear about a record that has different columns. Throw what Rewriting throws.
void print_changed_records(Context& context, OpenInput& opened);
void print_changed_sample(Context& context, OpenInput& opened);

// redact: keys.

// Under rules, and with keys, disables core dumps so that they cannot reveal a value or a key. Loads keys and a memory
// manager's library, and chooses the device. Call this before the sandbox closes.
void load_secrets(Context& context);

// What the verbs key and verify may open. `permissions` has what every verb may.
Permissions permissions_of_key(const Arguments& arguments);
Permissions permissions_of_verify(const Arguments& arguments, Permissions permissions);

// gpu: where rules run: --device, --device-memory and --explain.

// Sets arguments.execution.offload if rules will or may run on a device. Under --device auto, if there is no device or
// no profile of the machine, it stays null and a message says why. Throws std::runtime_error if a named device is
// missing.
void choose_device(Arguments& arguments);

// Prints on standard error what ran where.
void explain(const Arguments& arguments);

// index: whether a verb uses the index next to its input.

// The index of the input if --index permits one and it is valid; otherwise nullptr, after a remark if it is invalid. A
// gzip file becomes a blob if it has an index that is of use.
// Under --index require throws UsageError for an input that cannot have an index, IndexError for an invalid index, and
// SystemError if there is none.
std::shared_ptr<const IndexFile> find_index(const Context& context, OpenInput& opened);

// ranges: offsets and cat with --plan.

// Read only what it takes to find the cuts, and the piece. Throw what with_input() and find_cuts() throw.
void print_planned_offsets(Context& context);
void print_planned_piece(Context& context);

// inputs: several inputs as one.

// Checks what split, cat or sample need if they have several inputs. Throws UsageError.
void take_several(const Given& given, Arguments& arguments);

// Replaces the file of Arguments::inputs_from, if there is one, with the inputs that it lists. Throws UsageError, and
// SystemError if it cannot be read.
void list_inputs(Arguments& arguments);

// Makes one input of several that the verb reads as one; those before the first are gone. Throws what
// cleave::join_inputs() throws.
void join_inputs(Context& context, OpenInput& opened);

// rejects: records that are set aside.

// What --rejects and the options that need it say; call it last. Throws UsageError.
void take_rejects(const Given& given, Arguments& arguments);

// The same for join.
void take_rejects_of_join(const Given& given, Arguments& arguments);

// A record in the file of Arguments::rejected.
struct RejectedRecord {
    std::uint64_t byte = 0;  // where it was in the input
    std::string text;
    std::uint32_t crc32c = 0;  // of the file, up to this record
};
// Returns the next record; nothing at the end. Throws SystemError, and InputError for a line that lists no reject, or
// shows no text.
using RejectedRecords = std::function<std::optional<RejectedRecord>()>;
RejectedRecords open_rejected(Context& context);

// Prints the records in a file of rejects, under their header. Throws InputError for any other file.
void print_rejected(Context& context);

// stores: objects that the user names.

// Opens the store that the URL leads to, unless it is open. Throws what Store() throws.
void open_store(Context& context, const Location& url);

// The store that the location is in if it is open, or null.
const Store* store_of(const Context& context, const Location& location);

// These throw what the member of Store throws.
bool has_object(const Store& store, const std::string& url);
std::unique_ptr<const RemoteFile> find_object(const Store& store, const std::string& url,
                                              const Cancellation* cancellation);
Input open_object(const Store& store, const std::string& url, const Cancellation* cancellation, Encoding encoding);

// Permits what the connections of open stores need.
void permit_stores(Permissions& permissions, const Context& context);

}  // namespace cleave::cli
