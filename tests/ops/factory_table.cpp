// Describes factories and fills.
#include "tandem/tests/ops/operation_table.h"

// A factory whose last argument is a dtype.
#define TYPED(f, ...) \
  { OPERATION(f, __VA_ARGS__), .torch = "lambda *a: torch." #f "(*a[:-1], dtype=a[-1])" }

namespace tandem::testing {

std::vector<Operation> factory_operations() {
  return {
      TYPED(zeros, T(Ints, Options)),
      TYPED(ones, T(Ints, Options)),
      TYPED(full, T(Ints, CS, Options)),
      TYPED(arange, T(CS, Options), T(CS, CS, Options), T(CS, CS, CS, Options)),
      TYPED(linspace, T(CS, CS, I, Options)),
      {OPERATION(logspace, T(CS, CS, I, double, Options)),
       .torch = "lambda s, e, n, b, t: torch.logspace(s, e, n, b, dtype=t)"},
      TYPED(eye, T(I, Options), T(I, I, Options)),
      TYPED(zeros_like, T(CT, Options)),
      TYPED(ones_like, T(CT, Options)),
      TYPED(full_like, T(CT, CS, Options)),
      TYPED(scalar_tensor, T(CS, Options)),
      {.name = "new_zeros",
       .overloads = MEMBER(new_zeros, T(CT, Ints, Options)),
       .torch = "lambda x, s, t: x.new_zeros(s, dtype=t)"},
      {.name = "new_full",
       .overloads = MEMBER(new_full, T(CT, Ints, CS, Options)),
       .torch = "lambda x, s, v, t: x.new_full(s, v, dtype=t)"},
      {.name = "fill", WRITE(fill, T(T, CS), T(T, CT))},
      {.name = "zero", WRITE(zero, T(T))},
  };
}

}  // namespace tandem::testing
