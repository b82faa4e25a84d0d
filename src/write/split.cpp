#include "cleave/split.h"

#include <map>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "io/copy.h"
#include "io/spill.h"
#include "plan/contract.h"
#include "write/checksum.h"
#include "write/contract.h"
#include "write/feed.h"
#include "write/file_target.h"
#include "write/filter_target.h"
#include "write/threads.h"

namespace cleave {
namespace {

// Reports pieces in order however they finish. Any thread.
class InOrder {
public:
    explicit InOrder(const SplitOptions& options) : options_(options) {}

    void finished(const Piece& piece, std::string path, const PieceResult& result) {
        const std::scoped_lock lock(mutex_);
        waiting_.emplace(piece.number, Report{piece, std::move(path), result});
        for (; !waiting_.empty() && waiting_.begin()->first == next_; ++next_) {
            const auto node = waiting_.extract(waiting_.begin());
            if (options_.meter != nullptr) ++options_.meter->pieces;
            options_.finished(node.mapped().piece, node.mapped().path, node.mapped().result);
        }
    }

private:
    struct Report {
        Piece piece;
        std::string path;
        PieceResult result;
    };

    const SplitOptions& options_;
    std::mutex mutex_;
    std::map<std::uint64_t, Report> waiting_;  // by number
    std::uint64_t next_ = 1;
};

// The descriptors that starting a command needs: both ends of a pipe and of a control socket.
constexpr std::uint64_t kDescriptorsOfFilter = 4;

bool makes_files(const SplitOptions& options) { return options.filter.empty(); }

// `header_size` is that of a header which is known beforehand.
std::unique_ptr<PieceTarget> make_target(const Input& input, HeaderMode header, std::uint64_t header_size,
                                         const PieceNamer& namer, const SplitOptions& options) {
    if (!makes_files(options)) return std::make_unique<FilterTarget>(input, options);
    return std::make_unique<FileTarget>(input, header, header_size, namer, options);
}

// How many threads there are to be, if each piece has to pass through a command or an encoder.
std::optional<unsigned> threads_to_work(const SplitOptions& options) {
    if (makes_files(options) && options.compression.format == Compression::kNone) return std::nullopt;
    return threads_within(options.threads, kDescriptorsOfFilter);
}

// All pieces are finished. Whatever can fail comes before the commit.
void conclude(PieceTarget& target, const SplitOptions& options) {
    target.seal();
    options.concluded();
    target.commit();
}

std::vector<std::string> names_of(std::span<const Piece> pieces, const PieceNamer& namer) {
    std::vector<std::string> names;
    names.reserve(pieces.size());
    for (const Piece& piece : pieces) names.push_back(namer.name(piece));
    return names;
}

// Whether finished pieces can be compared with the input. The bytes of a stream are gone. A checksum may be that of
// bytes that were different for a moment.
bool is_checkable(const Input& input, const SplitOptions& options) {
    return !input.is_stream() && makes_files(options) && options.is_same_plan && !options.checksum;
}

// The names of the pieces of an input that is cut as it is read, if they do not depend on where the cuts are.
std::vector<std::string> names_known_beforehand(const Policy& policy, const PieceNamer& namer) {
    std::vector<std::string> names;
    if (!policy.pieces || namer.needs_place()) return names;
    for (Piece piece; piece.number <= *policy.pieces; ++piece.number) names.push_back(namer.name(piece));
    return names;
}

// All pieces are made. Throws what Input::throw_if_changed() does. If nothing has changed but the time of the last
// status change, the pieces are compared with the input; then InputChangedError if they differ.
void throw_if_changed(const Input& input, PieceTarget& target, std::span<const Piece> pieces, const PieceNamer& namer,
                      const SplitOptions& options) {
    if (is_checkable(input, options) && input.accept_touch() &&
        !(options.is_same_plan() && target.hold(pieces, names_of(pieces, namer)))) {
        throw InputChangedError();
    }
    input.throw_if_changed();
}

// Hands on the pieces that cut_stream() makes.
class StreamSink : public PieceSink {
public:
    // The pieces are added to `pieces`, unless it is null.
    StreamSink(HeaderMode mode, const PieceNamer& namer, Feed& feed, Meter* meter, std::vector<Piece>* pieces)
        : mode_(mode), namer_(namer), feed_(feed), meter_(meter), pieces_(pieces) {}

    void header(std::span<const std::uint8_t> bytes) override {
        if (mode_ != HeaderMode::kDrop) header_.append(bytes);
    }

    void begin(const Piece& piece) override {
        end_last();
        feed_.begin(piece, namer_.name(piece));
        if (header_size_in(mode_, piece.number, header_.size()) > 0) {
            header_.for_each_part([this](std::span<const std::uint8_t> bytes) { feed_.write(bytes); });
        }
        if (mode_ == HeaderMode::kFirst) header_.clear();
    }

    void body(std::span<const std::uint8_t> bytes) override {
        feed_.write(bytes);
        if (meter_ != nullptr) meter_->written += bytes.size();
    }

