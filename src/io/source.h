// An open file or pipe, and whether it has changed since it was opened. Knows no CSV.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>

#include "io/fd.h"
#include "io/file_version.h"

namespace cleave {

struct Source {
    Fd file;
    std::string name;                    // in messages
    struct stat status;                  // when it was opened
    std::uint64_t offset = 0;            // where in the file reading begins
    std::optional<FileVersion> version;  // of a file that others can change
    bool is_snapshot = false;            // appended bytes are no change

    // As the members of Input of these names. `has_lost`: some bytes could not be read and were zeros instead.
    void throw_if_changed(bool has_lost) const;
    bool is_unchanged(bool has_lost) const noexcept;

    // As Input::accept_touch(), of a blob of which nothing was lost.
    bool accept_touch();

private:
    enum class Trust : std::uint8_t { kGood, kShortened, kGrown, kChanged, kUnreadable };

    FileChange change() const noexcept;
    Trust trust(FileChange change, bool has_lost) const noexcept;
    void judge(FileChange change, bool has_lost) const;
};

}  // namespace cleave
