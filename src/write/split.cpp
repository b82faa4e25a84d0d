#include "cleave/split.h"

#include <map>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "io/spill.h"
#include "plan/contract.h"
#include "scan/parallel.h"
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

    void finished(const Piece& piece, std::string path) {
        const std::lock_guard lock(mutex_);
        waiting_.emplace(piece.number, std::pair(piece, std::move(path)));
        for (; !waiting_.empty() && waiting_.begin()->first == next_; ++next_) {
            const auto node = waiting_.extract(waiting_.begin());
            if (options_.meter != nullptr) ++options_.meter->pieces;
            options_.finished(node.mapped().first, node.mapped().second);
        }
    }

private:
    const SplitOptions& options_;
    std::mutex mutex_;
    std::map<std::uint64_t, std::pair<Piece, std::string>> waiting_;  // by number
    std::uint64_t next_ = 1;
};

// The descriptors that a piece on its way to a command needs: both ends of a pipe, and the process.
constexpr std::uint64_t kDescriptorsOfFilter = 3;

bool makes_files(const SplitOptions& options) { return options.filter.empty(); }

// `header_size` is that of a header which is known beforehand.
std::unique_ptr<PieceTarget> make_target(const Input& input, HeaderMode header, std::uint64_t header_size,
                                         const PieceNamer& namer, const SplitOptions& options) {
    if (!makes_files(options)) return std::make_unique<FilterTarget>(options.filter, input.cancellation());
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

// Hands on the pieces that cut_stream() tells of.
class StreamSink : public PieceSink {
public:
    StreamSink(HeaderMode mode, const PieceNamer& namer, Feed& feed, Meter* meter)
        : mode_(mode), namer_(namer), feed_(feed), meter_(meter) {}

    void header(std::span<const std::uint8_t> bytes) override {
        if (mode_ != HeaderMode::kDrop) header_.append(bytes);
    }

    void begin(const Piece& piece) override {
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

    void end(const Piece& piece) override { feed_.end(piece); }

private:
    HeaderMode mode_;
    const PieceNamer& namer_;
    Feed& feed_;
    Meter* meter_;
    SpillBuffer header_;
};

}  // namespace

void check_split(const Input& input, std::span<const Piece> pieces, HeaderMode header, std::uint64_t header_size,
                 const PieceNamer& namer, const SplitOptions& options) {
    check(options);
    if (input.is_mapped()) check(input, pieces, header_size);
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
    parallel_for(pieces.size(), threads, [&](std::size_t i) {
        const Piece& piece = pieces[i];
        if (are_there[i] == 0) {
            const std::unique_ptr<PieceOutput> output = target->open(piece, paths[i]);
            const auto written_header = input.bytes().first(header_size_in(header, piece.number, header_size));
            output->write(written_header);
            output->write_body(input, piece, written_header.size(), options.meter);
            output->finish(piece);
        } else if (options.meter != nullptr) {
            options.meter->written += piece.length;
        }
        report.finished(piece, std::move(paths[i]));
    });
    const bool is_checkable = options.is_same_plan != nullptr;
    if (is_checkable && input.accept_touch() &&
        !(options.is_same_plan() && target->hold(pieces, names_of(pieces, namer)))) {
        throw InputChangedError();
    }
    input.throw_if_changed();
    conclude(*target, options);
} catch (const std::exception&) {
    input.rethrow();
}

void split_stream(Input& input, const Dialect& dialect, const Machine& machine, const Policy& policy,
                  const PieceNamer& namer, const SplitOptions& options,
                  const std::function<void(const Findings&)>& accept) try {
    checked(policy);
    check(options);
    if (input.is_mapped()) throw std::invalid_argument("split: a mapped input is no stream; see split_mapped()");
    if (!accept) throw std::invalid_argument("split: accept is an empty function");
    std::unique_ptr<PieceTarget> target;
    if (makes_files(options)) {
        target = std::make_unique<FileTarget>(input, policy.header, 0, namer, options);
    } else {
        target = std::make_unique<FilterTarget>(options.filter, input.cancellation());
    }
    target->prepare({}, {});
    // Plain files are written as fast as a stream can be read.
    const bool is_plain = makes_files(options) && options.compression.format == Compression::kNone;
    const unsigned threads = is_plain ? 1 : threads_within(options.threads, kDescriptorsOfFilter);
    InOrder report(options);
    const auto feed =
        make_feed(*target, threads, [&](const Piece& piece, const std::string& path) { report.finished(piece, path); });
    StreamSink sink(policy.header, namer, *feed, options.meter);
    const Findings findings = cut_stream(input, dialect, machine, policy, sink);
    input.throw_if_changed();
    accept(findings);  // before commands are waited for that have got a malformed piece
    feed->finish();
    conclude(*target, options);
} catch (const std::exception&) {
    input.rethrow();
}

}  // namespace cleave
