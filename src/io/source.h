// An open file or pipe that is read, and what tells whether it is still what it was. Knows no CSV.
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

    // Both throw what Input::throw_if_changed() does. `has_lost` says whether some of what was read was zeros in place
    // of bytes that could not be read.
    void throw_if_changed(bool has_lost) const;
    bool is_unchanged(bool has_lost) const noexcept;

    // As Input::accept_touch(), if nothing was lost.
    bool accept_touch();

private:
    enum class Trust : std::uint8_t { kGood, kShortened, kGrown, kChanged, kUnreadable };

    FileChange change(bool has_lost) const noexcept;
    Trust trust(bool has_lost) const noexcept;
};

}  // namespace cleave
