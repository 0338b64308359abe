// In-place comparisons and logic: writes 1 or 0 in self's dtype. The gradient is zero.
#include "tandem/autograd/ops/pointwise/comparison.h"
#include "tandem/autograd/ops/pointwise/inplace_of.h"
#include "tandem/autograd/ops/pointwise/where.h"

namespace tandem {
namespace {
using namespace autograd;

// `compared` in self's dtype. When recording, self stays on the tape.
Tensor instead(const Tensor& self, const Tensor& compared) {
  const Tensor value = as_type(compared, self.dtype());
  return recording(self) ? where(eq(compared, compared), value, self) : value;
}

}  // namespace

#define TANDEM_COMPARE_INPLACE(f)                                                                       \
  Tensor& Tensor::f##_(const Tensor& other) const {                                                     \
    return inplace_of(*this, #f "_", [&](const Tensor& x) { return instead(x, tandem::f(x, other)); }); \
  }
#define TANDEM_COMPARE_BOTH_INPLACE(f)                                                                  \
  TANDEM_COMPARE_INPLACE(f)                                                                             \
  Tensor& Tensor::f##_(const Scalar& other) const {                                                     \
    return inplace_of(*this, #f "_", [&](const Tensor& x) { return instead(x, tandem::f(x, other)); }); \
  }
TANDEM_COMPARE_BOTH_INPLACE(eq)
TANDEM_COMPARE_BOTH_INPLACE(ne)
TANDEM_COMPARE_BOTH_INPLACE(lt)
TANDEM_COMPARE_BOTH_INPLACE(le)
TANDEM_COMPARE_BOTH_INPLACE(gt)
TANDEM_COMPARE_BOTH_INPLACE(ge)
TANDEM_COMPARE_INPLACE(logical_and)
TANDEM_COMPARE_INPLACE(logical_or)
TANDEM_COMPARE_INPLACE(logical_xor)
#undef TANDEM_COMPARE_BOTH_INPLACE
#undef TANDEM_COMPARE_INPLACE

}  // namespace tandem
