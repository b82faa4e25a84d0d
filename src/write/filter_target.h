// Pieces as the standard input of a command, each of its own.
#pragma once

#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "io/child.h"
#include "write/piece_target.h"

namespace cleave {

class FilterTarget : public PieceTarget {
public:
    FilterTarget(std::string command, const Cancellation* cancellation)
        : command_(std::move(command)), cancellation_(cancellation) {}

    std::vector<char> prepare(std::span<const Piece> pieces, std::span<const std::string> paths) override;
    // finish() of what it returns throws FilterError if the command fails, or another one has failed.
    std::unique_ptr<PieceOutput> open(const Piece& piece, const std::string& path) override;
    void stop() noexcept override;
    void seal() override {}
    void commit() noexcept override {}

private:
    friend class FilterOutput;

    void add(Child& child);
    void remove(Child& child);
    [[noreturn]] void fail(const std::string& what);

    std::string command_;
    const Cancellation* cancellation_;

    std::mutex mutex_;  // of what is below
    std::set<Child*> running_;
    bool is_stopped_ = false;
    std::string failure_;  // the first one
};

}  // namespace cleave
