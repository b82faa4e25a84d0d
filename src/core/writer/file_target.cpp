#include "core/writer/file_target.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "base/parallel.h"
#include "cleave/error.h"
#include "core/reader/fd.h"
#include "core/writer/checksum.h"
#include "core/writer/encoder.h"
#include "core/writer/threads.h"

namespace cleave {
namespace {

constexpr std::size_t kComparedAtOnce = std::size_t{64} << 10;

// Compresses the bytes of a piece, if it is compressed, on their way to put().
class EncodedOutput : public PieceOutput {
public:
    void write(std::span<const std::uint8_t> bytes) final {
        if (encoder_) {
            encoder_->encode(bytes, [this](std::span<const std::uint8_t> part) { take(part); });
        } else {
            take(bytes);
        }
    }

protected:
    EncodedOutput(const CompressionOptions& compression, Helpers& helpers, const Cancellation* cancellation) {
        if (compression.format != Compression::kNone) encoder_ = make_encoder(compression, &helpers, cancellation);
    }

    // The next bytes of the file, after written() others.
    virtual void put(std::span<const std::uint8_t> bytes) = 0;
    std::uint64_t written() const { return written_; }

    // Call it once all bytes are written.
    PieceResult finish_encoding() {
        PieceResult result;
        if (encoder_) {
            encoder_->finish([this](std::span<const std::uint8_t> part) { take(part); });
            result.stored = written_;
        }
        return result;
    }

private:
    void take(std::span<const std::uint8_t> bytes) {
        put(bytes);
        written_ += bytes.size();
    }

    std::unique_ptr<Encoder> encoder_;
    std::uint64_t written_ = 0;
};

class FileOutput final : public EncodedOutput {
public:
    // `is_present` says that an existing file may already be the piece. `watchers` may be null.
    FileOutput(PieceStore& store, const std::string& path, bool is_present, Cloner* cloner, FileWatchers* watchers,
               const CompressionOptions& compression, Helpers& helpers, const Cancellation* cancellation)
        : EncodedOutput(compression, helpers, cancellation),
          store_(store),
          is_present_(is_present),
          cloner_(cloner),
          cancellation_(cancellation),
          watcher_(watchers != nullptr ? watchers->watch() : nullptr),
          file_(store.create(path)) {}

    void write_at(std::uint64_t offset, std::span<const std::uint8_t> bytes) override {
        write_all_at(file_.descriptor(), offset, bytes, file_.path(), cancellation_);
    }

    void write_body(const Input& input, const Piece& piece, std::uint64_t header_size, Meter* meter) override {
        if (cloner_ != nullptr && !watcher_) {
            cloner_->write_body(piece, header_size, file_.descriptor(), file_.path(), meter);
        } else {
            PieceOutput::write_body(input, piece, header_size, meter);
        }
    }

    PieceResult finish(const Piece& piece) override {
        const PieceResult result = finish_encoding();
        if (watcher_) watcher_->finish(piece, file_.path());
        store_.publish(piece, std::move(file_), is_present_);
        return result;
    }

protected:
    void put(std::span<const std::uint8_t> bytes) override {
        if (watcher_) watcher_->add(bytes);
        write_all(file_.descriptor(), bytes, file_.path(), cancellation_);
    }

private:
    PieceStore& store_;
    bool is_present_;
    Cloner* cloner_;
    const Cancellation* cancellation_;
    std::unique_ptr<FileWatcher> watcher_;
    TemporaryFile file_;
};

// A piece of a dry run that resumes: compares its bytes with an existing file.
class ComparedOutput final : public EncodedOutput {
public:
    // Precondition: `store.check(path)` returned true. finish() throws OtherPieceError if the file is not the piece.
    ComparedOutput(const PieceStore& store, std::string path, const CompressionOptions& compression, Helpers& helpers,
                   const Cancellation* cancellation)
        : EncodedOutput(compression, helpers, cancellation),
          store_(store),
          path_(std::move(path)),
          file_(store.open_present(path_)),
          is_same_(file_.is_open()) {}

