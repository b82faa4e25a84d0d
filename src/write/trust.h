// Whether other users could change what a run relies on: files that it finds and keeps, and folders that it finds and
// puts pieces into. It does not judge the output folder, which the user has named. Those who can change that folder can
// replace everything in it, so they are no reason to refuse a file or a folder there. On a file system without owners
// and modes that is everybody.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <string>

#include "cleave/input.h"

namespace cleave {

// Trusts the caller (the effective user), root, and the owners of the input and of the output folder. Any thread.
class Trust {
public:
    // `has_rules`: the pieces are not what their readers could read in the input.
    Trust(const FileIdentity& input, bool has_rules) : input_(input), has_rules_(has_rules) {}

    // The output folder. To be called once it is there, by one thread, before the members below.
    void set_output_folder(const struct stat& status);

    // Why a file must not stay as a piece, although it has the bytes of one: somebody else owns it, or may write to it
    // and neither to the input nor to the output folder. Null if it may stay.
    const char* doubt_of(const FileIdentity& file) const;

    // Whether the folder is there. `name` counts from the directory with the descriptor `at`; `shown` is its path in
    // messages. Throws OutputError if somebody else, who may not read the input, owns it or a link that leads to it, or
    // can write to it and not to the output folder, unless it is sticky; under rules, whatever they may read. Throws
    // std::system_error, also for anything but a folder.
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
