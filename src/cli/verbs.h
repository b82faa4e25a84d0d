// The verbs. Each takes parsed arguments and throws its errors.
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
// Sets Arguments::pieces and `inputs` of the verb join. Throws as read_piece_list().
void list_pieces(Context& context);
void run_join(Context& context, const Cancellation& cancellation);
// Makes a file with a new key in it. Throws std::system_error.
void make_key(const std::string& path);
// Prints what is known of the machine and its device, after measuring it if that was asked for. Does not flush `out`.
// Throws DeviceUnavailable, DeviceError, MemoryError, std::invalid_argument and std::system_error.
void describe_machine(const Arguments& arguments, StandardOutput& out);

// Verbs that take several inputs. An input that fails does not stop the others. These functions flush `out`.

// Sums over the inputs that were counted. The size is in bytes, after decompression.
struct CountTotal {
    std::uint64_t inputs = 0;
    std::uint64_t size = 0;
    std::uint64_t records = 0;
};

// Prints the number of records and adds the input to `total`.
void count_input(Context& context, const std::string& path, StandardOutput& out, CountTotal& total);
// Writes the index of the input, or under --verify compares it. Throws IndexError if it is not good.
void index_input(Context& context, const std::string& path, const Cancellation& cancellation);
// Prints the last line of several inputs. Does not flush `out`.
void print_total(const Arguments& arguments, const CountTotal& total, StandardOutput& out);
// Prints a report and returns whether the input is sound.
bool check_input(Context& context, const std::string& path, StandardOutput& out);

}  // namespace cleave::cli
