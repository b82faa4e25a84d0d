// Pieces as files: shared with the input, copied, or compressed.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/helpers.h"
#include "cleave/names.h"
#include "cleave/output.h"
#include "core/writer/clone.h"
#include "core/writer/file_watcher.h"
#include "core/writer/piece_store.h"
#include "core/writer/piece_target.h"

namespace cleave {

class FileTarget : public PieceTarget {
public:
    // At most `threads` threads compare existing files with pieces, and at most as many compress. `has_rules`: see
    // Trust. `watchers`, if not null, see each file as it is written. What the arguments refer to must outlive the
    // target.
    FileTarget(const Input& input, const PieceNamer& namer, const OutputOptions& options, unsigned threads,
               bool has_rules, FileWatchers* watchers = nullptr);

    // A dry run calls these instead of prepare(), open() and seal(). They throw what those functions throw about names
    // and existing files, and write nothing.
    std::vector<char> compare(std::span<const Piece> pieces, const NameList& paths, const PartsOf& parts_of);
    std::unique_ptr<PieceOutput> open_compared(const Piece& piece, const std::string& path);
    void check_access() const { store_.check_access(); }
    void check_texts(const SideTexts& texts) const { store_.check_texts(texts.report, texts.manifest); }

    // Throws what PieceStore's begin(), check() and holds() do, and CloneError.
    std::vector<char> prepare(std::span<const Piece> pieces, const NameList& paths, const PartsOf& parts_of) override;
    std::unique_ptr<PieceOutput> open(const Piece& piece, const std::string& path) override;
    // Compressing, checksumming and watching need the bytes in order.
    bool takes_any_order() const noexcept override {
        return options_.compression.format == Compression::kNone && !options_.checksum && watchers_ == nullptr;
    }
    bool match_input(std::span<const Piece> pieces, const NameList& paths, const PartsOf& parts_of) override;
    const Cancellation* cancellation() const noexcept override { return input_.cancellation(); }
    void keep_nothing() noexcept override { store_.keep_nothing(); }
    void seal(const SideTexts& texts) override { store_.seal(texts.report, texts.manifest); }
    void commit() noexcept override { store_.commit(); }

private:
    std::vector<char> check(std::span<const Piece> pieces, const NameList& paths, const PartsOf& parts_of);
    bool may_be_there(const Piece& piece, const std::string& path);

    const Input& input_;
    const OutputOptions& options_;
    unsigned threads_;
    FileWatchers* watchers_;  // may be null
    Helpers helpers_;         // for the threads that compress pieces
    PieceStore store_;
    std::unique_ptr<Cloner> cloner_;  // for a blob, if the pieces are not compressed
    std::vector<char> may_be_there_;  // for each piece, if all are known beforehand
};

}  // namespace cleave
