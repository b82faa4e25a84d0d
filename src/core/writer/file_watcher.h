// Who sees the files of pieces as they are written.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "cleave/plan.h"

namespace cleave {

// Of one file. For one thread at a time.
class FileWatcher {
public:
    FileWatcher() = default;
    FileWatcher(const FileWatcher&) = delete;
    FileWatcher& operator=(const FileWatcher&) = delete;
    virtual ~FileWatcher() = default;

    // The next bytes of the file: compressed ones, if it is compressed.
    virtual void add(std::span<const std::uint8_t> bytes) = 0;
    // The file has all bytes of the piece.
    virtual void finish(const Piece& piece, const std::string& path) = 0;
};

// Any thread may call it.
class FileWatchers {
public:
    FileWatchers() = default;
    FileWatchers(const FileWatchers&) = delete;
    FileWatchers& operator=(const FileWatchers&) = delete;
    virtual ~FileWatchers() = default;

    virtual std::unique_ptr<FileWatcher> watch() = 0;
};

}  // namespace cleave
