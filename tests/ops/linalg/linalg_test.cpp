// Matrix products: all ranks and strides, broadcast batches, empty sizes, integers, errors.
#include "tandem/autograd/ops/linalg/matmul.h"

#include <cmath>

#include "tandem/autograd/engine.h"
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/factories/tensor_literal.h"
#include "tandem/autograd/ops/linalg/linalg.h"
#include "tandem/autograd/ops/linalg/matrix_functions.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/view/cat.h"
#include "tandem/autograd/ops/view/view.h"
#include "tandem/core/threads/parallel_for.h"
#include "tandem/tests/ops/op_testing.h"
#include "tandem/tests/ops/values.h"

using namespace tandem;
using namespace tandem::testing;

namespace {

Tensor random_matrix(IntArrayRef sizes, ScalarType type, uint64_t draw = 1) {
  return make_inputs({.cases = {{constant(sizes.vec())}}}, 0, type)[0] * static_cast<double>(draw);
}

// Elementwise reference in double.
double entry(const Tensor& a, const Tensor& b, int64_t i, int64_t j) {
  double sum = 0;
  for (int64_t k = 0; k < a.size(1); ++k)
    sum += a.data_ptr<double>()[i * a.stride(0) + k * a.stride(1)] *
           b.data_ptr<double>()[k * b.stride(0) + j * b.stride(1)];
  return sum;
}

}  // namespace

TEST_CASE("mm, bmm and matmul for all ranks") {
  const TensorFn product = [](const Tensors& x) { return Tensors{matmul(x[0], x[1])}; };
  check_op({.name = "mm",
            .torch = "torch.mm(x0, x1)",
            .fn = [](const Tensors& x) { return Tensors{mm(x[0], x[1])}; },
            .cases = {{real({3, 4}), real({4, 2})},
                      {real({1, 4}), real({4, 1})},
                      {real({5, 1}), real({1, 5})},
                      {real({0, 4}), real({4, 2})},
                      {real({3, 0}), real({0, 2})}}});
  check_op({.name = "bmm",
            .torch = "torch.bmm(x0, x1)",
            .fn = [](const Tensors& x) { return Tensors{bmm(x[0], x[1])}; },
            .cases = {{real({2, 3, 4}), real({2, 4, 2})},
                      {real({1, 3, 4}), real({1, 4, 2})},
                      {real({0, 3, 4}), real({0, 4, 2})}}});
  check_op({.name = "matmul",
            .torch = "torch.matmul(x0, x1)",
            .fn = product,
            .cases = {{real({4}), real({4})},
                      {real({3, 4}), real({4})},
                      {real({4}), real({4, 3})},
                      {real({3, 4}), real({4, 2})},
                      {real({2, 3, 4}), real({4})},
                      {real({2, 3, 4}), real({4, 2})},
                      {real({4}), real({2, 4, 3})},
                      {real({3, 4}), real({2, 4, 2})},
                      {real({2, 3, 4}), real({2, 4, 2})},
                      {real({2, 1, 2, 3}), real({3, 3, 2})},
                      {real({1, 2, 3}), real({2, 3, 2})},
                      {real({2, 0, 4}), real({4, 2})},
                      {real({0, 3, 4}), real({1, 4, 2})},
                      {testing::real({0}), testing::real({0})}}});
}

TEST_CASE("mv, dot, outer") {
  check_op({.name = "mv",
            .torch = "torch.mv(x0, x1)",
            .fn = [](const Tensors& x) { return Tensors{mv(x[0], x[1])}; },
            .cases = {{real({3, 4}), real({4})}, {real({0, 4}), real({4})}, {real({3, 0}), testing::real({0})}}});
  check_op({.name = "dot",
            .torch = "torch.dot(x0, x1)",
            .fn = [](const Tensors& x) { return Tensors{x[0].dot(x[1])}; },
            .cases = {{real({5}), real({5})}, {real({1}), real({1})}}});
  check_op({.name = "outer",
            .torch = "torch.outer(x0, x1)",
            .fn = [](const Tensors& x) { return Tensors{outer(x[0], x[1])}; },
            .cases = {{real({3}), real({2})}, {testing::real({0}), real({2})}}});
}

