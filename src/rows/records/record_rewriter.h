// Changes records after their keys have been read.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "cleave/fields.h"

namespace cleave {

// For one thread at a time. The members are those of StageWorker, see cleave/stage.h.
class RecordRewriter {
public:
    RecordRewriter() = default;
    RecordRewriter(const RecordRewriter&) = delete;
    RecordRewriter& operator=(const RecordRewriter&) = delete;
    virtual ~RecordRewriter() = default;

    virtual RecordBlock read(std::span<const std::uint8_t> bytes, Place place, bool at_end) = 0;
    virtual RecordBlock read_sound(std::span<const std::uint8_t> bytes, Place place, bool at_end) = 0;
    virtual void append(std::span<const std::uint8_t> bytes) = 0;
    virtual void write(const RecordBlock& block) = 0;
    virtual std::span<const std::uint8_t> written() const = 0;
    virtual std::span<const std::uint64_t> starts() const = 0;
    virtual void clear() = 0;
};

// Called on several threads at once.
using MakeRewriter = std::function<std::unique_ptr<RecordRewriter>()>;

}  // namespace cleave
