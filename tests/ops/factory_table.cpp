// Describes factories and fills.
#include "tandem/tests/ops/operation_table.h"

namespace tandem::testing {

std::vector<Operation> factory_operations() {
  return {
      {OPERATION(zeros, T(Ints, Options)), .torch = with_dtype("zeros")},
      {OPERATION(ones, T(Ints, Options)), .torch = with_dtype("ones")},
      {OPERATION(full, T(Ints, CS, Options)), .torch = with_dtype("full")},
      {OPERATION(arange, T(CS, Options), T(CS, CS, Options), T(CS, CS, CS, Options)), .torch = with_dtype("arange")},
      {OPERATION(linspace, T(CS, CS, I, Options)), .torch = with_dtype("linspace")},
      {OPERATION(logspace, T(CS, CS, I, double, Options)),
       .torch = "lambda s, e, n, b, t: torch.logspace(s, e, n, b, dtype=t)"},
      {OPERATION(eye, T(I, Options), T(I, I, Options)), .torch = with_dtype("eye")},
      {OPERATION(zeros_like, T(CT, Options)), .torch = with_dtype("zeros_like")},
      {OPERATION(ones_like, T(CT, Options)), .torch = with_dtype("ones_like")},
      {OPERATION(full_like, T(CT, CS, Options)), .torch = with_dtype("full_like")},
      {OPERATION(scalar_tensor, T(CS, Options)), .torch = with_dtype("scalar_tensor")},
      {.name = "new_zeros",
       .overloads = MEMBER(new_zeros, T(CT, Ints, Options)),
       .torch = "lambda x, s, t: x.new_zeros(s, dtype=t)"},
      {.name = "new_full",
       .overloads = MEMBER(new_full, T(CT, Ints, CS, Options)),
       .torch = "lambda x, s, v, t: x.new_full(s, v, dtype=t)"},
      {OPERATION(fill, T(CT, CS), T(CT, CT)), WRITE(fill, T(T, CS), T(T, CT))},
      {OPERATION(zero, T(CT)), WRITE(zero, T(T))},
  };
}

}  // namespace tandem::testing
