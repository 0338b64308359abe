// Capture table of the CPU, which does not support capturing steps.
#include "tandem/core/backend/capture.h"
#include "tandem/core/cpu/tables.h"

namespace tandem::cpu {
namespace {
struct NotSupported {
  template <KernelName name, class R, class... Args, HalfCalls half, ShownOn shown>
  constexpr operator Kernel<name, R(Args...), half, shown>() const {
    return +[](Args...) -> R { fail("capture: steps cannot be captured on the CPU"); };
  }
};
constexpr NotSupported not_supported;
}  // namespace

constinit const CaptureKernels capture_kernels{
    .available = +[] { return false; },
    .create = not_supported,
    .destroy = not_supported,
    .enter = not_supported,
    .leave = not_supported,
    .begin = not_supported,
    .end = not_supported,
    .begin_numbers = not_supported,
    .end_numbers = not_supported,
    .replay = not_supported,
};

}  // namespace tandem::cpu
