// Pieces as the standard input of commands, one command for each piece.
#pragma once

#include <exception>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "cleave/output.h"
#include "core/writer/lone_file.h"
#include "core/writer/piece_target.h"

namespace cleave {

class FilterTarget : public PieceTarget {
public:
    // `input` must outlive the target.
    FilterTarget(const Input& input, const OutputOptions& options)
        : input_(input),
          command_(options.filter),
          output_(options.filter_output),
          has_checksums_(options.checksum),
          stop_(input.cancellation()) {
        if (!options.report.empty()) report_.emplace(options.report, input);
    }

    std::vector<char> prepare(std::span<const Piece> pieces, const NameList& paths, const PartsOf& parts_of) override;
    // finish() of the output throws FilterError if the command fails, and what Input::throw_if_changed() throws.
    std::unique_ptr<PieceOutput> open(const Piece& piece, const std::string& path) override;
    void stop() noexcept override { stop_.request(); }
    // When a command fails, its guard makes the descriptor readable, so that the waits of all threads end at once.
    const Cancellation* cancellation() const noexcept override { return &stop_; }
    void fail(const std::exception_ptr& failure) noexcept override;
    void throw_failure() override;
    void seal(const SideTexts& texts) override {
        if (report_) report_->publish(texts.report);
    }
    void commit() noexcept override {
        if (report_) report_->commit();
    }

private:
    friend class FilterOutput;

    const Input& input_;
    std::string command_;
    int output_;
    bool has_checksums_;
    Cancellation stop_;
    std::optional<LoneFile> report_;

    Mutex mutex_;
    std::exception_ptr failure_ CLEAVE_GUARDED_BY(mutex_);  // the first one
};

}  // namespace cleave
