#include "core/writer/file_target.h"

#include <atomic>
#include <memory>
#include <optional>
#include <utility>

#include "base/parallel.h"
#include "cleave/error.h"
#include "core/reader/fd.h"
#include "core/writer/checksum.h"
#include "core/writer/compared_output.h"
#include "core/writer/encoder.h"
#include "core/writer/threads.h"

namespace cleave {
namespace {

class FileOutput : public PieceOutput {
public:
    // `is_present` says that an existing file may already be the piece. `watchers` may be null.
    FileOutput(PieceStore& store, const std::string& path, bool is_present, Cloner* cloner, FileWatchers* watchers,
               const CompressionOptions& compression, Helpers& helpers, const Cancellation* cancellation)
        : store_(store),
          is_present_(is_present),
          cloner_(cloner),
          cancellation_(cancellation),
          watcher_(watchers != nullptr ? watchers->watch() : nullptr),
          file_(store.create(path)) {
        if (compression.format != Compression::kNone) encoder_ = make_encoder(compression, &helpers, cancellation);
    }

    void write(std::span<const std::uint8_t> bytes) override {
        if (encoder_) {
            encoder_->encode(bytes, [this](std::span<const std::uint8_t> part) { put(part); });
        } else {
            put(bytes);
        }
    }

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
        PieceResult result;
        if (encoder_) {
            encoder_->finish([this](std::span<const std::uint8_t> part) { put(part); });
            result.stored = written_;
        }
        if (watcher_) watcher_->finish(piece, file_.path());
        store_.publish(piece, std::move(file_), is_present_);
        return result;
    }

private:
    void put(std::span<const std::uint8_t> bytes) {
        if (watcher_) watcher_->add(bytes);
        write_all(file_.descriptor(), bytes, file_.path(), cancellation_);
        written_ += bytes.size();
    }

    PieceStore& store_;
    bool is_present_;
    Cloner* cloner_;
    const Cancellation* cancellation_;
    std::unique_ptr<FileWatcher> watcher_;
    TemporaryFile file_;
    std::unique_ptr<Encoder> encoder_;
    std::uint64_t written_ = 0;  // bytes of the file, counted in put()
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
    return make_compared_output(store_, path, options_.compression, helpers_, input_.cancellation());
}

std::unique_ptr<PieceOutput> FileTarget::open(const Piece& piece, const std::string& path) {
    auto output = std::make_unique<FileOutput>(store_, path, may_be_there(piece, path), cloner_.get(), watchers_,
                                               options_.compression, helpers_, input_.cancellation());
    if (options_.checksum) return with_checksum(std::move(output));
    return output;
}

}  // namespace cleave
