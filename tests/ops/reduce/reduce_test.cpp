// Reductions: empty tensors, NaN, ties, dtypes, errors, threads.
#include <cmath>
#include <limits>

#include "tandem/autograd/engine.h"
#include "tandem/autograd/ops.h"
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/reduce/reduce.h"
#include "tandem/autograd/ops/view/view.h"
#include "tandem/autograd/torch_names.h"
#include "tandem/tests/ops/op_testing.h"
#include "tandem/tests/ops/values.h"

using namespace tandem;
using namespace tandem::testing;

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

Tensor values(std::initializer_list<double> list, ScalarType type = kDouble) {
  Tensor out = empty({static_cast<int64_t>(list.size())}, kDouble);
  std::copy(list.begin(), list.end(), out.data_ptr<double>());
  return out.to(type);
}
double at(const Tensor& t, int64_t i) { return t.to(kDouble).contiguous().data_ptr<double>()[i]; }

}  // namespace

TEST_CASE("empty tensors: the identity, or an error") {
  const Tensor none = empty({0, 3}, kDouble);
  CHECK(at(sum(none, 0), 2) == 0);
  CHECK(at(prod(none, 0), 2) == 1);
  CHECK(std::isnan(at(mean(none, 0), 0)));
  CHECK(at(logsumexp(none, 0), 0) == -kInf);
  CHECK(at(norm(none, 2, 0), 0) == 0);
  CHECK(all(none).item<bool>());
  CHECK_FALSE(any(none).item<bool>());
  CHECK(count_nonzero(none).item<int64_t>() == 0);
  CHECK(sum(none, 1).sizes() == IntArrayRef{0});
  CHECK(std::get<1>(max(none, 1)).sizes() == IntArrayRef{0});
  CHECK_THROWS_WITH_AS(max(none), doctest::Contains("max: expected a tensor with elements, got [0, 3]"), Error);
  CHECK_THROWS_WITH_AS(max(none, 0), doctest::Contains("max: dimension 0 must not be empty"), Error);
  CHECK_THROWS_WITH_AS(argmin(none), doctest::Contains("argmin"), Error);
  CHECK_THROWS_WITH_AS(amax(none, 0), doctest::Contains("amax"), Error);
}

TEST_CASE("norms of no elements: 0, but an error where the norm has no identity") {
  const Tensor none = empty({2, 0}, kDouble), nothing = empty({0, 0}, kDouble);
  for (const double p : {0.0, 0.5, 1.0, 2.0, 3.0}) CHECK(at(norm(none, p, 1), 1) == 0);
  for (const double p : {kInf, -kInf, -1.0}) {
    CAPTURE(p);
    const auto text = doctest::Contains("no elements");
    CHECK_THROWS_WITH_AS(norm(none, p), text, Error);
    CHECK_THROWS_WITH_AS(norm(none, p, 1), text, Error);
    CHECK_THROWS_WITH_AS(norm(none, p, {0, -1}), text, Error);
    CHECK_THROWS_WITH_AS(norm(nothing, p, 0), text, Error);
    CHECK_THROWS_WITH_AS(linalg_vector_norm(none, p), text, Error);
    CHECK(norm(none, p, 0).numel() == 0);
    CHECK(at(norm(full({}, -3.0, kDouble), p, 0), 0) == 3);
  }
  for (const double p : {1.0, 2.0, kInf})
    for (const Tensor& matrix : {none, none.t(), nothing}) CHECK(at(linalg_matrix_norm(matrix, p), 0) == 0);
  CHECK_THROWS_AS(linalg_matrix_norm(nothing, -kInf), Error);
  CHECK(equal(cdist(none, empty({3, 0}, kDouble), kInf), zeros({2, 3}, kDouble)));
  CHECK(equal(pdist(none, kInf), zeros({1}, kDouble)));
}

