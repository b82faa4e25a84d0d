// A plan as JSON: what `offsets --format json` prints and what a manifest holds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cleave/dialect.h"
#include "cleave/plan.h"
#include "cli/json.h"

namespace cleave::cli {

// What is said of the input as a whole.
struct InputFacts {
    std::string path;
    std::uint64_t size = 0;
    std::int64_t mtime_ns = 0;
    Dialect dialect;
    HeaderMode header = HeaderMode::kRepeat;
    std::uint64_t header_size = 0;
    Compression compression = Compression::kNone;  // of the input; all offsets and sizes are of plain bytes
    CompressionWish piece_compression;             // where there are files
};

// The file of a piece, or what a command gets in place of one. `size` is the plain bytes in it, those of the header
// included.
struct PieceFile {
    std::string name;
    std::uint64_t size = 0;
};

// Takes the pieces first, in order, as the facts may be known only after them. About 140 bytes of memory a piece.
class PlanJson {
public:
    void add(const Piece& piece, const std::optional<PieceFile>& file = std::nullopt);

    // All of it, on one line, with a line feed.
    std::string text(const InputFacts& facts) const;

private:
    std::string pieces_;  // with commas between them
};

// What first tells a manifest that is there from the one that is wanted, in words; nothing if they say the same.
std::optional<std::string> manifest_difference(std::string_view there, std::string_view wanted);

Json input_json(const InputFacts& facts);
// The format and the size of a compressed file in bytes, which is null if `file_size` is 0: it is not known then, as of
// a pipe. Null for an input that is not compressed.
Json compression_json(Compression compression, std::uint64_t file_size);
Json header_json(const InputFacts& facts);
// Without a file, for pieces that are only planned.
Json piece_json(const Piece& piece, const std::optional<PieceFile>& file = std::nullopt);
// The same members, after those that the object has.
void add_piece(Json& json, const Piece& piece, const std::optional<PieceFile>& file);
Json dialect_json(const Dialect& dialect);

// How a dialect's parts are called, on the command line and in JSON.
const char* name_of(Quoting quoting);
const char* name_of(Terminator terminator);
const char* name_of(EscapeScope scope);
const char* name_of(HeaderMode mode);

}  // namespace cleave::cli
