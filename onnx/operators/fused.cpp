// Operators that merge.h puts in the place of several nodes.
#include "tandem/onnx/operators.h"

namespace tandem::onnx {
namespace {

// softmax(q k scale + mask) v; k is [..., E, S].
Tensor attention(Call& c) {
  const Tensor &q = c[0], &k = c[1], &v = c[2], mask = c.optional(3);
  const double scale = c.number("scale");
  const int64_t rank = q.dim();
  bool alike = rank >= 3 && k.dim() == rank && v.dim() == rank && (!mask.defined() || mask.dim() <= rank);
  for (int64_t d = 0; alike && d < rank - 2; ++d) alike = q.size(d) == k.size(d) && q.size(d) == v.size(d);
  for (int64_t d = 1; alike && mask.defined() && d <= mask.dim(); ++d) {  // it may also enlarge the scores
    const int64_t scores = d == 1 ? k.size(-1) : q.size(-d);
    alike = mask.size(-d) == 1 || mask.size(-d) == scores;
  }
  if (alike) return scaled_dot_product_attention(q, k.transpose(-2, -1), v, mask, 0, false, scale);
  const Tensor scores = matmul(q, k) * scale;
  return matmul(softmax(mask.defined() ? scores + mask : scores, -1), v);
}

}  // namespace

Operators fused_operators() {
  return {
      {"Attention", attention},
      {"Linear", [](Call& c) { return linear(c[0], c[1].t(), c[2]); }},
  };
}

}  // namespace tandem::onnx
