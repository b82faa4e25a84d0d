// Keys for tokens, loaded from where the user says. Never takes a key as text of a command line, and never shows one.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cleave/stage_error.h"

namespace cleave {

// A key that the program has already.
struct NamedKey {
    std::string name;
    std::span<const std::uint8_t> bytes;
};

// Keys by name. They lie in memory that is locked, left out of core dumps, empty in child processes, and wiped when
// the object is destroyed. Any thread may read a ring.
class KeyRing {
public:
    // Each source is NAME=WHERE. A name has letters, digits, `_`, `-` and `.`. A key has 32 bytes to 64 KiB, taken as
    // they are, a line end included. WHERE is
    //   file:PATH   A regular file or a pipe, of the caller or root. Other users must have no right to it, and its
    //               group no right to write. A pipe that stays silent for `patience` is an error.
    //   env:NAME    A variable of the environment. It is overwritten in place and unset, so no other thread may use the
    //               environment meanwhile.
    //   fd:N        A descriptor from 3 on, judged like a file. It is read to its end, without a time limit, and
    //   closed.
    // The keys of `given` are copied. No two keys have the same name. Throws RuleError for a source or a key that
    // cannot be used, and std::system_error, with the path, if the system refuses.
    explicit KeyRing(std::span<const std::string> sources, std::chrono::milliseconds patience = std::chrono::seconds(5),
                     std::span<const NamedKey> given = {});

    KeyRing(KeyRing&&) noexcept;
    KeyRing& operator=(KeyRing&&) noexcept;
    ~KeyRing();

    // In the order of the sources, and then of the given keys.
    const std::vector<std::string>& names() const noexcept;

    // 16 hex digits that tell keys apart and do not help to find one: the first 8 bytes of
    // HMAC(key, 0xFF "cleave key id 1"). Throws std::invalid_argument if no key has the name.
    const std::string& id(std::string_view name) const;

    // For the library only.
    struct Keys;
    const Keys& keys() const noexcept { return *keys_; }

private:
    std::unique_ptr<Keys> keys_;
};

}  // namespace cleave
