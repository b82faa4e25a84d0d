// Where the pieces of a job go: into files, or to the standard input of commands.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "cleave/compression.h"

namespace cleave {

// Whether pieces share blocks with the input. Only pieces that are cut with Policy::alignment = kCloneAlignment can.
enum class CloneMode : std::uint8_t {
    kNever,
    kAuto,    // share where possible, copy elsewhere
    kAlways,  // a piece that has whole blocks and cannot share them is an error
};

// What is known of a piece when it is finished.
struct PieceResult {
    std::uint64_t size = 0;               // plain bytes, header included
    std::optional<std::uint64_t> stored;  // bytes of the file, if the piece is compressed
    std::optional<std::uint32_t> crc32c;  // of the piece before compression, header included, under `checksum`
    // Of a piece by value, the value in each column of Policy::by; none for buckets.
    std::vector<std::string> values = {};
};

struct OutputOptions {
    std::string names = "{stem}.{i}{ext}";  // the paths of the pieces, a template; see PieceNamer
    std::uint64_t first_index = 1;          // {i} of the first piece
    bool hive_names = false;                // {value} is "column=value/column2=value2"
    bool make_directories = false;          // make missing directories of the pieces' paths
    // Files and links that have a piece's name are replaced. Never replaced are the input, a piece of the same run,
    // directories, pipes, devices, and links that lead to a descriptor of this process, a pipe or a device.
    bool replace = false;
    bool resume = false;  // an existing file that equals its piece byte for byte stays. If the run fails, complete
                          // pieces stay, unless the input has changed
    bool sync = false;    // put each piece on stable storage before it gets its name, and all before the run succeeds
    // The path of a JSON file that describes the input and the pieces, and that appears after all pieces; no such file
    // if empty. If the path leads, also through links, to an open descriptor of this process (/dev/stdout, /dev/fd/N),
    // a pipe or a character device, the manifest is written there after all pieces have their names. A FIFO is opened
    // at the start of the run, which waits for a reader.
    std::string manifest;
    // The same for a JSON file that says what the rules of a stage did. It appears before the manifest.
    std::string report;
    CloneMode clone = CloneMode::kNever;  // has no effect on pieces that are compressed
    CompressionOptions compression;
    bool checksum = false;  // compute PieceResult::crc32c; reads also bytes that the system shares or copies
    // If not empty, a shell command: each piece becomes the standard input of `sh -c FILTER` instead of a file, at most
    // Execution::threads at a time. The command's environment describes the piece: FILE (the name), CLEAVE_PIECE (its
    // number), CLEAVE_START (the byte it starts at) and CLEAVE_RECORD (its first record). The options about files, from
    // make_directories to compression, have no effect then. What the commands do is not undone. When the run fails, all
    // processes of the commands are ended, and only then their input is closed. This process must have descriptors 0 to
    // 2 open. It has a child process, a fork of itself, for each running command: it must not wait for children that it
    // has not started.
    std::string filter;
    int filter_output = 1;  // the descriptor that becomes the standard output of the commands
    // Write nothing and start no command, but throw for everything that a real run would refuse. The observer is called
    // for every piece as in a real run.
    bool dry_run = false;
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

// The directory of a piece is missing, and OutputOptions::make_directories is false.
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

}  // namespace cleave
