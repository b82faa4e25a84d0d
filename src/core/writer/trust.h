// Decides whether other users could change what a run relies on: files that it finds and keeps, and folders that it
// finds and puts pieces into. The output folder, which the user has named, is not checked. A user who can change that
// folder can replace everything in it anyway, so no file or folder in it is refused because of such a user. On a file
// system without owners and modes, that is every user.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <string>

#include "cleave/input.h"

namespace cleave {

// Trusts the caller (the effective user), root, and the owners of the input and of the output folder. Any thread.
class Trust {
public:
    // `has_rules` says that the pieces differ from what their readers could read in the input.
    Trust(const FileIdentity& input, bool has_rules) : input_(input), has_rules_(has_rules) {}

    // Sets the output folder. One thread calls this, once the folder exists and before the members below are called.
    void set_output_folder(const struct stat& status);

    // Returns why a file must not stay as a piece although it has the right bytes: another user owns it, or may write
    // to it but neither to the input nor to the output folder. Returns null if it may stay.
    const char* doubt_of(const FileIdentity& file) const;

    // Whether the folder exists. `name` is relative to the directory with the descriptor `at`; `shown` is its path in
    // messages. Throws OutputError if a user who may not read the input (with rules: any other user) owns the folder or
    // a link that leads to it, or can write to it but not to the output folder, unless it is sticky. Throws
    // SystemError, also for anything but a folder.
    bool has_folder(int at, const std::string& name, const std::string& shown) const;

private:
    bool is_trusted(uid_t owner) const;
    void require_folder(uid_t owner, mode_t mode, const std::string& shown) const;

    FileIdentity input_;
    bool has_rules_;
    uid_t folder_owner_ = 0;  // of the output folder
    mode_t folder_open_ = 0;  // S_IWGRP and S_IWOTH, if these can change it
};

}  // namespace cleave