    // The end of the last piece is held back until the input is known to be good: a command takes it for success.
    void end(const Piece& piece) override {
        ended_ = piece;
        if (pieces_ != nullptr) pieces_->push_back(piece);
    }
    void end_last() {
        if (const auto piece = std::exchange(ended_, std::nullopt)) feed_.end(*piece);
    }

private:
    HeaderMode mode_;
    const PieceNamer& namer_;
    Feed& feed_;
    Meter* meter_;
    std::vector<Piece>* pieces_;
    SpillBuffer header_;
    std::optional<Piece> ended_;  // feed_ does not know it yet
};

// While it lives, the input's waits end by the target's cancellation.
class StoppableInput {
public:
    StoppableInput(Input& input, const PieceTarget& target) : input_(input), before_(input.cancellation()) {
        input.set_cancellation(target.cancellation());
    }
    StoppableInput(const StoppableInput&) = delete;
    StoppableInput& operator=(const StoppableInput&) = delete;
    ~StoppableInput() { input_.set_cancellation(before_); }

private:
    Input& input_;
    const Cancellation* before_;
};

// Does `work`. If it was cancelled because the target has failed, throws the target's failure.
template <class Work>
void write_to(PieceTarget& target, const Work& work) {
    try {
        work();
    } catch (const Cancelled&) {
        target.throw_failure();
        throw;
    }
}

}  // namespace

void check_split(const Input& input, std::span<const Piece> pieces, HeaderMode header, std::uint64_t header_size,
                 const PieceNamer& namer, const SplitOptions& options) {
    check(options);
    if (!input.is_stream()) check(input, pieces, header_size);
    if (makes_files(options)) {
        FileTarget target(input, header, header_size, namer, options);
        target.check_access();
        target.check(pieces, names_of(pieces, namer));
    }
}

void split_mapped(const Input& input, std::span<const Piece> pieces, HeaderMode header, std::uint64_t header_size,
                  const PieceNamer& namer, const SplitOptions& options) try {
    check(options);
    check(input, pieces, header_size);
    const auto target = make_target(input, header, header_size, namer, options);
    const unsigned threads = threads_to_work(options).value_or(threads_for(pieces, options.threads));
    std::vector<std::string> paths = names_of(pieces, namer);
    const std::vector<char> are_there = target->prepare(pieces, paths);
    InOrder report(options);
    const auto write_piece = [&](std::size_t i) {
        const Piece& piece = pieces[i];
        PieceResult result;
        if (are_there[i] == 0 || options.checksum) {
            const std::unique_ptr<PieceOutput> output =
                are_there[i] == 0 ? target->open(piece, paths[i]) : make_checksum_only();
            const std::uint64_t written_header = header_size_in(header, piece.number, header_size);
            for_each_part(input.blob(), {0, written_header}, input.cancellation(),
                          [&](std::span<const std::uint8_t> bytes) { output->write(bytes); });
            output->write_body(input, piece, written_header, options.meter);
            result = output->finish(piece);
        } else if (options.meter != nullptr) {
            options.meter->written += piece.length;
        }
        report.finished(piece, std::move(paths[i]), result);
    };
    write_to(*target, [&] {
        parallel_for(pieces.size(), threads, [&](std::size_t i) {
            try {
                write_piece(i);
            } catch (const Cancelled&) {
                throw;
            } catch (const std::exception&) {  // the other pieces need not be finished any more
                target->fail(std::current_exception());
                throw;
            }
        });
    });
    throw_if_changed(input, *target, pieces, namer, options);
    conclude(*target, options);
} catch (const std::exception&) {
    input.rethrow();
}

void split_stream(Input& input, const Dialect& dialect, const Execution& execution, const Policy& policy,
                  const PieceNamer& namer, const SplitOptions& options,
                  const std::function<void(const Findings&)>& accept) try {
    checked(policy);
    check(options);
    if (!accept) throw std::invalid_argument("split: accept is an empty function");
    const std::unique_ptr<PieceTarget> target = make_target(input, policy.header, 0, namer, options);
    const StoppableInput stoppable(input, *target);
    target->prepare({}, names_known_beforehand(policy, namer));
    // Plain files are written as fast as a stream can be read.
    const bool is_plain = makes_files(options) && options.compression.format == Compression::kNone;
    const unsigned threads = is_plain ? 1 : threads_within(options.threads, kDescriptorsOfFilter);
    InOrder report(options);
    write_to(*target, [&] {
        const auto feed =
            make_feed(*target, threads, [&](const Piece& piece, const std::string& path, const PieceResult& result) {
                report.finished(piece, path, result);
            });
        std::vector<Piece> pieces;
        StreamSink sink(policy.header, namer, *feed, options.meter, is_checkable(input, options) ? &pieces : nullptr);
        const Findings findings = cut_stream(input, dialect, execution, policy, sink);
        if (!is_checkable(input, options)) input.throw_if_changed();
        accept(findings);
        sink.end_last();
        feed->finish();
        throw_if_changed(input, *target, pieces, namer, options);
    });
    conclude(*target, options);
} catch (const std::exception&) {
    input.rethrow();
}

}  // namespace cleave
