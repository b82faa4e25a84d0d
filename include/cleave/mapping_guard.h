// Mapped input that cannot be read any more: the file was made shorter, or the medium fails.
#pragma once

namespace cleave {

// While it lives, SIGBUS does not end the process if it comes from the mapping of an Input, whichever thread reads it:
// the rest of that mapping reads as zeros from then on, and Input::throw_if_changed() throws. Without a guard the
// signal does what the process has made of it. One at a time.
//
// For programs, not for libraries: signals belong to the whole process. A SIGBUS that has another origin ends the
// guard, and goes to what was installed before.
class MappingGuard {
public:
    MappingGuard() noexcept;
    MappingGuard(const MappingGuard&) = delete;
    MappingGuard& operator=(const MappingGuard&) = delete;
    // Puts back what was installed before, unless something else has been installed since.
    ~MappingGuard();
};

}  // namespace cleave
