// Records that a strict reader refuses can be set aside: they are left out of the input, and listed in a file, so that
// they can be mended. doc/guide/repair.md shows how; cleave-formats(5) describes the file.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "cleave/dialect.h"
#include "cleave/error.h"
#include "cleave/input.h"
#include "cleave/plan.h"
#include "cleave/scan.h"

namespace cleave {

class JoinedInputs;

// Why a record is rejected. Bits of RejectOptions::kinds.
enum class RejectKind : std::uint8_t {
    kFields = 1,    // it has more or fewer fields than the header; an empty record passes
    kQuotes = 2,    // see FieldReader::QuoteFault; or a section that is open after `max_record` bytes
    kSize = 4,      // it is larger than `max_record`
    kEncoding = 8,  // it is not UTF-8
    kNul = 16,      // it contains a NUL byte
    kJson = 32,     // it is not JSON; only for JSON Lines, and an empty line passes
    kKey = 64,      // it has no key; not a bit of the options, because this is always a reason
    kSeam = 128,    // it is an LF that would complete the CR of the last accepted record; likewise
};

// The bits of these kinds.
template <class... Kinds>
constexpr std::uint8_t bits_of(Kinds... kinds) {
    return static_cast<std::uint8_t>((static_cast<unsigned>(kinds) | ...));
}

struct RejectOptions {
    std::string path;                        // of the file; "/dev/stdout" and the like are streams
    std::optional<std::uint8_t> kinds = {};  // nothing: fields, quotes and size, or for JSON Lines json and size;
                                             // and encoding, if the input is converted from another one
    // Without a header, how many fields a record has; 0: as many as the first one, which is then never rejected.
    std::uint64_t fields = 0;
    std::uint64_t max_record = std::uint64_t{16} << 20;  // 1 .. kMaxRecordLimit
    // At most this many of a million records may be rejected, but `at_least` always may.
    std::uint64_t per_million = 10000;
    std::uint64_t at_least = 10;
    bool makes_folder = false;  // the folder of the file, if that alone is missing
    bool replaces = false;      // an existing file
    // By default, the input's encoding counts if it is converted: see Input::open().
    bool takes_encoding() const { return !kinds || (*kinds & static_cast<std::uint8_t>(RejectKind::kEncoding)) != 0; }
    bool has_texts = true;  // false: the file does not show the records, and bad quotes are an InputError
    bool waits = false;     // until a stage, which must read all of a blob in order, meets a bad record
};

// What was set aside. Sizes are in bytes.
struct RejectCounts {
    std::string path;            // of the file
    std::uint64_t accepted = 0;  // records, without the header
    std::uint64_t rejected = 0;
    std::uint64_t size = 0;       // of what was rejected
    std::uint64_t file_size = 0;  // of the file
    std::uint32_t crc32c = 0;     // of the file
};

// What is left out of an input. Call the members from one thread at a time.
class Sifting {
public:
    Sifting() = default;
    Sifting(const Sifting&) = delete;
    Sifting& operator=(const Sifting&) = delete;
    // Removes the file, unless commit() was called.
    virtual ~Sifting() = default;

    // Once the input has been read: gives the file its name. Throws what LoneFile::publish() throws.
    virtual RejectCounts publish() = 0;
    // Once the run has succeeded.
    virtual void commit() noexcept = 0;
    // Where a place in what is left of the input is in all of it.
    virtual Place in_input(const Place& place) const = 0;
    // For the handler of an InputError: throws it again, with its place in the input.
    [[noreturn]] void rethrow() const {
        try {
            throw;
        } catch (const InputError& error) {
            if (!error.place()) throw;
            throw InputError(error.what(), in_input(*error.place()));
        }
    }
};

// Leaves out of the input, which must not have been read, the records that `options` reject. A blob is read in full,
// and becomes a blob of what is left; a stream is sifted as it is read, and its reader gets the errors. The
// policy says whether there is a header, and what the key is. `path` of the options may be empty: nothing is written
// then. Throws InputError for a fault in the header, and if too many records are rejected, or all; RuleError for the
// key, SystemError, OutputError, InputChangedError, Cancelled. Of several inputs, `joined`, each is sifted on its own;
// only the command has any.
std::shared_ptr<Sifting> sift(Input& input, const Dialect& dialect, const Policy& policy, const RejectOptions& options,
                              const Execution& execution, JoinedInputs* joined = nullptr);

}  // namespace cleave
