// The file of rejected records: JSON Lines, one for each record or line.
//
//   {"byte":1042,"size":37,"record":17,"reason":"4 fields, not 3","text":"…"}
//
// The first one also has the header of the input, as "header". Bytes that are not UTF-8 are written as "base64" and
// "header_base64", and so are records that are too large to be kept in memory.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/crc32c.h"
#include "cleave/error.h"
#include "cleave/function_ref.h"
#include "cleave/input.h"
#include "cleave/rejects.h"
#include "core/reader/spill.h"
#include "core/writer/lone_file.h"
#include "features/rejects/sieve.h"

namespace cleave {

// For one thread at a time.
class RejectFile {
public:
    // Opens the file, or nothing if `path` is empty. `header` comes before the first record. Throws what LoneFile()
    // throws. `input` must outlive it.
    RejectFile(const RejectOptions& options, const Input& input, std::vector<std::uint8_t> header);
    RejectFile(const RejectFile&) = delete;
    RejectFile& operator=(const RejectFile&) = delete;
    ~RejectFile();

    // Calls take() with the bytes of a record, in one or more parts.
    using Text = FunctionRef<void(FunctionRef<void(std::span<const std::uint8_t>)> take)>;

    // The record does not count the header. `text` is null if no record is to be shown. `input` is empty unless there
    // are several. Throws SystemError, Cancelled, and what `text` throws.
    void add(const Reject& reject, const Text* text, const std::string& input = "");

    // Once nothing is added any more: see LoneFile.
    void publish();
    void commit() noexcept;

    std::uint64_t size() const { return size_; }
    std::uint32_t crc32c() const { return sum_.value(); }

private:
    void add_bytes(const std::string& name, const std::string& encoded, std::span<const std::uint8_t> bytes);
    void flush();

    const Input& input_;
    const std::string path_;
    std::vector<std::uint8_t> header_;  // until it is written
    std::string made_folder_;           // until commit()
    std::optional<LoneFile> file_;
    std::string text_;  // not passed on yet
    // The file is created by publish(), when the run's own files have been: its hidden file cleans up after killed
    // runs, and what those have left tells a run which pieces are its own.
    SpillBuffer lines_;
    std::uint64_t size_ = 0;
    Crc32c sum_;
};

// A line of the file.
struct ListedReject {
    std::uint64_t byte = 0;
    std::string header;  // "" except in the first line
    std::string text;
};

// Reads a line. Throws InputError if it lists no reject, or shows no text.
ListedReject reject_of_line(std::string_view line);

}  // namespace cleave
