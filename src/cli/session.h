// What the verbs share: an input with a settled dialect, and the decision what is an error or a warning.
#pragma once

#include <functional>
#include <string>

#include "cleave/dialect.h"
#include "cleave/input.h"
#include "cleave/meter.h"
#include "cleave/plan.h"
#include "cli/bar.h"
#include "cli/options.h"

namespace cleave::cli {

struct OpenInput;

// An input that is being worked on. It outlives what is thrown about it, so that main can name it.
struct Context {
    Arguments arguments;
    std::string path;  // of the current input, as given; empty before the first one
    Meter meter;       // of the current input
    // The pieces of a split are complete and stay. From here on the run has succeeded, even if something else fails.
    bool is_committed = false;
    const OpenInput* opened = nullptr;  // the input while it is open
    // How many records belong to the input's header; 0 if it has no header or is not scanned yet.
    std::uint64_t header_records = 0;

    bool has_header() const { return arguments.policy.header != HeaderMode::kNone; }
};

struct OpenInput {
    Input input;
    Dialect dialect;
    SniffedDialect sniffed;  // the same, and why
    Bar& bar;
};

// Copies a stream to a temporary file and maps it. Does nothing for a mapped input.
void spool(Context& context, OpenInput& opened);

// Opens the input, settles its dialect and calls `work` with it. Warns if no delimiter explains the quotes. Throws
// InputError for an input that is not CSV, std::system_error, and what `work` throws. If the input changed meanwhile or
// could not be read, throws what Input::throw_if_changed() throws instead. `work` must call throw_if_changed() before
// it prints a result.
void with_input(Context& context, const std::string& path, const Cancellation* cancellation,
                const std::function<void(OpenInput&)>& work);

// The records of an input that is no stream, by index_records(). If only the time of the last status change is new
// afterwards, scans again. Throws as RecordIndex, and InputChangedError if the second scan finds other records.
RecordIndex index_of(const Context& context, OpenInput& opened);
// Throws as Input::throw_if_changed(). If only the time of the last status change is new, scans again, and throws
// InputChangedError if that finds other records.
void throw_if_changed(const Context& context, const OpenInput& opened, const RecordIndex& index);

// Decides between error, warning and silence, by the options.
class Judge {
public:
    explicit Judge(Context& context) : context_(context) {}

    // Prints a remark or a warning about the current input. Prints nothing under --quiet.
    void remark(const std::string& text) const;
    void warn(const std::string& text) const { remark("warning: " + text); }

    // Notes how many records belong to the header. Throws InputError, with the place in its message, or warns.
    void take(const Findings& findings) const;

    // Throws InputError under --strict-size if the piece is too large.
    void take(const Piece& piece);

    // Warns about the pieces that are too large.
    void conclude() const;

private:
    std::string describe(const Place& place) const;
    std::string describe_open_quote(const Place& place) const;
    std::string describe_oversize(const Piece& piece) const;

    Context& context_;
    std::uint64_t oversize_count_ = 0;
    Piece first_oversize_;
};

// The message for a header that is too large for the pieces.
std::string describe(const Context& context, const HeaderSizeError& error);

}  // namespace cleave::cli
