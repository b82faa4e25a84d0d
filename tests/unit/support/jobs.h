// Jobs for tests, and observers that run a test's callbacks.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "cleave/job.h"

namespace cleave::test {

// A job that sniffs nothing.
inline Job job_of(const Policy& policy, const Dialect& dialect = {}) {
    Job job;
    job.dialect = settled_options(dialect);
    job.policy = policy;
    return job;
}

inline Job by_records(std::uint64_t records, HeaderMode header = HeaderMode::kRepeat) {
    Policy policy;
    policy.records = records;
    policy.header = header;
    return job_of(policy);
}

inline Job by_pieces(std::uint64_t pieces, HeaderMode header = HeaderMode::kRepeat) {
    Policy policy;
    policy.pieces = pieces;
    policy.header = header;
    return job_of(policy);
}

// Calls each of its functions that is set.
class Watcher : public JobObserver {
public:
    using Finished = std::function<void(const Piece& piece, const std::string& path, const PieceResult& result)>;

    Watcher() = default;
    explicit Watcher(Finished finished) : on_finished(std::move(finished)) {}

    void spooled(std::uint64_t size) override {
        if (on_spooled) on_spooled(size);
    }
    void found(const Findings& findings) override {
        if (on_found) on_found(findings);
    }
    void cut(const Piece& piece) override {
        if (on_cut) on_cut(piece);
    }
    void finished(const Piece& piece, const std::string& path, const PieceResult& result) override {
        if (on_finished) on_finished(piece, path, result);
    }
    void concluded(const JobReport& report) override {
        if (on_concluded) on_concluded(report);
    }

    std::function<void(std::uint64_t)> on_spooled;
    std::function<void(const Findings&)> on_found;
    std::function<void(const Piece&)> on_cut;
    Finished on_finished;
    std::function<void(const JobReport&)> on_concluded;
};

}  // namespace cleave::test
