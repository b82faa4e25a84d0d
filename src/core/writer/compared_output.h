// A piece of a dry run that resumes: compares its bytes with an existing file.
#pragma once

#include <memory>
#include <string>

#include "base/helpers.h"
#include "cleave/cancel.h"
#include "cleave/output.h"
#include "core/writer/piece_store.h"
#include "core/writer/piece_target.h"

namespace cleave {

// Precondition: `store.check(path)` returned true. finish() throws OtherPieceError if the file is not the piece. What
// the arguments refer to must outlive the output. Throws SystemError.
std::unique_ptr<PieceOutput> make_compared_output(const PieceStore& store, const std::string& path,
                                                  const CompressionOptions& compression, Helpers& helpers,
                                                  const Cancellation* cancellation);

}  // namespace cleave
