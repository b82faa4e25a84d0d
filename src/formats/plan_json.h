// A plan as JSON: what `offsets --format json` prints and what a manifest holds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "cleave/dialect.h"
#include "cleave/input.h"
#include "cleave/output.h"
#include "cleave/plan.h"

namespace cleave {

// Facts about the whole input.
struct InputFacts {
    std::string path;
    std::uint64_t size = 0;
    std::int64_t mtime_ns = 0;
    Dialect dialect;
    HeaderMode header = HeaderMode::kRepeat;
    std::uint64_t header_size = 0;
    Compression compression = Compression::kNone;  // of the input; all offsets and sizes are of plain bytes
    CompressionOptions piece_compression;          // if the pieces are files
    bool are_names_beneath = false;                // see ManifestNames
    std::string dropped_columns;                   // those of Policy::by that pieces lack, as the user names them
};
// What is known before the scan: all but size and header_size.
InputFacts facts_of(const Input& input, const Dialect& dialect, HeaderMode header);

// The name and the result of a piece, which is a file or the input of a command.
struct PieceFile {
    std::string name;
    PieceResult result;
};

// Takes the pieces first, in order: some facts are known only after the last piece. Needs about 140 bytes of memory a
// piece.
class PlanJson {
public:
    void add(const Piece& piece, const std::optional<PieceFile>& file = std::nullopt);

    // All of it, on one line, with a line feed: start_text(), the pieces with commas between them, kEnd.
    std::string text(const InputFacts& facts) const;
    static std::string start_text(const InputFacts& facts);
    static constexpr char kEnd[] = "]}\n";

private:
    std::string pieces_;  // with commas between them
};

Json input_json(const InputFacts& facts);
// The format and the size of a compressed file. A `file_size` of 0 means that the size is not known, as for a pipe, and
// is written as null. Null for an input that is not compressed.
Json compression_json(Compression compression, std::uint64_t file_size);
Json header_json(const InputFacts& facts);
// Without a file, for pieces that are only planned.
Json piece_json(const Piece& piece, const std::optional<PieceFile>& file = std::nullopt);
// Appends the members of piece_json() to the object.
void add_piece(Json& json, const Piece& piece, const std::optional<PieceFile>& file);
Json dialect_json(const Dialect& dialect);
// The dialect of such JSON. Nothing if it has members that are not known, or is not that of a dialect without a fault.
std::optional<Dialect> dialect_of_json(const Json& json);

// The names of a dialect's parts, on the command line and in JSON.
const char* name_of(Quoting quoting);
const char* name_of(Terminator terminator);
const char* name_of(EscapeScope scope);
const char* name_of(HeaderMode mode);
std::optional<HeaderMode> header_mode_named(const Json& name);

}  // namespace cleave
