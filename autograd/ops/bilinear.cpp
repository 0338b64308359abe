// bilinear, computed with einsum.
#include "tandem/autograd/ops/arithmetic.h"
#include "tandem/autograd/ops/einsum.h"
#include "tandem/autograd/ops/linalg.h"

namespace tandem {

Tensor bilinear(const Tensor& input1, const Tensor& input2, const Tensor& weight, const Tensor& bias) {
  check(weight.dim() == 3, "bilinear: weight must be [out, in1, in2], got ", weight);
  const Tensor out = einsum("...a,oab,...b->...o", {input1, weight, input2});
  return bias.defined() ? out + bias : out;
}

}  // namespace tandem
