// A plan as JSON: what `offsets --format json` prints and what a manifest contains.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/json.h"
#include "cleave/dialect.h"
#include "cleave/input.h"
#include "cleave/output.h"
#include "cleave/plan.h"
#include "cleave/rejects.h"

namespace cleave {

class JoinedInputs;

struct InputFacts {
    std::string path;
    std::uint64_t size = 0;
    std::int64_t mtime_ns = 0;
    Dialect dialect;
    HeaderMode header = HeaderMode::kRepeat;
    std::uint64_t header_size = 0;
    Compression compression = Compression::kNone;  // the input's compression; all offsets and sizes count plain bytes
    Encoding encoding = Encoding::kBytes;          // the input's; all offsets and sizes count bytes of UTF-8
    CompressionOptions piece_compression;          // used if the pieces are files
    bool are_names_beneath = false;                // see ManifestNames
    std::string dropped_columns;                   // columns in Policy::by that the pieces lack, as the user names them
    std::optional<ByValue> parts;                  // set if the pieces are parts
    std::optional<RejectCounts> rejects;           // set if records were set aside; the path is as in the manifest
    const JoinedInputs* joined = nullptr;          // set if the input stands for several
};
// The facts that are known before the scan: all except size and header_size.
InputFacts facts_of(const Input& input, const Dialect& dialect, HeaderMode header);

// The name and the result of a piece. The piece is a file or the input of a command.
struct PieceFile {
    std::string name;
    PieceResult result;
};

// Takes the pieces first, in order, because some facts are known only after the last piece. Uses about 140 bytes of
// memory per piece.
class PlanJson {
public:
    // `joined`, if not null, says which bytes of several inputs are in the piece.
    void add(const Piece& piece, const std::optional<PieceFile>& file = std::nullopt,
             const JoinedInputs* joined = nullptr);

    // The whole document on one line that ends with a line feed: start_text(), the pieces separated by commas, kEnd.
    std::string text(const InputFacts& facts) const;
    static std::string start_text(const InputFacts& facts);
    static constexpr char kEnd[] = "]}\n";

private:
    std::string pieces_;  // separated by commas
};

Json input_json(const InputFacts& facts);
// The format and the size of a compressed file; null if the input is not compressed. A `file_size` of 0 means unknown,
// as with a pipe, and is written as null.
Json compression_json(Compression compression, std::uint64_t file_size);
Json header_json(const InputFacts& facts);
// How the parts are made.
Json parts_json(const ByValue& by);
// Pieces that are only planned have no file.
Json piece_json(const Piece& piece, const std::optional<PieceFile>& file = std::nullopt);
// Appends the members of piece_json() to the object.
void add_piece(Json& json, const Piece& piece, const std::optional<PieceFile>& file);
Json dialect_json(const Dialect& dialect);
// Returns the dialect that this JSON describes, or nothing if it is not a dialect, has unknown members, or is an
// invalid dialect.
std::optional<Dialect> dialect_of_json(const Json& json);

// The names of a dialect's parts on the command line and in JSON.
const char* name_of(Quoting quoting);
const char* name_of(Terminator terminator);
const char* name_of(EscapeScope scope);
const char* name_of(HeaderMode mode);
std::optional<HeaderMode> header_mode_named(const Json& name);

}  // namespace cleave
