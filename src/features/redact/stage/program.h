// Rules compiled for one input: what a worker does with each record.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cleave/cancel.h"
#include "cleave/stage.h"
#include "features/redact/stage/class_digester.h"
#include "features/redact/stage/dialect_codec.h"
#include "features/redact/stage/flat_program.h"
#include "features/redact/stage/json_paths.h"
#include "features/redact/stage/key_names.h"
#include "features/redact/stage/rules.h"

namespace cleave {

struct Stage::Program {
    explicit Program(const Dialect& of) : dialect(of), codec(of) {}

    Dialect dialect;
    DialectCodec codec;
    std::size_t column_count = 0;
    RuleSet rules;
    std::shared_ptr<const JsonPaths> paths;  // in JSON Lines, otherwise null
    std::vector<std::uint8_t> flat_bytes;    // see stage/flatten.h
    std::size_t key_count = 0;               // number of columns given to with_keys()
    std::vector<std::size_t> keys_as_read;   // the last of these columns: what is read in them, not what is written
    // The columns of the output if anything is forbidden, otherwise none. Their values are searched if they stay as
    // they are.
    std::vector<std::size_t> watched;
    // What is forbidden: first the kinds, each with a search, then the patterns.
    std::vector<StageForbidden> forbidden;
    std::vector<bool (*)(Value) noexcept> searches;
    std::vector<ForbiddenPattern> patterns;
    bool only_counts_forbidden = false;
    bool refuses_backslash = false;  // before a quote in a quoted field: see StageOptions::is_escape_given
    std::string null_token;
    std::uint64_t max_record = 0;
    KeyUses uses{{}};
    const KeyRing* keys = nullptr;
    const Cancellation* cancellation = nullptr;  // of searches for patterns
    std::string digest;
    std::vector<std::pair<std::string, std::string>> key_ids;
    std::shared_ptr<const CommonClasses> common;  // null until with_common() sets it

    // The columns whose ends workers need, in order; the last column ends with the record. For FieldReader::pick(),
    // after which a record looks as if the columns up to each of these were one. Empty if all ends are needed.
    std::vector<std::uint32_t> picks;
    std::vector<std::uint8_t> picked_bytes;  // flat_bytes for such records

    // The program that workers execute.
    const FlatProgram& flat(bool is_picked = false) const {
        return *reinterpret_cast<const FlatProgram*>((is_picked ? picked_bytes : flat_bytes).data());
    }
};

// The number of the column in a record whose columns are joined.
inline std::uint32_t joined_number(std::span<const std::uint32_t> picks, std::size_t column) {
    return static_cast<std::uint32_t>(std::ranges::lower_bound(picks, column) - picks.begin());
}

// Returns the same stage, except that its workers also hand over what they write into these columns of the input, all
// of which must be written; see KeptFields. With `are_left_out`, these columns are not written, but are
// otherwise treated as before; at least one other column must be written. After these keys, the workers hand over what
// they read in the columns `as_read`, which need not be written.
Stage with_keys(const Stage& stage, std::span<const std::size_t> columns, bool are_left_out,
                std::span<const std::size_t> as_read = {});

// What a worker of such a stage hands over for each record that write() has written since clear(): the fields in these
// columns, in that order. An empty record has empty fields. Valid for as long as the result of written().
struct KeptFields {
    static bool is_empty_record(const StageWorker& worker, std::size_t record);
    static std::size_t size(const StageWorker& worker);  // in bytes, all of them together
    static std::span<const std::uint8_t> field(const StageWorker& worker, std::size_t record, std::size_t key);
};

// The rule with `suppress`; null if there is none.
const Rule* suppress_rule(const Stage& stage);

// Whether a rule is `suppress`, which needs two passes over an input. Rules that cannot be parsed are not.
bool has_suppress(std::span<const RuleText> rules);

// Returns the same stage, with the classes of records that `suppress` does not apply to. Until then, workers refuse a
// stage with such a rule. If the classes are still wanted, this is the stage of the first pass: in place of a record,
// workers write the ClassDigest of its class, and nothing for an empty record. They apply only the rules of the columns
// of `suppress`, and look for forbidden values only there.
Stage with_common(const Stage& stage, std::shared_ptr<const CommonClasses> common);

// The classes of records that `suppress` leaves as they are: those that are large enough, by their digests. A record of
// any other class is rare. So whatever a later pass reads, even if the input has changed in the meantime, it writes
// only combinations of values that the first pass has found to be common.

// A hash table with open addressing: a digest is in the first free slot from its own low bits on. Immutable, so any
// thread can use it. Takes 16 to 64 bytes for each class.
class CommonClasses {
public:
    // No record is rare.
    CommonClasses() = default;
    // The same, for the first pass, which makes the digests with this key.
    explicit CommonClasses(std::shared_ptr<const RunKey> key) : key_(std::move(key)) {}
    // `key` is the one that the digests were made with.
    CommonClasses(std::shared_ptr<const RunKey> key, const std::vector<ClassDigest>& digests) : key_(std::move(key)) {
        std::size_t size = 16;
        while (size / 2 < digests.size()) size *= 2;
        slots_.resize(size, kFree);
        for (const ClassDigest& digest : digests) slots_[slot_of(digest)] = digest;
    }

    // The key of the digests; may be null if no record is rare.
    const RunKey* key() const { return key_.get(); }
    // Whether this is the first pass.
    bool are_wanted() const { return key_ != nullptr && !are_known(); }
    // Whether this is the second pass, in which records can be rare.
    bool are_known() const { return !slots_.empty(); }
    // Only if classes are known. kFree itself is never found, so it counts as rare.
    bool has(const ClassDigest& digest) const { return digest != kFree && slots_[slot_of(digest)] == digest; }

private:
    static constexpr ClassDigest kFree{};

    // Where the digest is, or a free slot.
    std::size_t slot_of(const ClassDigest& digest) const {
        const std::size_t mask = slots_.size() - 1;
        std::size_t at = digest[0] & mask;
        while (slots_[at] != kFree && slots_[at] != digest) at = (at + 1) & mask;
        return at;
    }

    std::shared_ptr<const RunKey> key_;
    std::vector<ClassDigest> slots_;
};

}  // namespace cleave
