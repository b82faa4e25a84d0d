// What is left out of an input before anything else reads it. The feature `rejects` defines it; a build without the
// feature has without/rejects.cpp.
#pragma once

#include <memory>

#include "cleave/dialect.h"
#include "cleave/error.h"
#include "cleave/input.h"
#include "cleave/plan.h"
#include "cleave/rejects.h"
#include "cleave/scan.h"

namespace cleave {

class JoinedInputs;

// Call the members from one thread at a time.
class Sifting {
public:
    Sifting() = default;
    Sifting(const Sifting&) = delete;
    Sifting& operator=(const Sifting&) = delete;
    // Removes the file, unless commit() was called.
    virtual ~Sifting() = default;

    // Once the input has been read: gives the file its name. Throws what LoneFile::publish() throws.
    virtual RejectCounts publish() = 0;
    // Once the run has succeeded.
    virtual void commit() noexcept = 0;
    // Where a place in what is left of the input is in all of it.
    virtual Place in_input(const Place& place) const = 0;
    // For the handler of an InputError: throws it again, with its place in the input.
    [[noreturn]] void rethrow() const {
        try {
            throw;
        } catch (const InputError& error) {
            if (!error.place()) throw;
            throw InputError(error.what(), in_input(*error.place()));
        }
    }
};

// Leaves out of the input, which must not have been read, the records that `options` reject. A blob is read in full,
// and becomes a blob of what is left; a stream is sifted as it is read, and its reader gets the errors. `mode` says
// whether there is a header. `path` of the options may be empty: nothing is written then. Throws InputError for a fault
// in the header, and if too many records are rejected, or all; SystemError, OutputError, InputChangedError, Cancelled.
// Of several inputs, `joined`, each is sifted on its own; otherwise it is null.
std::shared_ptr<Sifting> sift(Input& input, const Dialect& dialect, HeaderMode mode, const RejectOptions& options,
                              const Execution& execution, JoinedInputs* joined);

}  // namespace cleave
