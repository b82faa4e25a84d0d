// Lets a program survive reading a mapped input if the file has become shorter or its storage device fails.
#pragma once

namespace cleave {

// While a guard exists, SIGBUS from the mapping of an Input does not end the process, whichever thread reads. The rest
// of that mapping then reads as zeros, and Input::throw_if_changed() throws. Without a guard, SIGBUS keeps its current
// action. At most one guard may exist at a time.
//
// For programs, not for libraries: a signal handler belongs to the whole process. A SIGBUS from elsewhere ends the
// guard and goes to the previous handler.
class MappingGuard {
public:
    MappingGuard() noexcept;
    MappingGuard(const MappingGuard&) = delete;
    MappingGuard& operator=(const MappingGuard&) = delete;
    // Restores the previous handler, unless a different one has been installed since.
    ~MappingGuard();

    // Whether a guard exists, and its handler is still the one for SIGBUS. Any thread.
    static bool is_active() noexcept;
};

}  // namespace cleave
