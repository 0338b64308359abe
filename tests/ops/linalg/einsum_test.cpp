// einsum: contractions, traces, broadcasting, implied outputs, invalid equations.
#include "tandem/autograd/ops/linalg/einsum.h"

#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/tests/ops/op_testing.h"

using namespace tandem;
using namespace tandem::testing;

namespace {

void check_equation(const char* equation, std::vector<InputSpec> inputs) {
  const std::string torch = concat("torch.einsum('", equation, "', x0", inputs.size() > 1 ? ", x1" : "",
                                   inputs.size() > 2 ? ", x2" : "", ")");
  check_op({.name = equation,
            .torch = torch,
            .fn = [equation](const Tensors& x) { return Tensors{einsum(equation, x)}; },
            .cases = {std::move(inputs)}});
}

}  // namespace

TEST_CASE("equations in every mode") {
  check_equation("ij,jk->ik", {real({2, 3}), real({3, 4})});
  check_equation("ij,jk", {real({2, 3}), real({3, 4})});
  check_equation("bij,bjk->bki", {real({2, 2, 3}), real({2, 3, 2})});
  check_equation("i,j->ji", {real({2}), real({3})});
  check_equation("ij->ji", {real({2, 3})});
  check_equation("ij->", {real({2, 3})});
  check_equation("ii->i", {real({3, 3})});
  check_equation("ii", {real({3, 3})});
  check_equation("iji->j", {real({2, 3, 2})});
  check_equation("...ij,...jk->...ik", {real({2, 1, 2, 3}), real({3, 3, 2})});
  check_equation("b...,b->...", {real({2, 3, 2}), real({2})});
  check_equation("ij,kj->i", {real({2, 3}), real({4, 3})});
  check_equation("bi,ij,bj->b", {real({2, 3}), real({3, 2}), real({2, 2})});
  check_equation("ij,ij->ij", {real({2, 3}), real({2, 3})});
  check_equation("ij,jk->ik", {real({0, 3}), real({3, 4})});
}

TEST_CASE("invalid equations throw") {
  const Tensor a = ones({2, 3}), b = ones({3, 2});
  CHECK_THROWS_WITH_AS(einsum("ij,jk->ik", {a}), doctest::Contains("names 2 operands, got 1"), Error);
  CHECK_THROWS_WITH_AS(einsum("ijk->i", {a}), doctest::Contains("names 3 dimensions"), Error);
  CHECK_THROWS_WITH_AS(einsum("ij,jk->ii", {a, b}), doctest::Contains("twice in the output"), Error);
  CHECK_THROWS_WITH_AS(einsum("ij->k", {a}), doctest::Contains("is in no operand"), Error);
  CHECK_THROWS_WITH_AS(einsum("ij,ij->ij", {a, b}), doctest::Contains("sizes 2 and 3"), Error);
  CHECK_THROWS_WITH_AS(einsum("i1->i", {a}), doctest::Contains("bad character"), Error);
  CHECK_THROWS_WITH_AS(einsum("i.j->i", {a}), doctest::Contains("bad '.'"), Error);
  CHECK_THROWS_WITH_AS(einsum("ii->i", {a}), doctest::Contains("sizes 2 and 3"), Error);
}
