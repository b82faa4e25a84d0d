#include "cleave/split.h"

#include <algorithm>
#include <unordered_set>
#include <vector>

#include "io/spill.h"
#include "scan/parallel.h"
#include "write/clone.h"
#include "write/piece_store.h"

namespace cleave {
namespace {

// Reports pieces in order however they finish.
class InOrder {
public:
    InOrder(std::span<const Piece> pieces, const SplitOptions& options) : pieces_(pieces), options_(options) {
        paths_.resize(pieces.size());
    }

    void finished(std::size_t i, std::string path) {
        const std::lock_guard lock(mutex_);
        paths_[i] = std::move(path);
        for (; next_ < paths_.size() && !paths_[next_].empty(); ++next_) {
            options_.finished(pieces_[next_], std::exchange(paths_[next_], {}));
        }
    }

private:
    std::span<const Piece> pieces_;
    const SplitOptions& options_;
    std::mutex mutex_;
    std::vector<std::string> paths_;
    std::size_t next_ = 0;
};

// Making small pieces is mostly work on their directory, which the system lets one thread do at a time: more of them
// only wait for each other. With two threads, pieces of 10 KB took 1.5 times as long, of 100 KB 0.8 times (tmpfs, Zen
// 3, 2026-11).
unsigned threads_for(std::span<const Piece> pieces, unsigned threads) {
    constexpr std::uint64_t kLeastMeanSize = std::uint64_t{64} << 10;
    if (pieces.empty()) return 1;
    // Each thread has a file open; so many descriptors more are enough for everything else.
    constexpr std::uint64_t kOtherDescriptors = 15;
    const std::uint64_t limit = std::max(descriptor_limit(), kOtherDescriptors + 1) - kOtherDescriptors;
    threads = static_cast<unsigned>(std::min<std::uint64_t>(threads, limit));
    const std::uint64_t size = pieces.back().start + pieces.back().length - pieces.front().start;
    return size / pieces.size() < kLeastMeanSize ? 1 : threads;
}

// What is written of the piece.
struct PieceBytes {
    std::span<const std::uint8_t> header, body;
};

PieceBytes bytes_of(const Input& input, const Piece& piece, HeaderMode mode, std::uint64_t header_size) {
    return {input.bytes().first(header_size_in(mode, piece.number, header_size)),
            input.bytes().subspan(piece.start, piece.length)};
}

// Returns which pieces have a file of their name that may be the piece.
std::vector<char> check_all(std::span<const Piece> pieces, HeaderMode header, std::uint64_t header_size,
                            const PieceNamer& namer, PieceStore& store, const Cloner& cloner) {
    store.check_manifest();
    std::vector<char> present(pieces.size());
    std::unordered_set<std::string> names;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        const std::string path = namer.name(pieces[i]);
        if (!names.insert(path).second) {
            throw std::invalid_argument("the output template gives two pieces the name '" + path + "'");
        }
        present[i] = store.check(path) ? 1 : 0;
        cloner.check(pieces[i], header_size_in(header, pieces[i].number, header_size), path);
    }
    return present;
}

// Writes the pieces that a StreamCutter tells of.
class FileSink : public PieceSink {
public:
    FileSink(HeaderMode mode, const PieceNamer& namer, PieceStore& store, const SplitOptions& options)
        : mode_(mode), namer_(namer), store_(store), options_(options) {}

    void header(std::span<const std::uint8_t> bytes) override {
        if (mode_ != HeaderMode::kDrop) header_.append(bytes);
    }

    void begin(const Piece& piece) override {
        path_ = namer_.name(piece);
        is_present_ = store_.check(path_);
        file_.emplace(store_.create(path_));
        if (header_size_in(mode_, piece.number, header_.size()) > 0) {
            header_.for_each_part([this](std::span<const std::uint8_t> bytes) { body(bytes); });
        }
        if (mode_ == HeaderMode::kFirst) header_.clear();
    }

    void body(std::span<const std::uint8_t> bytes) override { write_all(file_->descriptor(), bytes, path_); }

    void end(const Piece& piece) override {
        store_.publish(piece, std::move(*file_), is_present_);
        file_.reset();
        options_.finished(piece, path_);
    }

private:
    HeaderMode mode_;
    const PieceNamer& namer_;
    PieceStore& store_;
    const SplitOptions& options_;
    SpillBuffer header_;
    std::string path_;
    bool is_present_ = false;  // a file that may be the piece
    std::optional<TemporaryFile> file_;
};

}  // namespace

void check_split(const Input& input, std::span<const Piece> pieces, HeaderMode header, std::uint64_t header_size,
                 const PieceNamer& namer, const SplitOptions& options) {
    PieceStore store(input, namer, options);
    check_all(pieces, header, header_size, namer, store, Cloner(input, options.clone));
}

void split_mapped(const Input& input, std::span<const Piece> pieces, HeaderMode header, std::uint64_t header_size,
                  const PieceNamer& namer, const SplitOptions& options) try {
    PieceStore store(input, namer, options);
    store.begin();
    Cloner cloner(input, options.clone);
    std::vector<char> present = check_all(pieces, header, header_size, namer, store, cloner);
    const unsigned threads = threads_for(pieces, options.threads);
    parallel_for(pieces.size(), threads, [&](std::size_t i) {
        if (present[i] == 0) return;
        const PieceBytes bytes = bytes_of(input, pieces[i], header, header_size);
        const std::span<const std::uint8_t> parts[] = {bytes.header, bytes.body};
        present[i] = store.holds(pieces[i], namer.name(pieces[i]), parts) ? 1 : 0;
    });
    InOrder report(pieces, options);
    parallel_for(pieces.size(), threads, [&](std::size_t i) {
        const Piece& piece = pieces[i];
        std::string path = namer.name(piece);
        if (present[i] == 0) {
            TemporaryFile file = store.create(path);
            const PieceBytes bytes = bytes_of(input, piece, header, header_size);
            write_all(file.descriptor(), bytes.header, path, input.cancellation());
            cloner.write_body(piece, bytes.header.size(), file.descriptor(), path);
            store.publish(piece, std::move(file), false);
        }
        report.finished(i, std::move(path));
    });
    input.throw_if_changed();
    store.commit();
} catch (const std::exception&) {
    input.rethrow();
}

void split_stream(Input& input, const Dialect& dialect, const Machine& machine, const Policy& policy,
                  const PieceNamer& namer, const SplitOptions& options,
                  const std::function<void(const Findings&)>& accept) try {
    PieceStore store(input, namer, options);
    store.begin();
    store.check_manifest();
    FileSink sink(policy.header, namer, store, options);
    const Findings findings = cut_stream(input, dialect, machine, policy, sink);
    input.throw_if_changed();
    accept(findings);
    store.commit();
} catch (const std::exception&) {
    input.rethrow();
}

}  // namespace cleave
