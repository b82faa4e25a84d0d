// The files of one run: made hidden, published under their names, and taken back together unless the run succeeds.
#pragma once

#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "cleave/input.h"
#include "cleave/split.h"
#include "io/output.h"

namespace cleave {

// Members may be called from several threads.
class PieceStore {
public:
    // `input` must not be overwritten.
    PieceStore(const FileIdentity& input, const SplitOptions& options);
    PieceStore(const PieceStore&) = delete;
    PieceStore& operator=(const PieceStore&) = delete;
    // Removes everything it has published or made, unless commit() was called.
    ~PieceStore();

    // Makes sure that the path can be given to a piece: its directory is there, or may be made, and nothing has its
    // name that may not be replaced. Throws std::system_error, OutputError, std::invalid_argument.
    void check(const std::string& path);

    // A hidden file that will have that path, for which check() was called, in a directory that is made if need be.
    // Throws std::system_error.
    TemporaryFile create(const std::string& path);

    // Throws std::system_error, OutputError.
    void publish(TemporaryFile file);

    // The run has succeeded: what is published stays.
    void commit() noexcept;

private:
    const Directory* find_directory(const std::string& path);
    void make_directories(const std::string& path);
    void check_name(const Directory& directory, const std::string& name) const;

    FileIdentity input_;
    bool replace_;
    bool make_directories_;
    std::mutex mutex_;
    std::map<std::string, Directory> directories_;  // by path
    std::vector<std::string> made_directories_;     // outermost first
    std::deque<PublishedFile> published_;
};

}  // namespace cleave
