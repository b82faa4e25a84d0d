// Writing pieces to files, all or nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>

#include "cleave/compression.h"
#include "cleave/input.h"
#include "cleave/meter.h"
#include "cleave/names.h"
#include "cleave/plan.h"

namespace cleave {

// Whether pieces share blocks with the input where they can: their cuts are to be aligned to kCloneAlignment.
enum class CloneMode : std::uint8_t {
    kNever,
    kAuto,    // share where possible, copy elsewhere
    kAlways,  // a piece that has whole blocks and cannot share them is an error
};

// What is known of a piece when it is finished.
struct PieceResult {
    std::optional<std::uint64_t> stored;  // bytes of the file, if the piece is compressed
    std::optional<std::uint32_t> crc32c;  // of the piece before compression, header included, under options.checksum
};

// The functions below throw std::invalid_argument if a number is out of range, a function that is needed is empty, or a
// manifest has no manifest_text.
struct SplitOptions {
    bool make_directories = false;  // those of the pieces' paths that are missing
    // Files and links that have a piece's name are replaced. Never replaced are the input, a piece of the same run,
    // directories, pipes, devices, and links that lead to a descriptor of this process, a pipe or a device.
    bool replace = false;
    bool resume = false;  // files that are, byte for byte, the pieces of their names stay; and pieces that are
                          // complete when the split fails do, unless the input has changed
    bool sync = false;    // everything is on stable storage before the split succeeds
    // The path of a file that appears after all pieces; no manifest if empty. A path that leads, through whatever
    // links, to an open descriptor of this process (/dev/stdout, /dev/fd/N), to a pipe or to a character device is
    // written to after all pieces have their names, and never replaced. A FIFO is opened first, which waits for a
    // reader.
    std::string manifest;
    std::function<std::string()> manifest_text;  // what is in it; called when all pieces are there
    unsigned threads = 1;                        // the most pieces that are written at a time; at least 1
    CloneMode clone = CloneMode::kNever;         // has no effect on pieces that are compressed
    CompressionOptions compression;
    bool checksum = false;  // make PieceResult::crc32c; bytes that are shared or copied by the system are read for that
    // If not empty, a shell command: each piece becomes the standard input of `sh -c FILTER` instead of a file, at most
    // `threads` at a time. The command's environment describes the piece: FILE (the name), CLEAVE_PIECE (its number),
    // CLEAVE_START (the byte it starts at) and CLEAVE_RECORD (its first record). The options about files, from
    // make_directories to compression, have no effect then. What the commands do is not undone.
    // When the split fails, all processes of the commands are ended, and only then their input is closed. The process
    // must have descriptors 0 to 2 open. For each command it gets a child process, a fork, for the time of the command;
    // the process must not wait for children that it has not started.
    std::string filter;
    int filter_output = 1;  // the descriptor that becomes the standard output of the commands
    // Called when all pieces are made and nothing of the input has changed but the time of its last status change:
    // whether a new scan of input.blob() gives the same pieces. The files are then compared with the input, byte for
    // byte. If it is not set, or pieces are compressed, given to a filter or have checksums, such a change is an
    // InputChangedError.
    std::function<bool()> is_same_plan;
    Meter* meter = nullptr;
    // Called in piece order when a piece has its name; from any thread, but never from two at once. An exception fails
    // the split.
    std::function<void(const Piece& piece, const std::string& path, const PieceResult& result)> finished =
        [](const Piece&, const std::string&, const PieceResult&) {};
    // Called once, when all pieces and the manifest are in place. An exception fails the split, and everything is taken
    // back. After it has returned, nothing can fail.
    std::function<void()> concluded = [] {};
};

// A piece's name is taken by something that must not be replaced.
class OutputError : public std::runtime_error {
public:
    OutputError(const std::string& path, const std::string& what) : std::runtime_error(path + ": " + what) {}
};

// A file has the name of a piece or of the manifest, and its content is not what this run would make.
class OtherPieceError : public OutputError {
public:
    using OutputError::OutputError;
};

// The directory of a piece is missing, and SplitOptions::make_directories is false.
class MissingDirectoryError : public std::invalid_argument {
public:
    using std::invalid_argument::invalid_argument;
};

// A piece cannot share blocks with the input, because of where it is cut.
class CloneError : public std::runtime_error {
public:
    CloneError(const std::string& path, const std::string& why)
        : std::runtime_error(path + ": cannot be cloned: " + why) {}
};

// A command that was given a piece failed.
class FilterError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// Throws what split_mapped() would before it writes: std::invalid_argument, two pieces of one name, a piece with the
// name of the manifest, a missing directory, one in which this process may not make files, a name that is taken, a
// piece that cannot be cloned. The input may be a stream; then the pieces are those that are known, perhaps none.
void check_split(const Input& input, std::span<const Piece> pieces, HeaderMode header, std::uint64_t header_size,
                 const PieceNamer& namer, const SplitOptions& options);

// Writes the planned pieces of an input that is no stream, numbered 1, 2, 3 in order; the input's first `header_size`
// bytes go where `header` says. Nothing is written if a name is taken or a piece cannot be cloned. Throws
// std::system_error, OutputError, std::invalid_argument (two pieces of one name, a piece with the name of the manifest,
// a missing directory, a stream, pieces or a header that do not fit the input), CloneError, FilterError,
// InputChangedError, Cancelled and what options.finished throws; then nothing that was made here is left.
void split_mapped(const Input& input, std::span<const Piece> pieces, HeaderMode header, std::uint64_t header_size,
                  const PieceNamer& namer, const SplitOptions& options);

// Whether a file of that path could share blocks with the input, which is no stream. Tried with one block and a file
// without a name.
bool can_clone(const Input& input, const std::string& path);

// Cuts and writes an input as it is read, once and in order: a stream, or a mapped input, as is best for a file that
// does not fit into memory. options.clone is not used, and options.threads only to compress and for filters. `accept`
// judges what was found before the last piece ends and the pieces are final, and may throw. Throws as split_mapped()
// and cut_stream().
void split_stream(Input& input, const Dialect& dialect, const Execution& execution, const Policy& policy,
                  const PieceNamer& namer, const SplitOptions& options,
                  const std::function<void(const Findings&)>& accept);

}  // namespace cleave
