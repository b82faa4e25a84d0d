// In place of what writes objects.
#include "cleave/error.h"
#include "core/writer/piece_target.h"

namespace cleave {

std::unique_ptr<PieceTarget> make_store_target(const Store* /*store*/, const Input& /*input*/,
                                               const OutputOptions& /*options*/, unsigned /*threads*/) {
    throw ArgumentError("this build of cleave does not write objects");
}

}  // namespace cleave
