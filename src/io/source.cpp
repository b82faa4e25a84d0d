#include "io/source.h"

#include <system_error>
#include <utility>

#include "cleave/error.h"

namespace cleave {

// How the file has changed, as far as it matters. Bytes appended to the file of a snapshot do not matter, unless bytes
// of the snapshot could not be read: then the file was shorter for a while.
FileChange Source::change(bool has_lost) const noexcept {
    const FileChange change = version ? version->change(file.get()) : FileChange::kNone;
    const bool may_be_append =
        change == FileChange::kGrown || change == FileChange::kWritten || change == FileChange::kTouched;
    return is_snapshot && may_be_append && !has_lost ? FileChange::kNone : change;
}

Source::Trust Source::trust(bool has_lost) const noexcept {
    switch (change(has_lost)) {
        case FileChange::kShortened: return Trust::kShortened;
        case FileChange::kGrown: return Trust::kGrown;
        case FileChange::kWritten:
        case FileChange::kTouched: return Trust::kChanged;
        case FileChange::kUnknown: return Trust::kUnreadable;
        case FileChange::kNone: break;
    }
    return has_lost ? Trust::kUnreadable : Trust::kGood;
}

bool Source::is_unchanged(bool has_lost) const noexcept { return trust(has_lost) == Trust::kGood; }

void Source::throw_if_changed(bool has_lost) const {
    switch (trust(has_lost)) {
        case Trust::kGood: return;
        case Trust::kShortened: throw InputChangedError("input truncated while reading");
        case Trust::kGrown: throw InputChangedError("input grew while reading");
        case Trust::kChanged: throw InputChangedError();
        case Trust::kUnreadable: throw std::system_error(EIO, std::generic_category(), name);
    }
}

bool Source::accept_touch() {
    if (!version) return false;
    // The new version is taken first, so that it differs from the file after any later change.
    FileVersion now(file.get(), name);
    if (version->change(file.get()) != FileChange::kTouched) return false;
    version = std::move(now);
    return true;
}

}  // namespace cleave