TEST_CASE("count_nonzero takes an optional dimension") {
  const Tensor x = tensor({0, 1, 2, 0, 0, 3}).view({2, 3});
  const optional<int64_t> columns = 1, none;
  CHECK(equal(x.count_nonzero(columns), tensor({2, 1})));
  CHECK(equal(count_nonzero(x, columns), tensor({2, 1})));
  for (const Tensor& all : {x.count_nonzero(none), count_nonzero(x, none), count_nonzero(x, nullopt)})
    CHECK(all.item<int64_t>() == 3);
  Tensor out = empty({2}, kLong), sum = empty({}, kLong);
  CHECK(equal(count_nonzero_out(out, x, columns), tensor({2, 1})));
  CHECK(count_nonzero_out(sum, x).item<int64_t>() == 3);
  CHECK_THROWS_AS(x.count_nonzero(optional<int64_t>(2)), IndexError);
}

TEST_CASE("max and min propagate NaN and treat infinities as ordinary values") {
  for (int64_t n : {5, 2000})
    for (ScalarType type : {kFloat, kDouble}) {
      Tensor x = zeros({n}, type) + arange(n, type);
      x.select(0, n / 2).fill_(kNan);
      x.select(0, n - 1).fill_(kNan);
      CHECK(std::isnan(max(x).item<double>()));
      CHECK(std::isnan(min(x).item<double>()));
      CHECK(argmax(x).item<int64_t>() == n / 2);
      CHECK(argmin(x).item<int64_t>() == n / 2);
      const Tensor two = x.view({n, 1}).expand({n, 2}).contiguous();
      CHECK(at(std::get<1>(max(two, 0)), 1) == static_cast<double>(n / 2));
      CHECK(std::isnan(at(amin(two, 0), 1)));
    }
  CHECK(max(values({-kInf, -kInf})).item<double>() == -kInf);
  CHECK(logsumexp(values({-kInf, -kInf}), 0).item<double>() == -kInf);
  CHECK(logsumexp(values({kInf, 1}), 0).item<double>() == kInf);
  CHECK(logsumexp(values({1000, 1000}), 0).item<double>() == doctest::Approx(1000 + std::log(2.0)));
  CHECK(nansum(values({1, kNan, 2})).item<double>() == 3);
}

TEST_CASE("equal elements: max shares the gradient, max along a dimension selects the first") {
  Tensor x = values({1, 3, 3, 2}).requires_grad_();
  max(x).backward();
  CHECK(at(x.grad(), 1) == 0.5);
  CHECK(at(x.grad(), 2) == 0.5);
  CHECK(at(x.grad(), 0) == 0);
  x.mutable_grad().reset();
  std::get<0>(max(x, 0)).backward();
  CHECK(at(x.grad(), 1) == 1);
  CHECK(at(x.grad(), 2) == 0);
}

TEST_CASE("gradients where formulas divide by zero") {
  Tensor zero = zeros({3}, kDouble).requires_grad_();
  norm(zero).backward();
  CHECK(at(zero.grad(), 0) == 0);
  zero.mutable_grad().reset();
  tandem::std(zero).backward();
  CHECK(at(zero.grad(), 0) == 0);
  Tensor x = values({2, 0, 3}).requires_grad_();
  prod(x).backward();
  CHECK(at(x.grad(), 0) == 0);
  CHECK(at(x.grad(), 1) == 6);
}

TEST_CASE("the gradient of the mean of an empty tensor is empty and ignores the cotangent") {
  const Tensor x = empty({2, 0}, TensorOptions(kDouble).requires_grad(true));
  for (const Tensor& y : {x.mean(), x.var({0, 1}, false), std::get<0>(var_mean(x, true))}) {
    const Tensor v = ones({}, TensorOptions(kDouble).requires_grad(true));
    const Tensor g = autograd::grad({y}, {x}, {v}, nullopt, /*create_graph=*/true)[0];
    CHECK(g.sizes() == x.sizes());
    CHECK(autograd::grad({g}, {v}, {ones_like(x)})[0].item<double>() == 0);
  }
}

