// Keys for tokens, loaded from sources that the user names: never from the command line itself. No key is ever shown.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cleave/stage_error.h"

namespace cleave {

// A key that the program already has.
struct NamedKey {
    std::string name = {};
    std::span<const std::uint8_t> bytes = {};
};

// Keys by name, in memory that is locked, left out of core dumps, empty in child processes, and wiped when the object
// is destroyed. Any thread may read a ring.
class KeyRing {
public:
    // Each source is NAME=WHERE. A name consists of letters, digits, `_`, `-` and `.`. A key is 32 bytes to 64 KiB
    // long, and its bytes are taken as they are, including any line end. WHERE is
    //   file:PATH   A regular file or a pipe, owned by the caller or root. Other users must have no access to it, and
    //               its group no write access. If a pipe is silent for `patience_ms`, reading it fails with ETIMEDOUT.
    //   env:NAME    An environment variable. It is overwritten in place and unset, so no other thread may use the
    //               environment at the same time.
    //   fd:N        A descriptor, 3 or above, checked like a file. It is read to its end, without a time limit, and
    //               closed.
    // Each may be followed by @VERSION, a number from 1 to 999999999. For env: and fd: it is only recorded. For file:,
    // it picks one of the versions that are beside the file, such as PATH.v1, and must exist; a file with no versions
    // beside it is version 1. If PATH@VERSION is itself a file, it has no version; if PATH is one too, it is refused.
    // The keys of `given` are copied. No two keys may have the same name. Throws RuleError for a source or a key that
    // cannot be used, and SystemError, with the path, if a system call fails.
    explicit KeyRing(std::span<const std::string> sources, std::span<const NamedKey> given = {},
                     std::uint32_t patience_ms = 5'000);

    KeyRing(KeyRing&&) noexcept;
    KeyRing& operator=(KeyRing&&) noexcept;
    ~KeyRing();

    // The names of the keys: first from the sources, in order, then the given ones.
    const std::vector<std::string>& names() const noexcept;

    // 16 hex digits that tell keys apart without helping anyone to find one: the first 8 bytes of
    // HMAC(key, 0xFF "cleave key id 1"). Throws ArgumentError if no key has the name.
    const std::string& id(std::string_view name) const;

    // The version that the source names; 0 if it names none. Throws ArgumentError if no key has the name.
    std::uint64_t version(std::string_view name) const;

    // For the library only.
    struct Keys;
    const Keys& keys() const noexcept { return *keys_; }

private:
    std::unique_ptr<Keys> keys_;
};

}  // namespace cleave
