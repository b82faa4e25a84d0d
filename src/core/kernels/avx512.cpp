// Compiled with -mavx512f -mavx512bw -mavx512vl -mbmi -mbmi2 -mpopcnt -mpclmul.
#include "core/kernels/avx512.h"

namespace cleave {

extern constinit const Kernel kAvx512Kernel = make_kernel<Avx512>("avx512");

}  // namespace cleave
