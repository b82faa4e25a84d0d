// Collects what is known about the files of pieces once they are written, for a report that lists them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "base/content_hash.h"
#include "base/mutex.h"
#include "core/writer/file_watcher.h"

namespace cleave {

struct WrittenFile {
    std::string path;
    ContentDigest content;  // of the file: of compressed bytes, if it is compressed
    std::uint64_t records = 0;
};

// Members may be called from any thread.
class WrittenFiles final : public FileWatchers {
public:
    std::unique_ptr<FileWatcher> watch() override { return std::make_unique<Watcher>(*this); }

    // Call this when all pieces are written. By the number of the piece.
    std::map<std::uint64_t, WrittenFile> take() {
        const MutexLock lock(mutex_);
        return std::move(files_);
    }

private:
    class Watcher final : public FileWatcher {
    public:
        explicit Watcher(WrittenFiles& files) : files_(files) {}
        void add(std::span<const std::uint8_t> bytes) override { hash_.add(bytes); }
        void finish(const Piece& piece, const std::string& path) override {
            files_.add(piece.number, {path, hash_.digest(), piece.records});
        }

    private:
        WrittenFiles& files_;
        ContentHash hash_;
    };

    void add(std::uint64_t piece, WrittenFile file) {
        const MutexLock lock(mutex_);
        files_.emplace(piece, std::move(file));
    }

    Mutex mutex_;
    std::map<std::uint64_t, WrittenFile> files_ CLEAVE_GUARDED_BY(mutex_);
};

}  // namespace cleave
