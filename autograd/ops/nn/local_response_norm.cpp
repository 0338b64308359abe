// local_response_norm.
#include "tandem/autograd/ops/detail/precision.h"
#include "tandem/autograd/ops/detail/refuse_complex.h"
#include "tandem/autograd/ops/detail/row_major.h"
#include "tandem/autograd/ops/nn/normalization.h"
#include "tandem/autograd/ops/nn/pad.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"

namespace tandem {

Tensor local_response_norm(const Tensor& input, int64_t size, double alpha, double beta, double k) {
  if (const auto to = autograd::in_full_precision_on_cuda(input))
    return to.rounded(local_response_norm(to(input), size, alpha, beta, k));
  if (const auto to = autograd::in_row_major(input))
    return to.restored(local_response_norm(to(input), size, alpha, beta, k));
  autograd::refuse_complex("local_response_norm", input);
  check(input.dim() >= 3, "local_response_norm: expected [N, C, L, ...], got ", input);
  check(size > 0, "local_response_norm: size must be positive, got ", size);
  Dims pad(static_cast<std::size_t>(2 * (input.dim() - 1)), 0);
  pad[pad.size() - 2] = size / 2;
  pad[pad.size() - 1] = (size - 1) / 2;
  const Tensor windows = constant_pad_nd(input * input, pad).unfold(1, size, 1);
  const Tensor squares = input.is_floating_point() ? windows.mean(IntArrayRef(-1))
                                                   : windows.sum(IntArrayRef(-1)).floor_divide(Scalar(size));
  return input / (squares * alpha + k).pow(Scalar(beta));
}

}  // namespace tandem
