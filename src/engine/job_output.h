// Decides the names of a job's pieces, where they go, and which files are created beside them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/name_list.h"
#include "cleave/names.h"
#include "core/writer/piece_target.h"
#include "engine/manifest.h"
#include "engine/piece_bytes.h"
#include "engine/rules.h"

namespace cleave {

// For one thread. Throws what run_job() throws.
class JobOutput {
public:
    // `context` is copied. Throws OtherPieceError if an existing manifest belongs to a different job.
    JobOutput(const JobContext& context, const PieceBytes& bytes);

    // Writes the pieces, and compares them with the input.
    void write(PieceBytes& bytes);
    // Call this when all pieces are written. Does everything that can still fail: writes the manifest and the report on
    // the rules.
    void seal();
    // Call this after seal(). Keeps everything that was created.
    void commit() noexcept { target_->commit(); }
    // Call this if the job has failed: see PieceTarget::take_back().
    std::vector<std::string> take_back() { return target_->take_back(); }
    // Keeps nothing that was created, even under OutputOptions::resume.
    void keep_nothing() noexcept { target_->keep_nothing(); }

private:
    std::unique_ptr<PieceTarget> make_target();
    InputFacts facts() const;
    void check_manifest(const PieceBytes& bytes) const;

    const JobContext context_;
    const OutputOptions& options_;
    const PieceNamer namer_;
    const ManifestNames names_in_manifest_;
    const std::unique_ptr<RulesReport> report_;  // null unless the job wants one
    std::unique_ptr<PieceTarget> target_;
    NameList paths_;
};

}  // namespace cleave
