// How `offsets` prints pieces: one class per format.
#pragma once

#include <memory>

#include "cleave/plan.h"
#include "cli/options.h"
#include "cli/standard_output.h"
#include "engine/plan_json.h"

namespace cleave::cli {

class OffsetsWriter {
public:
    explicit OffsetsWriter(StandardOutput& out) : out_(out) {}
    OffsetsWriter(const OffsetsWriter&) = delete;
    OffsetsWriter& operator=(const OffsetsWriter&) = delete;
    virtual ~OffsetsWriter() = default;

    // Call start() first if the facts are known before the pieces, then piece() for each piece, then finish() once.
    virtual void start(const InputFacts& /*facts*/) {}
    virtual void piece(const Piece& piece) = 0;
    virtual void finish(const InputFacts& facts) = 0;

protected:
    StandardOutput& out() { return out_; }

private:
    StandardOutput& out_;
};

std::unique_ptr<OffsetsWriter> make_offsets_writer(Format format, StandardOutput& out);

}  // namespace cleave::cli
