// bilinear, computed with einsum.
#include "tandem/autograd/ops/detail/precision.h"
#include "tandem/autograd/ops/linalg/einsum.h"
#include "tandem/autograd/ops/linalg/matmul.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"

namespace tandem {

Tensor bilinear(const Tensor& input1, const Tensor& input2, const Tensor& weight, const Tensor& bias) {
  if (const auto to = autograd::promoted_on_cuda(input1, input2, weight, bias))
    return to.rounded(bilinear(to(input1), to(input2), to(weight), to(bias)));
  check(weight.dim() == 3, "bilinear: weight must be [out, in1, in2], got ", weight);
  const Tensor out = einsum("...a,oab,...b->...o", {input1, weight, input2});
  return bias.defined() ? out + bias : out;
}

}  // namespace tandem
