#include "core/reader/source.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "cleave/error.h"

namespace cleave {

std::size_t Source::read_at(std::uint64_t at, std::span<std::uint8_t> into) const {
    if (!remote) return cleave::read_at(file.get(), at, into, name);
    const auto there = into.first(std::min<std::uint64_t>(into.size(), remote->size() - std::min(at, remote->size())));
    if (!there.empty()) remote->read(at, there);
    return there.size();
}

FileChange Source::change() const noexcept { return version ? version->change(file.get()) : FileChange::kNone; }

// Bytes appended to the file of a snapshot do not matter, unless bytes of the snapshot could not be read: in that case,
// the file was shorter for a while.
Source::Trust Source::trust(FileChange change, bool has_lost) const noexcept {
    const Trust kept = has_lost ? Trust::kUnreadable : Trust::kGood;
    const bool accepts_append = is_snapshot && !has_lost;
    switch (change) {
        case FileChange::kShortened: return Trust::kShortened;
        case FileChange::kGrown: return accepts_append ? kept : Trust::kGrown;
        case FileChange::kWritten:
        case FileChange::kTouched: return accepts_append ? kept : Trust::kChanged;
        case FileChange::kUnknown: return Trust::kUnreadable;
        case FileChange::kNone: break;
    }
    return kept;
}

bool Source::is_unchanged(bool has_lost) const noexcept { return trust(change(), has_lost) == Trust::kGood; }

void Source::throw_if_changed(bool has_lost) const { judge(change(), has_lost); }

void Source::judge(FileChange change, bool has_lost) const {
    switch (trust(change, has_lost)) {
        case Trust::kGood: return;
        case Trust::kShortened: throw InputChangedError("input truncated while reading");
        case Trust::kGrown: throw InputChangedError("input grew while reading");
        case Trust::kChanged: throw InputChangedError();
        case Trust::kUnreadable: throw SystemError(EIO, std::generic_category(), name);
    }
}

// Checks only once, because the file may be touched between two checks. The new version is taken first, so any later
// change will show.
bool Source::accept_touch() {
    if (!version) return false;
    FileVersion now(file.get(), name);
    const FileChange seen = change();
    if (seen != FileChange::kTouched) {
        judge(seen, false);
        return false;
    }
    version = std::move(now);
    return true;
}

}  // namespace cleave
