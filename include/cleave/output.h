// Where the pieces of a job go: to files, or to the standard input of commands.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "cleave/compression.h"
#include "cleave/error.h"

namespace cleave {

// Whether pieces share blocks with the input. Only pieces cut with Policy::alignment = kCloneAlignment can.
enum class CloneMode : std::uint8_t {
    kNever,
    kAuto,    // share where possible, copy elsewhere
    kAlways,  // fail if a piece has whole blocks and cannot share them
};

// What is known about a piece when it is finished.
struct PieceResult {
    std::uint64_t size = 0;               // uncompressed bytes, including the header
    std::optional<std::uint64_t> stored;  // bytes of the file, if the piece is compressed
    std::optional<std::uint32_t> crc32c;  // of the piece before compression, including the header; set if `checksum` is
                                          // true
    // For pieces by value, the piece's value in each column of Policy::by; empty for buckets and parts.
    std::vector<std::string> values = {};
    std::string part = {};  // the name of the part, for ByValue::parts
};

struct OutputOptions {
    std::string names = "{stem}.{i}{ext}";  // the paths of the pieces, a template; see PieceNamer
    std::uint64_t first_index = 1;          // {i} of the first piece
    bool hive_names = false;                // {value} is "column=value/column2=value2"
    bool make_directories = false;          // create missing directories in the pieces' paths
    // Replace files and links that have a piece's name. The input, a piece of the same run, directories, pipes,
    // devices, and links that lead to a descriptor of this process, a pipe or a device are never replaced.
    bool replace = false;
    bool resume = false;  // keep an existing file that equals its piece byte for byte. If the run fails, complete
                          // pieces are kept, unless the input has changed
    bool sync = false;    // write each piece to stable storage before it gets its name, and all of them before the run
                          // succeeds
    // The path of a JSON file that describes the input and the pieces. It appears after all pieces. Empty: no such
    // file. If the path leads, directly or through links, to an open descriptor of this process (/dev/stdout,
    // /dev/fd/N), a pipe or a character device, the manifest is written there after all pieces have their names. A FIFO
    // is opened at the start of the run, which waits for a reader.
    std::string manifest = {};
    // The same for a JSON file that reports what the rules of a stage did. It appears before the manifest.
    std::string report = {};
    CloneMode clone = CloneMode::kNever;  // has no effect on compressed pieces
    CompressionOptions compression = {};
    bool checksum = false;  // compute PieceResult::crc32c; this also reads bytes that the system shares or copies
    // If not empty, a shell command: each piece becomes the standard input of `sh -c FILTER` instead of a file, with at
    // most Execution::threads running at once. The command's environment describes the piece: FILE (the name),
    // CLEAVE_PIECE (its number), CLEAVE_START (the byte it starts at) and CLEAVE_RECORD (its first record). The options
    // for files, from make_directories to compression, then have no effect. Whatever the commands do is not undone. If
    // the run fails, all processes of the commands are ended before their input is closed. This process must have
    // descriptors 0 to 2 open. It has a child process, a fork of itself, for each running command, so it must not wait
    // for children that it did not start itself.
    std::string filter = {};
    int filter_output = 1;  // the descriptor that becomes the standard output of the commands
    // Write nothing and start no command, but throw wherever a real run would. The observer is called for every piece,
    // as in a real run.
    bool dry_run = false;
};

// A piece's name is taken by something that must not be replaced.
class OutputError : public ErrorOf<std::runtime_error> {
public:
    OutputError(const std::string& path, const std::string& what) : ErrorOf(path + ": " + what) {}
};

// A file has the name of a piece or of the manifest, but not the content that this run would write.
class OtherPieceError : public OutputError {
public:
    using OutputError::OutputError;
};

// The directory of a piece is missing, and OutputOptions::make_directories is false.
class MissingDirectoryError : public ArgumentError {
public:
    using ArgumentError::ArgumentError;
};

// A piece cannot share blocks with the input, because of where it is cut.
class CloneError : public ErrorOf<std::runtime_error> {
public:
    CloneError(const std::string& path, const std::string& why) : ErrorOf(path + ": cannot share blocks: " + why) {}
};

// A command that was given a piece failed.
class FilterError : public ErrorOf<std::runtime_error> {
public:
    using ErrorOf::ErrorOf;
};

}  // namespace cleave
