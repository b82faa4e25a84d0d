// The verbs. Each takes parsed arguments and throws on error.
#pragma once

#include "cleave/cancel.h"
#include "cli/context.h"
#include "cli/standard_output.h"

namespace cleave::cli {

void run_split(Context& context, const Cancellation& cancellation);
void run_offsets(Context& context);
void run_cat(Context& context);
void run_sample(Context& context);
void run_scan(Context& context);
void run_plan(Context& context);
// Sets Arguments::pieces and Arguments::inputs for the verb join. Throws what read_piece_list() throws.
void list_pieces(Context& context);
void run_join(Context& context, const Cancellation& cancellation);
// Prints how files differ from the report that lists them, and returns whether none does. Throws InputError if the
// report is not authentic.
bool run_verify(Context& context);
// Creates a file that contains a new key. Throws SystemError.
void run_key(const Arguments& arguments);
// Prints what is known about the machine and its device, after measuring them if the user asked for that. Does not
// flush `out`. Throws DeviceUnavailable, DeviceError, MemoryError, ArgumentError and SystemError.
void describe_info(const Arguments& arguments, StandardOutput& out);

// Verbs that take several inputs. An input that fails does not stop the others. These functions flush `out`.

// Totals over the counted inputs. The size is in bytes, after decompression.
struct CountTotal {
    std::uint64_t inputs = 0;
    std::uint64_t size = 0;
    std::uint64_t records = 0;
};

// Prints the number of records and adds the input to `total`.
void count_input(Context& context, const Location& location, StandardOutput& out, CountTotal& total);
// Writes the index of the input or, under --verify, compares it with the input. Throws IndexError if it does not match.
void index_input(Context& context, const Location& location, const Cancellation& cancellation);
// Prints the total line after the counts of several inputs. Does not flush `out`.
void print_total(const Arguments& arguments, const CountTotal& total, StandardOutput& out);
// Prints a report and returns whether the input is sound.
bool check_input(Context& context, const Location& location, StandardOutput& out);

}  // namespace cleave::cli
