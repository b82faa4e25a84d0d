// Counts the classes of records; see src/features/redact/lane. `check --quasi` reports those of the records that a
// stage writes. `suppress` finds out which ones are large enough, for which only the columns of its rule are changed.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "cleave/input.h"
#include "cleave/scan.h"
#include "cleave/stage.h"
#include "core/offsets/input_head.h"
#include "features/redact/lane/class_counts.h"
#include "features/redact/lane/record_lane.h"

namespace cleave {

// Which classes are counted: those of the values in some of the fields that with_keys() hands over. Numbers are those
// of KeptFields::field().
struct ClassQuestion {
    std::vector<std::size_t> keys = {};
    std::optional<std::size_t> value = std::nullopt;  // ClassCounts::diversity is about this field
};

// Collects what is needed to answer questions about an input. Empty records do not count.
class RecordClasses {
public:
    // `stage` is from with_keys(), and must outlive this object.
    RecordClasses(const Stage& stage, std::vector<ClassQuestion> questions, const Execution& execution);

    // For RecordLane::write_all(), with the same stage.
    RecordLane::MakeFollower followers();
    // Call this when all records have been passed on.
    void finish();

    // The answer to a question. Throws what count_classes() throws.
    ClassCounts counts(std::size_t question) const;
    // The size in bytes of all records as they are written, without the header.
    std::uint64_t size() const { return size_; }

private:
    class Follower;

    const Stage& stage_;
    const std::vector<ClassQuestion> questions_;
    const unsigned threads_;
    const std::shared_ptr<MemoryManager> memory_;
    const RunKey key_;
    std::vector<ClassEntries> entries_;  // one for each question
    std::uint64_t size_ = 0;
};

// Returns the stage as it is or, if a rule is `suppress`, with the classes that are large enough; see with_common().
// For those, it reads the whole input. Throws SpoolError if it would have to read a stream, what run_job() throws, and
// InputError if there are too few records for any class to be large enough.
Stage with_common_classes(Stage stage, Input& input, const InputHead& head, const Execution& execution);

}  // namespace cleave
