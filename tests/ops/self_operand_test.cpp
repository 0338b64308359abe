// In-place operations with other operands that share the written memory: the result is the same as with
// operands copied beforehand.
#include <doctest/doctest.h>

#include "tandem/autograd/engine.h"
#include "tandem/autograd/ops.h"
#include "tandem/tests/ops/values.h"

using namespace tandem;
using namespace tandem::testing;

namespace {

using Write = void (*)(Tensor& self, const Tensor& other);
struct Operation {
  const char* name;
  Write write;
};
const Operation kOperations[] = {
    {"add_", [](Tensor& y, const Tensor& x) { y.add_(x, 2); }},
    {"sub_", [](Tensor& y, const Tensor& x) { y.sub_(x); }},
    {"mul_", [](Tensor& y, const Tensor& x) { y.mul_(x); }},
    {"div_", [](Tensor& y, const Tensor& x) { y.div_(x); }},
    {"pow_", [](Tensor& y, const Tensor& x) { y.pow_(x); }},
    {"atan2_", [](Tensor& y, const Tensor& x) { y.atan2_(x); }},
    {"fmod_", [](Tensor& y, const Tensor& x) { y.fmod_(x); }},
    {"remainder_", [](Tensor& y, const Tensor& x) { y.remainder_(x); }},
    {"floor_divide_", [](Tensor& y, const Tensor& x) { y.floor_divide_(x); }},
    {"copy_", [](Tensor& y, const Tensor& x) { y.copy_(x); }},
    {"lerp_", [](Tensor& y, const Tensor& x) { y.lerp_(x, 0.25); }},
    {"addcmul_", [](Tensor& y, const Tensor& x) { y.addcmul_(x, x, 3); }},
    {"addcdiv_", [](Tensor& y, const Tensor& x) { y.addcdiv_(y, x); }},
    {"masked_fill_", [](Tensor& y, const Tensor& x) { y.masked_fill_(x > 3, x.flatten()[0]); }},
};

// `part` selects the other operand from a tensor.
template <class Part>
void same_as_copied(const Tensor& start, Part part) {
  for (const Operation& operation : kOperations) {
    CAPTURE(operation.name);
    Tensor expected = start.clone();
    operation.write(expected, part(start).clone());
    Tensor y = start.clone();
    operation.write(y, part(y));
    if (start.numel() <= 16)
      CHECK(show(y) == show(expected));
    else
      CHECK(identical(y, expected));
  }
}

}  // namespace

TEST_CASE("an operand that broadcasts from self") {
  for (ScalarType type : {kFloat, kDouble}) {
    const Tensor small = counting({3, 4}, type) + 1, square = counting({3, 3}, type) + 1;
    same_as_copied(small, [](const Tensor& y) { return y.slice(0, 0, 1); });
    same_as_copied(small, [](const Tensor& y) { return y.slice(1, 0, 1); });
    same_as_copied(small, [](const Tensor& y) { return y[0]; });
    same_as_copied(small, [](const Tensor& y) { return y[2]; });
    same_as_copied(small, [](const Tensor& y) { return y[0][0]; });
    same_as_copied(square, [](const Tensor& y) { return y.t(); });
    same_as_copied(square, [](const Tensor& y) { return y.diagonal(); });
    same_as_copied(square, [](const Tensor& y) { return y; });
  }
}

TEST_CASE("an operand that broadcasts from a large self, with threads") {
  const Tensor row = counting({100000}) + 2, square = counting({300, 300}) + 2;
  same_as_copied(row, [](const Tensor& y) { return y.slice(0, 0, 1); });
  same_as_copied(row, [](const Tensor& y) { return y[99999]; });
  same_as_copied(square, [](const Tensor& y) { return y.slice(0, 0, 1); });
  same_as_copied(square, [](const Tensor& y) { return y.slice(1, 0, 1); });
  same_as_copied(square, [](const Tensor& y) { return y.t(); });
}

TEST_CASE("overlapping parts of one tensor") {
  for (const Operation& operation : kOperations) {
    CAPTURE(operation.name);
    const Tensor start = counting({50000}) + 2;
    Tensor y = start.clone(), to = y.slice(0, 1);
    operation.write(to, y.slice(0, 0, -1));
    Tensor expected = start.slice(0, 1).clone();
    operation.write(expected, start.slice(0, 0, -1).clone());
    CHECK(identical(to.clone(), expected));
    Tensor z = start.clone(), front = z.slice(0, 0, -1);
    operation.write(front, z.slice(0, 1));
    expected = start.slice(0, 0, -1).clone();
    operation.write(expected, start.slice(0, 1).clone());
    CHECK(identical(front.clone(), expected));
  }
}

TEST_CASE("integers and bools") {
  Tensor y = counting({3, 2}, kLong) + 1;
  y += y.slice(0, 0, 1);
  CHECK(show(y) == "[3, 2] 2 4 4 6 6 8");
  y ^= y[0];
  CHECK(show(y) == "[3, 2] 0 0 6 2 4 12");
}

TEST_CASE("while recording, values and gradients match those of operands copied beforehand") {
  const auto compute = [](bool copied) {
    Tensor x = (counting({3, 2}, kDouble) + 1).detach().requires_grad_();
    Tensor y = x * 1;
    y.add_(copied ? y.slice(0, 0, 1).clone() : y.slice(0, 0, 1));
    y.sub_(copied ? y[0].clone() : y[0]);
    y.add_(copied ? y[1][1].clone() : y[1][1], 3);
    return show(y) + show(autograd::grad({(y * y).sum()}, {x})[0]);
  };
  CHECK(compute(false) == compute(true));
  Tensor x = counting({3, 2}, kDouble).requires_grad_(), y = x * 1;
  y.mul_(y.slice(0, 0, 1));  // needs the operand's old values
  CHECK_THROWS_WITH_AS(y.sum().backward(), doctest::Contains("overwritten by mul_"), Error);
}

TEST_CASE("index operations with self as source") {
  const Tensor start = counting({3, 3}) + 1;
  const Operation operations[] = {
      {"index_copy_",
       [](Tensor& y, const Tensor& x) {
         y.index_copy_(0, indices({2, 0, 1}), x);
       }},
      {"index_add_",
       [](Tensor& y, const Tensor& x) {
         y.index_add_(0, indices({2, 0, 1}), x);
       }},
      {"index_put_",
       [](Tensor& y, const Tensor& x) {
         y.index_put_({indices({2, 0, 1})}, x);
       }},
      {"scatter_",
       [](Tensor& y, const Tensor& x) {
         y.scatter_(0, indices({2, 0, 1, 1, 2, 0, 0, 1, 2}).view({3, 3}), x);
       }},
      {"scatter_add_",
       [](Tensor& y, const Tensor& x) {
         y.scatter_add_(0, indices({2, 0, 1, 1, 2, 0, 0, 1, 2}).view({3, 3}), x);
       }},
      {"addmm_", [](Tensor& y, const Tensor& x) { y.addmm_(x.t(), x); }},
  };
  for (const Operation& operation : operations) {
    CAPTURE(operation.name);
    Tensor y = start.clone(), expected = start.clone();
    operation.write(y, y);
    operation.write(expected, start);
    CHECK(show(y) == show(expected));
  }
}
