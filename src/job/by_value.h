// Pieces by value in a job: where their records lie, and the plan.
//
//   no stage, columns stay     in the input
//   a stage                    the changed records go to a temporary file, in order; keys are read there
//   columns are left out       records go, after their keys were read, to a temporary file without the columns
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/name_list.h"
#include "cleave/input.h"
#include "cleave/meter.h"
#include "cleave/names.h"
#include "cleave/plan.h"
#include "io/temporary_blob.h"
#include "job/staging.h"
#include "plan/value_plan.h"
#include "write/piece_target.h"

namespace cleave {

class ByValue {
public:
    // Found is called when the input has been scanned. All must outlive it; `staging` may be null. Throws as run_job().
    ByValue(Input& input, const Dialect& dialect, const Policy& policy, const Execution& execution, Staging* staging,
            const std::function<void(const Findings&)>& found);

    ValuePlan& plan() { return *plan_; }
    const ValuePlan& plan() const { return *plan_; }
    // Plans again, for the same bytes, and lists the parts.
    void plan_again(const RecordIndex& index, const Policy& policy);

    // Of piece `number`, from 1. Only after plan().list_parts(). Any thread.
    std::span<const BlobRange> parts(std::uint64_t number) const { return plan_->parts(number); }

    // Writes all pieces as their records come. The pieces have these outputs, which have write_at(). Only if
    // plan().can_scatter(), so before plan().list_parts(). The meter, which may be null, counts the bytes of the
    // bodies. Throws what Blob::lend() and the outputs throw, Cancelled.
    void scatter(std::span<const std::unique_ptr<PieceOutput>> outputs, HeaderMode header_mode, Meter* meter) const;

    // The names of these pieces, which are all of the plan. Throws std::invalid_argument, ValueNameError.
    NameList names_of(std::span<const Piece> pieces, const PieceNamer& namer, bool hive) const;

    // Brings the parts of neighbouring pieces together, if the pieces, all of the plan, are larger than half of
    // `memory` bytes: see plan/regroup.cpp. After plan().list_parts(), and after the last look at what parts() are in
    // the input.
    void regroup(std::span<const Piece> pieces, std::uint64_t memory);

    // Whether what pieces consist of is in the input.
    bool is_of_input() const { return !changed_ && !shortened_; }
    // What parts() are parts of.
    const Blob& blob() const;
    // Throws std::system_error if bytes of a temporary file could not be read and were zeros instead. To be called
    // before anything that was made of them counts. Any thread.
    void throw_if_lost() const;

private:
    void plan_shortened(const RecordIndex& index, const Policy& policy, const std::vector<KeyColumn>& columns);

    const Input& input_;
    std::optional<TemporaryBlob> changed_;    // by the stage
    std::optional<TemporaryBlob> shortened_;  // without columns
    std::optional<TemporaryBlob> grouped_;    // piece by piece, roughly
    std::optional<ValuePlan> plan_;
};

}  // namespace cleave
