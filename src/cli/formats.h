// How `offsets` prints pieces: one class a format.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "cleave/dialect.h"
#include "cleave/input.h"
#include "cleave/plan.h"
#include "cli/options.h"
#include "cli/output.h"

namespace cleave::cli {

// What a format may say of the input as a whole.
struct InputFacts {
    std::string path;
    std::uint64_t size = 0;
    std::int64_t mtime_ns = 0;
    Dialect dialect;
    std::uint64_t header_size = 0;
};

class OffsetsWriter {
public:
    explicit OffsetsWriter(StandardOutput& out) : out_(out) {}
    OffsetsWriter(const OffsetsWriter&) = delete;
    OffsetsWriter& operator=(const OffsetsWriter&) = delete;
    virtual ~OffsetsWriter() = default;

    // Pieces come in order, then finish() once.
    virtual void piece(const Piece& piece) = 0;
    virtual void finish(const InputFacts& facts) = 0;

protected:
    StandardOutput& out() { return out_; }

private:
    StandardOutput& out_;
};

std::unique_ptr<OffsetsWriter> make_offsets_writer(Format format, StandardOutput& out);

nlohmann::ordered_json dialect_json(const Dialect& dialect);

// One object on one line, whatever bytes a path holds.
std::string dump_json(const nlohmann::ordered_json& json);

// How a dialect's parts are called, on the command line and in JSON.
const char* name_of(Quoting quoting);
const char* name_of(Terminator terminator);
const char* name_of(EscapeScope scope);

}  // namespace cleave::cli
