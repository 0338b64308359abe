// Tables that are being written.
#include "tandem/cuda/ops/random_tables.h"
#include "tandem/cuda/tables.h"

namespace tandem::cuda {
namespace {
struct Missing {
  template <class R, class... Args>
  constexpr operator Kernel<R(Args...)>() const {
    return +[](Args...) -> R { throw NotImplementedError("not on CUDA yet"); };
  }
};
constexpr Missing no;
}  // namespace
const ScanKernels scan_kernels{no, no, no};
const SortKernels sort_kernels{no, no, no};
const RandomKernels random_kernels{fill_random_kernels, no};
const NormKernels norm_kernels{no, no, no};
const OptimKernels optim_kernels{no, no, no, no};
}  // namespace tandem::cuda
