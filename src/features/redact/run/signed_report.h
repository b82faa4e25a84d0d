// A report on what the rules did that is signed: it also lists the files of the run, with their SHA-256, and shows that
// a holder of a key wrote it. It is what `--redact-report` writes with `--sign`, and has two lines:
//
//   {"cleave":1,"input":{"path":...},...,"files":[...],...}
//   {"signature":{"key":NAME,"id":ID,"version":N,"hmac_sha256":"MAC"}}
//
// MAC is the HMAC-SHA-256, as 64 hex digits in lower case, of every byte before it: the first line, and the second line
// up to and including the quote that opens the string. After MAC, the file ends with `"}}` and a line feed. So each
// byte of the file is either authenticated or fixed. The HMAC's key is HKDF(key, "cleave 2 report"): see
// stage/mac.h. `version` is there only if the key has one.
//
// In addition to what stage_report() writes, the first line has these members:
//
//   "program"         "cleave" and its version
//   "input"."stored"  the input as it is stored, before it is decompressed: its size and a keyed hash
//   "files"           the pieces, in order: name, size, SHA-256 and number of records. A compressed piece has the size
//                     and the SHA-256 of the compressed file
//   "manifest"        the manifest, if there is one: name, size and SHA-256
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/content_hash.h"
#include "base/json.h"
#include "cleave/keys.h"
#include "cleave/stage.h"
#include "engine/plan_json.h"

namespace cleave {

// Reports, as JSON, what the rules of a stage did: the output of --redact-report.

// Returns a JSON object. It contains the names of columns and operations, but not the text of the rules,
// which may contain values.
Json stage_report(const Stage& stage, const StageCounts& counts, const InputFacts& facts, std::uint64_t pieces);

// In bytes. Enough for about 400,000 pieces.
constexpr std::size_t kMaxSignedReport = std::size_t{64} << 20;

// The name of a piece that went to standard output, and of a report that comes from standard input.
constexpr const char* kStandardStream = "-";

// A file that a report lists. Its name is relative to the folder of the report or, if the report went to a stream, to
// the current folder.
struct ReportedFile {
    std::string name;
    ContentDigest content;
    std::optional<std::uint64_t> records;  // of a piece
};

// The input, whose hash is keyed: with its SHA-256, a reader of the report could test guesses at what the rules hide.
struct ReportedInput {
    std::uint64_t size = 0;  // in bytes
    // HMAC-SHA-256, in hex, of the 64 hex digits of its SHA-256. The key is HKDF(key, "cleave 2 input").
    std::string hmac_sha256;

    bool operator==(const ReportedInput&) const = default;
};

struct ReportedFiles {
    ReportedInput input;
    std::vector<ReportedFile> pieces;
    std::optional<ReportedFile> manifest;
};

// The name that the report at the path `report` gives to the file at `path`. Throws ArgumentError if the file is not
// beneath the folder of the report, or if a report cannot contain its name. Links are not followed.
std::string name_in_report(const std::string& report, const std::string& path);

// What a report that is signed with this key says about an input with this content. Throws what signed_report() throws
// about the key.
ReportedInput reported_input(const ContentDigest& content, const KeyRing& keys, const std::string& key);

// The text of a signed report. `report` comes from stage_report(). Throws ArgumentError if no key of the ring has the
// name `key`, or if the report would be larger than kMaxSignedReport; SystemError if memory cannot be locked.
std::string signed_report(Json report, const ReportedFiles& files, const KeyRing& keys, const std::string& key);

// Whether a holder of this key wrote the text, and nobody has changed it since. Takes the same time for every MAC, and
// trusts nothing in the text. Throws what signed_report() throws about the key.
bool is_authentic(std::string_view text, const KeyRing& keys, const std::string& key);

// What a signed report lists. Its signature is not checked, but must be there. Throws InputError if the text is not a
// signed report, is of another version, or lists something that is neither kStandardStream nor beneath its folder.
ReportedFiles files_of_report(std::string_view text);

}  // namespace cleave
