#include "core/writer/filter_target.h"

#include <sys/wait.h>
#include <unistd.h>

#include <exception>
#include <system_error>
#include <utility>

#include "core/reader/temporary_file.h"
#include "core/writer/checksum.h"
#include "core/writer/child.h"

namespace cleave {
namespace {

std::vector<std::string> variables_of(const Piece& piece, const std::string& path) {
    return {"FILE=" + path, "CLEAVE_PIECE=" + std::to_string(piece.number),
            "CLEAVE_START=" + std::to_string(piece.start), "CLEAVE_RECORD=" + std::to_string(piece.first_record)};
}

// For a message: "exited with status 2".
std::string describe(const CommandEnd& end) {
    if (end.error != 0) return "could not be started: " + std::generic_category().message(end.error);
    if (end.left_running) return "left processes running, which were stopped";
    if (WIFSIGNALED(end.status)) return "was ended by signal " + std::to_string(WTERMSIG(end.status));
    return "exited with status " + std::to_string(WEXITSTATUS(end.status));
}

}  // namespace

class FilterOutput : public PieceOutput {
public:
    FilterOutput(FilterTarget& target, const Piece& piece, std::string path)
        : target_(target),
          piece_(piece),
          path_(std::move(path)),
          child_(target.command_, {variables_of(piece, path_), target.output_, &target.stop_}, path_) {}
    FilterOutput(const FilterOutput&) = delete;
    FilterOutput& operator=(const FilterOutput&) = delete;
    ~FilterOutput() override {
        try {
            note(child_.end());
        } catch (const std::exception&) {  // no memory for the message; the run has failed in any case
        }
    }

    void write(std::span<const std::uint8_t> bytes) override { child_.write(bytes, &target_.stop_); }

    PieceResult finish(const Piece&) override {
        target_.input_.throw_if_changed();  // the command must not take wrong bytes for a complete piece
        note(child_.wait(&target_.stop_));
        target_.throw_failure();
        return {};
    }

private:
    void note(const CommandEnd& end) {
        if (end.was_asked || !end.has_failed()) return;
        std::string text = path_ + ": the filter " + describe(end) + " (piece " + std::to_string(piece_.number) +
                           ", byte " + std::to_string(piece_.start) + ", record " +
                           std::to_string(piece_.first_record) + ")";
        const std::string folder(folder_of(path_));
        if (!folder.empty() && ::access(folder.c_str(), F_OK) != 0) {
            text += "; there is no folder '" + folder +
                    R"(', and the command is to make it, if it needs it: mkdir -p "${FILE%/*}")";
        }
        target_.fail(std::make_exception_ptr(FilterError(text)));
    }

    FilterTarget& target_;
    Piece piece_;
    std::string path_;
    Child child_;
};

std::vector<char> FilterTarget::prepare(std::span<const Piece> pieces, const NameList&, const PartsOf&) {
    return std::vector<char>(pieces.size());
}

std::unique_ptr<PieceOutput> FilterTarget::open(const Piece& piece, const std::string& path) {
    auto output = std::make_unique<FilterOutput>(*this, piece, path);
    if (has_checksums_) return with_checksum(std::move(output));
    return output;
}

void FilterTarget::fail(const std::exception_ptr& failure) noexcept {
    MutexLock lock(mutex_);
    if (!failure_) failure_ = failure;
    lock.unlock();
    stop_.request();
}

void FilterTarget::throw_failure() {
    const MutexLock lock(mutex_);
    if (failure_) std::rethrow_exception(failure_);
}

}  // namespace cleave