TEST_CASE("addmm, baddbmm, linear") {
  check_op({.name = "addmm",
            .torch = "torch.addmm(x0, x1, x2, beta=0.5, alpha=-2)",
            .fn = [](const Tensors& x) { return Tensors{addmm(x[0], x[1], x[2], 0.5, -2)}; },
            .cases = {{real({3, 2}), real({3, 4}), real({4, 2})},
                      {real({2}), real({3, 4}), real({4, 2})},
                      {real({3, 1}), real({3, 4}), real({4, 2})},
                      {testing::real({}), real({3, 4}), real({4, 2})},
                      {real({2}), real({0, 4}), real({4, 2})}}});
  check_op({.name = "baddbmm",
            .torch = "torch.baddbmm(x0, x1, x2, beta=0.5, alpha=-2)",
            .fn = [](const Tensors& x) { return Tensors{baddbmm(x[0], x[1], x[2], 0.5, -2)}; },
            .cases = {{real({2, 3, 2}), real({2, 3, 4}), real({2, 4, 2})},
                      {real({1, 2}), real({2, 3, 4}), real({2, 4, 2})}}});
  check_op({.name = "linear",
            .torch = "torch.nn.functional.linear(x0, x1, x2)",
            .fn = [](const Tensors& x) { return Tensors{linear(x[0], x[1], x[2])}; },
            .cases = {{real({3, 4}), real({2, 4}), real({2})},
                      {real({4}), real({2, 4}), real({2})},
                      {real({2, 3, 4}), real({5, 4}), real({5})},
                      {real({0, 4}), real({2, 4}), real({2})},
                      {real({3, 0}), real({2, 0}), real({2})}}});
  check_op({.name = "linear without bias",
            .torch = "torch.nn.functional.linear(x0, x1)",
            .fn = [](const Tensors& x) { return Tensors{linear(x[0], x[1])}; },
            .cases = {{real({3, 4}), real({2, 4})}, {real({2, 1, 4}), real({2, 4})}}});
}

TEST_CASE("products of sliced, transposed and expanded matrices") {
  const Tensor big = random_matrix({40, 50}, kDouble);
  const Tensor views[] = {big.as_strided({7, 9}, {50, 1}, 3),  big.as_strided({7, 9}, {1, 50}, 3),
                          big.as_strided({7, 9}, {100, 2}, 1), big.as_strided({7, 9}, {0, 1}, 2),
                          big.as_strided({7, 9}, {1, 0}, 2),   big.as_strided({7, 9}, {0, 0}, 5),
                          big.as_strided({1, 9}, {3, 4}, 0),   big.as_strided({9, 1}, {4, 3}, 0)};
  double worst = 0;
  for (const Tensor& a : views)
    for (const Tensor& b : views) {
      const Tensor right = a.size(1) == b.size(0) ? b : b.t();
      if (a.size(1) != right.size(0)) continue;
      const Tensor c = mm(a, right);
      for (int64_t i = 0; i < c.size(0); ++i)
        for (int64_t j = 0; j < c.size(1); ++j)
          worst = std::max(worst, std::abs(c.data_ptr<double>()[i * c.size(1) + j] - entry(a, right, i, j)));
    }
  CHECK(worst < 1e-12);
}

TEST_CASE("integer products wrap around and have no gradient") {
  const Tensor a = arange(6).view({2, 3}), b = arange(12).view({3, 4});
  const Tensor c = matmul(a, b);
  CHECK((c.dtype() == kLong));
  CHECK(c.data_ptr<int64_t>()[7] == 3 * 3 + 4 * 7 + 5 * 11);
  const Tensor d = mm(a.to(kByte) * 100, b.to(kByte));
  CHECK(d.data_ptr<uint8_t>()[4] == static_cast<uint8_t>(44 * 0 + 144 * 4 + 244 * 8));
  CHECK_THROWS_WITH_AS(mm(a.to(kBool), b.to(kBool)), doctest::Contains("bool"), Error);
}

TEST_CASE("addmm_ writes in place, also when self overlaps its factors") {
  const Tensor a = arange(4, kFloat).view({2, 2});
  Tensor c = ones({2, 2});
  c.addmm_(a, a, 2, 1);
  CHECK(c.data_ptr<float>()[3] == 2 + 1 * 2 + 3 * 3);
  Tensor same = a.clone();
  same.addmm_(same, same);
  CHECK(same.data_ptr<float>()[3] == 3 + 11);
  const Tensor nan = full({2, 2}, NAN);
  CHECK(addmm(nan, a, a, 0).data_ptr<float>()[3] == 11);
  Tensor w = ones({2, 2}, requires_grad()), y = w * 1;
  y.addmm_(w, w, 3, 0.5);
  y.sum().backward();
  CHECK(w.grad().data_ptr<float>()[0] == 3 + 2);
}

