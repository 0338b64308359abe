// Capture table of the CPU, which does not support capturing steps.
#include "tandem/core/backend/capture.h"
#include "tandem/core/cpu/tables.h"

namespace tandem::cpu {
namespace {
struct NotHere {
  template <KernelName name, class R, class... Args, HalfCalls half, Shown shown>
  constexpr operator Kernel<name, R(Args...), half, shown>() const {
    return +[](Args...) -> R { fail("capture: steps cannot be captured on the CPU"); };
  }
};
constexpr NotHere not_here;
}  // namespace

constinit const CaptureKernels capture_kernels{
    .available = +[] { return false; },
    .create = not_here,
    .destroy = not_here,
    .enter = not_here,
    .leave = not_here,
    .begin = not_here,
    .end = not_here,
    .begin_numbers = not_here,
    .end_numbers = not_here,
    .replay = not_here,
};

}  // namespace tandem::cpu
