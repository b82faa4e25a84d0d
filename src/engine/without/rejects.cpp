// In place of rejects.
#include "cleave/rejects.h"

namespace cleave {

std::shared_ptr<Sifting> sift(Input& /*input*/, const Dialect& /*dialect*/, const Policy& /*policy*/,
                              const RejectOptions& /*options*/, const Execution& /*execution*/,
                              JoinedInputs* /*joined*/) {
    throw ArgumentError("this build has no feature 'rejects'");
}

}  // namespace cleave
