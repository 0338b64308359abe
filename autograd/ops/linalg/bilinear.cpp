// bilinear, computed with einsum.
#include "tandem/autograd/ops/detail/precision.h"
#include "tandem/autograd/ops/linalg/einsum.h"
#include "tandem/autograd/ops/linalg/matmul.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"

namespace tandem {

Tensor bilinear(const Tensor& input1, const Tensor& input2, const Tensor& weight, const Tensor& bias) {
  if (const auto out = autograd::promoted_on_cuda([&](const Tensor& t1, const Tensor& t2, const Tensor& t3,
                                                      const Tensor& t4) { return bilinear(t1, t2, t3, t4); },
                                                  input1, input2, weight, bias))
    return *out;
  check(weight.dim() == 3, "bilinear: weight must be [out, in1, in2], got ", weight);
  const Tensor out = einsum("...a,oab,...b->...o", {input1, weight, input2});
  return bias.defined() ? out + bias : out;
}

}  // namespace tandem
