#include "write/filter_target.h"

#include <sys/wait.h>

#include "cleave/split.h"

namespace cleave {
namespace {

std::vector<std::string> variables_of(const Piece& piece, const std::string& path) {
    return {"FILE=" + path, "CLEAVE_PIECE=" + std::to_string(piece.number),
            "CLEAVE_START=" + std::to_string(piece.start), "CLEAVE_RECORD=" + std::to_string(piece.first_record)};
}

// "exited with status 2", of what waitpid() says.
std::string describe_end(int status) {
    if (WIFSIGNALED(status)) return "was ended by signal " + std::to_string(WTERMSIG(status));
    return "exited with status " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

class FilterOutput : public PieceOutput {
public:
    FilterOutput(FilterTarget& target, const Piece& piece, std::string path)
        : target_(target), path_(std::move(path)), child_(target.command_, variables_of(piece, path_), path_) {
        target_.add(child_);
    }
    FilterOutput(const FilterOutput&) = delete;
    FilterOutput& operator=(const FilterOutput&) = delete;
    ~FilterOutput() override { target_.remove(child_); }

    void write(std::span<const std::uint8_t> bytes) override { child_.write(bytes, target_.cancellation_); }

    void finish(const Piece& piece) override {
        const int status = child_.wait(target_.cancellation_);
        if (status == 0) return;
        target_.fail(path_ + ": the filter " + describe_end(status) + " (piece " + std::to_string(piece.number) +
                     ", byte " + std::to_string(piece.start) + ", record " + std::to_string(piece.first_record) + ")");
    }

private:
    FilterTarget& target_;
    std::string path_;
    Child child_;
};

std::vector<char> FilterTarget::prepare(std::span<const Piece> pieces, std::span<const std::string>) {
    return std::vector<char>(pieces.size());
}

std::unique_ptr<PieceOutput> FilterTarget::open(const Piece& piece, const std::string& path) {
    return std::make_unique<FilterOutput>(*this, piece, path);
}

void FilterTarget::stop() noexcept {
    const std::lock_guard lock(mutex_);
    is_stopped_ = true;
    for (Child* child : running_) child->end();
}

void FilterTarget::add(Child& child) {
    const std::lock_guard lock(mutex_);
    running_.insert(&child);
    if (is_stopped_) child.end();
}

void FilterTarget::remove(Child& child) {
    const std::lock_guard lock(mutex_);
    running_.erase(&child);
}

// The others are stopped, and fail for that: they tell of the first failure too.
void FilterTarget::fail(const std::string& what) {
    std::unique_lock lock(mutex_);
    if (failure_.empty()) failure_ = what;
    const std::string first = failure_;
    lock.unlock();
    stop();
    throw FilterError(first);
}

}  // namespace cleave