TEST_CASE("dtypes") {
  for (ScalarType type : {kByte, kChar, kShort, kInt, kLong, kBool}) {
    const Tensor x = ones({300}, type);
    CHECK(((sum(x).dtype() == kLong)));
    CHECK(sum(x).item<int64_t>() == 300);
    CHECK(((prod(x, 0).dtype() == kLong)));
    CHECK(((sum(x, kFloat).dtype() == kFloat)));
    CHECK(((max(x).dtype() == type)));
    CHECK(((any(x).dtype() == (type == kByte ? kByte : kBool))));
  }
  CHECK(sum(full({300}, 100, kInt), kByte).item<int64_t>() == 30000 % 256);
  CHECK(count_nonzero(values({0, 2, kNan})).item<int64_t>() == 2);
  CHECK_THROWS_WITH_AS(mean(ones({2}, kLong)), doctest::Contains("floating point or complex dtype, got int64"), Error);
  CHECK(mean(ones({2}, kLong), kDouble).item<double>() == 1);
  CHECK_THROWS_WITH_AS(var(ones({2}, kLong)), doctest::Contains("var"), Error);
}

TEST_CASE("invalid arguments throw") {
  const Tensor x = ones({2, 3});
  CHECK_THROWS_AS(sum(x, 2), IndexError);
  CHECK_THROWS_AS(max(x, -3), IndexError);
  CHECK_THROWS_AS(sum(x, {0, 0}), Error);
  CHECK_THROWS_AS(sum(x, {1, -1}), Error);
}

// 1e6 + k / 16 for k = 0 … 31 in turn: exact in float32, but their mean is not.
Tensor far_from_0(int64_t count, ScalarType type) {
  const Tensor k = (arange(count, kLong) * 5).remainder(Scalar(32));
  return (k.to(kDouble) / 16 + 1e6).to(type);
}

TEST_CASE("the variance of numbers much larger than it, over all and some dimensions") {
  const double biased = (32 * 32 - 1) / 12.0 / 256;
  for (ScalarType type : {kFloat, kDouble})
    for (int64_t n : {32, 1024, 65536}) {
      const Tensor row = far_from_0(n, type), rows = row.expand({5, n}), columns = rows.t().contiguous();
      const double unbiased = biased * static_cast<double>(n) / static_cast<double>(n - 1);
      for (const Tensor& v : {row.var(), rows.var(IntArrayRef(1)), columns.var(IntArrayRef(0)),
                              std::get<0>(var_mean(columns, IntArrayRef(0))), rows.contiguous().var(IntArrayRef(1))})
        for (double own : values(v)) CHECK(own == doctest::Approx(unbiased).epsilon(2e-6));
      for (const Tensor& s : {row.std(), columns.std(IntArrayRef(0)), std::get<0>(std_mean(rows, IntArrayRef(1)))})
        for (double own : values(s)) CHECK(own == doctest::Approx(std::sqrt(unbiased)).epsilon(2e-6));
    }
  const Tensor same = full({7, 3}, 0.1, kFloat);  // with a rounded mean
  for (double own : values(same.var(IntArrayRef(0)))) CHECK(std::abs(own) < 1e-16);
}

TEST_CASE("the same bits on any number of threads") {
  const Tensor x = make_inputs({.cases = {{constant({40, 7, 900})}}}, 0, kFloat)[0];
  same_bits_on_any_threads([&] {
    return Tensors{sum(x),
                   sum(x, 0),
                   sum(x, 1),
                   sum(x, 2),
                   sum(x, {0, 2}),
                   mean(x, {0, 1}),
                   prod(x, 0),
                   norm(x),
                   var(x, {0, 2}),
                   logsumexp(x, 2),
                   amax(x),
                   argmax(x),
                   argmin(x),
                   cumsum(x, 2),
                   std::get<1>(max(x, 0)),
                   std::get<1>(max(x, 2)),
                   cumprod(x, 0)};
  });
}

TEST_CASE("dtype applies before the reduction; all and any with no dimensions") {
  const Tensor x = full({2, 2}, 0.25);
  CHECK(sum(x, kBool).item<bool>());
  CHECK(prod(x, kBool).item<bool>());
  CHECK(nansum(full({2}, std::nan("")), kBool).item<bool>());
  CHECK(show(all(x, IntArrayRef{}, false)) == "[2, 2] 1 1 1 1");
  CHECK(show(any(zeros({2}), IntArrayRef{}, true)) == "[2] 0 0");
}
