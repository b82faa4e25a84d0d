// Regular expressions among what must not appear in free text. A module searches for them, so that only those who use
// them need the library that it is made of.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cleave/cancel.h"
#include "cleave/memory.h"
#include "features/redact/stage/forbidden/pattern_module.h"
#include "features/redact/stage/value.h"

namespace cleave {

// Immutable; any thread may use it.
class CompiledPattern {
public:
    // Loads the first existing module of `paths`, which stays loaded until the process ends. Throws ArgumentError if
    // there is none, if it cannot be used, if it does not accept the pattern, or if the pattern matches the empty text.
    CompiledPattern(const std::vector<std::string>& paths, const std::string& text);

    // Whether the value contains the pattern. Also true if the search fails.
    bool is_in(Value value) const noexcept {
        return module_.search(pattern_.get(), value.data, value.size) != CLEAVE_PATTERN_ABSENT;
    }

private:
    const cleave_patterns& module_;
    std::unique_ptr<void, void (*)(void*)> pattern_;
};

// The same as is_in(), but throws Cancelled soon after `cancellation`, if not null, is requested. Nothing can end a
// search, so a long value is copied, into `memory` or, if null, a new "system" manager, and searched by a thread that
// is then left behind.
bool is_in(const std::shared_ptr<const CompiledPattern>& pattern, Value value,
           const std::shared_ptr<MemoryManager>& memory, const Cancellation* cancellation);

}  // namespace cleave
