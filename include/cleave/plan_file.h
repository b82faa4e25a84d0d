// From a path to a plan, in one call: opens the input, settles its dialect, scans it and plans its pieces. Writes
// nothing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cleave/cancel.h"
#include "cleave/compression.h"
#include "cleave/dialect.h"
#include "cleave/input.h"
#include "cleave/plan.h"
#include "cleave/scan.h"

namespace cleave {

struct PlanOptions {
    DialectOptions dialect = {};
    Execution execution = {};
    bool allow_open_quote = false;  // plan an input with a quote that is never closed; see Findings::open_quote
};

// Facts about an input, and its pieces. Plain data: it stays valid when the input is closed.
struct Plan {
    std::string path;       // as given, even if it is "-"
    FileIdentity identity;  // of the opened file; its size is before decompression
    Compression compression = Compression::kNone;
    SniffedDialect sniffed;  // the dialect, and why
    Findings findings;
    HeaderMode header = HeaderMode::kRepeat;  // the policy's
    std::uint64_t header_size = 0;            // 0, or where the first piece starts
    std::vector<Piece> pieces;                // offsets count decompressed bytes
};

// Plans the file at `path`, or standard input for "-": plain or compressed, a regular file or a stream. If the policy
// needs all of a stream, the stream is copied to a temporary file. A regular file is mapped if a MappingGuard exists,
// which is faster, and read otherwise: in neither case can a file that becomes shorter end the process with SIGBUS. If
// `cancellation` is not null, requesting it ends the call with Cancelled. Throws
// - ArgumentError for an argument that a header forbids, before anything is opened,
// - SystemError if a system call fails,
// - InputError if refuse_foreign() throws it, or if compressed data is corrupt or truncated,
// - OpenQuoteError, an InputError, for an open quote, unless options.allow_open_quote,
// - InputChangedError if the file was written to in the meantime, and Cancelled.
Plan plan(const std::string& path, const Policy& policy, const PlanOptions& options = {},
          const Cancellation* cancellation = nullptr);

// The same for an open input. If the policy does not need all of a stream, the stream is read to its end. The
// Cancellation is the input's.
Plan plan(Input& input, const Policy& policy, const PlanOptions& options = {});

}  // namespace cleave
