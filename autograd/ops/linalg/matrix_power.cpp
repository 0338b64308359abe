// matrix_power, by repeated squaring.
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/linalg/linalg.h"
#include "tandem/autograd/ops/linalg/matmul.h"

namespace tandem {

Tensor matrix_power(const Tensor& self, int64_t n) {
  check(self.dim() >= 2 && self.size(-1) == self.size(-2), "matrix_power: expected square matrices, got ", self);
  if (n < 0) return tandem::matrix_power(linalg_inv(self), -n);
  if (n == 0) return eye(self.size(-1), self.options()).expand(self.sizes()).clone();
  Tensor square = self, out;
  for (; n > 0; n >>= 1) {
    if (n & 1) out = out.defined() ? out.matmul(square) : square;
    if (n > 1) square = square.matmul(square);
  }
  return out.is_same(self) ? self.clone() : out;
}

Tensor Tensor::matrix_power(int64_t n) const { return tandem::matrix_power(*this, n); }

}  // namespace tandem