TEST_CASE("large products have the same bits on any number of threads") {
  const Tensor x = random_matrix({300, 257}, kFloat), w = random_matrix({130, 257}, kFloat, 2),
               b = random_matrix({130}, kFloat, 3);
  same_bits_on_any_threads([&] { return Tensors{linear(x, w, b), mm(x.t(), x), mm(w, x.t())}; });
}

TEST_CASE("errors name both shapes") {
  const Tensor a = ones({2, 3}), b = ones({4, 5});
  CHECK_THROWS_WITH_AS(mm(a, b),
                       "mm: inner sizes differ: 3 and 4\n  self  [2, 3] float32 cpu\n  other [4, 5] float32 "
                       "cpu",
                       Error);
  CHECK_THROWS_WITH_AS(linear(a, b),
                       "linear: weight expects 5 input features, but input has 3\n  input  [2, 3] float32 "
                       "cpu\n  weight [4, 5] float32 cpu",
                       Error);
  CHECK_THROWS_WITH_AS(linear(a, ones({4, 3}), ones({3})), doctest::Contains("bias must be [4]"), Error);
  CHECK_THROWS_WITH_AS(mm(a, ones({3, 2}, kDouble)), doctest::Contains("dtypes differ"), Error);
  CHECK_THROWS_WITH_AS(matmul(ones({2, 2, 3}), ones({3, 3, 2})), doctest::Contains("matmul"), Error);
  CHECK_THROWS_WITH_AS(matmul(ones({}), a), doctest::Contains("at least one dimension"), Error);
  CHECK_THROWS_WITH_AS(addmm(ones({3}), a, ones({3, 2})), doctest::Contains("broadcast"), Error);
}

TEST_CASE("integer products reject fractional factors") {
  Tensor s = ones({2, 2}, kLong);
  CHECK_THROWS_WITH_AS(addmm(s, s, s, 0.5), doctest::Contains("0.5 must be an integer"), Error);
  CHECK_THROWS_AS(s.addmm_(s, s, 1, 0.5), Error);
  CHECK(addmm(s, s, s, 2, true).sum().item<int64_t>() == 16);
}

TEST_CASE("exponentials of matrices of one number are those of the number, whatever the norm") {
  for (const double x : {0.0, 1e-3, 0.1, -0.7, 1.9, 3.6, 5.25, -5.3, 5.5, 11.0, 40.0})
    CHECK(linalg_matrix_exp(full({1, 1}, x, kDouble)).item<double>() == doctest::Approx(std::exp(x)).epsilon(2e-13));
}

TEST_CASE("the right side of lstsq is a vector only if it has the sizes of the matrices but for the last") {
  const Tensor one = tensor({{2.0, 0.0}, {0.0, 4.0}, {0.0, 0.0}}), two = stack({one, one * 2});  // [2, 3, 2]
  const auto solved = [](const Tensor& a, const Tensor& b) { return std::get<0>(linalg_lstsq(a, b)).round() + 0.0; };
  CHECK(show(solved(one, tensor({4.0, 8.0, 1.0}))) == "[2] 2 2");
  CHECK(show(solved(two, tensor({{4.0, 8.0, 1.0}, {8.0, 32.0, 1.0}}))) == "[2, 2] 2 2 2 4");
  const Tensor shared = tensor({{4.0, 8.0, 12.0, 0.0}, {8.0, 0.0, 16.0, 24.0}, {1.0, 1.0, 1.0, 1.0}});  // [3, 4]
  CHECK(show(solved(two, shared)) == "[2, 2, 4] 2 4 6 0 2 0 4 6 1 2 3 0 1 0 2 3");
  CHECK_THROWS_WITH_AS(linalg_lstsq(two, shared[0]), doctest::Contains("B must have 3 rows"), Error);
}

TEST_CASE("the triangle that eigh and cholesky read has a capital or a small letter") {
  const Tensor a = tensor({{2.0, 1.0}, {0.0, 3.0}}), lower = a.mH();
  for (const char* upper : {"U", "u"}) {
    CHECK(show(linalg_eigvalsh(a, upper)) == show(linalg_eigvalsh(lower, "L")));
    CHECK(show(std::get<0>(linalg_eigh(a, upper))) == show(std::get<0>(linalg_eigh(lower, "l"))));
  }
  CHECK(show(linalg_eigvalsh(a, "l")) == "[2] 2 3");
  CHECK_THROWS_AS(linalg_eigh(a, "X"), Error);
}
