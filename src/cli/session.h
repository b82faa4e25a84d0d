// What the verbs share: an input with its dialect settled, and the judgement of what was found in it.
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
    std::string path;  // of the input at hand, as given; empty before there is one
    Meter meter;       // of it too
    // The pieces of a split are complete and stay: the run has succeeded, whatever fails now.
    bool is_committed = false;
    const OpenInput* opened = nullptr;  // the input while it is open
    // The records that the input's header takes up; 0 if it has no header, or is not scanned yet.
    std::uint64_t header_records = 0;

    bool has_header() const { return arguments.policy.header != HeaderMode::kNone; }
};

struct OpenInput {
    Input input;
    Dialect dialect;
    SniffedDialect sniffed;  // the same, and why
    Bar& bar;
};

// Makes a stream's bytes be all there, if they are not.
void spool(Context& context, OpenInput& opened);

// Opens the input, settles its dialect, with a warning if the quotes make no sense, and calls `work` with it. Throws
// InputError for encodings in which a byte is not a character, std::system_error, and what `work` throws. In place of
// all that, if the input changed meanwhile or could not be read, it throws what Input::throw_if_changed() does; to look
// at that before anything is told of the input is for `work`.
void with_input(Context& context, const std::string& path, const Cancellation* cancellation,
                const std::function<void(OpenInput&)>& work);

// The records of a mapped input as index_records() finds them, found again if nothing but the time of its last status
// change has changed meanwhile. Throws as RecordIndex, and InputChangedError if the records are not the same then.
RecordIndex index_of(const Context& context, OpenInput& opened);
// Throws as Input::throw_if_changed(), but if nothing but the time of the last status change is another: then
// InputChangedError if a new scan does not find the same records.
void throw_if_changed(const Context& context, const OpenInput& opened, const RecordIndex& index);

// Decides between error, warning and silence, by the options.
class Judge {
public:
    explicit Judge(Context& context) : context_(context) {}

    // Prints a remark or a warning about the input at hand, unless --quiet.
    void remark(const std::string& text) const;
    void warn(const std::string& text) const { remark("warning: " + text); }

    // Notes how many records the header takes up. Throws InputError, or warns. What is thrown names the place in its
    // message.
    void take(const Findings& findings) const;

    // Throws InputError under --strict-size if the piece is too large.
    void take(const Piece& piece);

    // Warns of the pieces that are too large.
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