    PieceResult finish(const Piece& piece) override {
        const PieceResult result = finish_encoding();
        std::optional<FileIdentity> present;
        if (is_same_) {
            const struct stat status = stat_of(file_.get(), path_);
            if (std::cmp_equal(status.st_size, written())) present = identity_of(status);
        }
        store_.require_piece(present, piece, path_);
        return result;
    }

protected:
    void put(std::span<const std::uint8_t> bytes) override {
        for (std::size_t done = 0; is_same_ && done < bytes.size();) {
            const auto part = bytes.subspan(done, std::min(kComparedAtOnce, bytes.size() - done));
            there_.resize(part.size());
            is_same_ = read_at(file_.get(), written() + done, there_, path_) == part.size() &&
                       std::memcmp(there_.data(), part.data(), part.size()) == 0;
            done += part.size();
        }
    }

private:
    const PieceStore& store_;
    std::string path_;
    Fd file_;
    bool is_same_;  // so far
    std::vector<std::uint8_t> there_;
};

}  // namespace

FileTarget::FileTarget(const Input& input, const PieceNamer& namer, const OutputOptions& options, unsigned threads,
                       bool has_rules, FileWatchers* watchers)
    : input_(input),
      options_(options),
      threads_(threads),
      watchers_(watchers),
      helpers_(threads),
      store_(input, namer, options, has_rules) {
    if (!input.is_stream() && options.compression.format == Compression::kNone) {
        cloner_ = std::make_unique<Cloner>(input, options.clone);
    }
}

// Returns 1 for each name that belongs to an existing file that may be the piece.
std::vector<char> FileTarget::check(std::span<const Piece> pieces, const NameList& paths, const PartsOf& parts_of) {
    store_.check_side_files();
    refuse_equal_names(paths);
    std::vector<char> may_be_there(paths.size());
    store_.expect_checks(paths.size());
    for (std::size_t i = 0; i < paths.size(); ++i) {
        const std::string path = paths[i];
        if (const char* what = store_.side_file_at(path)) {
            throw ArgumentError("the " + std::string(what) + " and piece " +
                                std::to_string(pieces.empty() ? i + 1 : pieces[i].number) + " have the same name '" +
                                path + "'");
        }
        may_be_there[i] = store_.check(path) ? 1 : 0;
        if (options_.clone == CloneMode::kAlways && cloner_ && !pieces.empty()) {
            PartsRoom room;
            cloner_->check(pieces[i], parts_of(pieces[i], room).front().size, path);
        }
    }
    return may_be_there;
}

std::vector<char> FileTarget::prepare(std::span<const Piece> pieces, const NameList& paths, const PartsOf& parts_of) {
    store_.begin();
    return compare(pieces, paths, parts_of);
}

std::vector<char> FileTarget::compare(std::span<const Piece> pieces, const NameList& paths, const PartsOf& parts_of) {
    may_be_there_ = check(pieces, paths, parts_of);
    std::vector<char> are_there(pieces.size());
    // The bytes of a compressed piece are not known until it has been compressed.
    if (!cloner_ || pieces.empty()) return are_there;
    parallel_for(pieces.size(), threads_for(pieces, threads_), [&](std::size_t i) {
        PartsRoom room;
        if (may_be_there_[i] != 0 && store_.holds(pieces[i], paths[i], parts_of(pieces[i], room))) are_there[i] = 1;
        may_be_there_[i] = 0;
    });
    return are_there;
}

bool FileTarget::match_input(std::span<const Piece> pieces, const NameList& paths, const PartsOf& parts_of) {
    if (!cloner_) return false;
    std::atomic<bool> all = true;
    parallel_for(pieces.size(), threads_for(pieces, threads_), [&](std::size_t i) {
        PartsRoom room;
        if (all && !store_.has_content(paths[i], parts_of(pieces[i], room))) all = false;
    });
    return all;
}

bool FileTarget::may_be_there(const Piece& piece, const std::string& path) {
    if (!may_be_there_.empty()) return may_be_there_[piece.number - 1] != 0;
    const char* what = store_.side_file_at(path);
    if (what != nullptr) throw OutputError(path, "is also the name of the " + std::string(what));
    return store_.check(path);
}

std::unique_ptr<PieceOutput> FileTarget::open_compared(const Piece& piece, const std::string& path) {
    if (!may_be_there(piece, path) || options_.replace) return std::make_unique<NullOutput>();
    return std::make_unique<ComparedOutput>(store_, path, options_.compression, helpers_, input_.cancellation());
}

std::unique_ptr<PieceOutput> FileTarget::open(const Piece& piece, const std::string& path) {
    auto output = std::make_unique<FileOutput>(store_, path, may_be_there(piece, path), cloner_.get(), watchers_,
                                               options_.compression, helpers_, input_.cancellation());
    if (options_.checksum) return with_checksum(std::move(output));
    return output;
}

}  // namespace cleave
