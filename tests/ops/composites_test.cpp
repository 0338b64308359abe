// Composites without gradients, and behaviour that the comparison with PyTorch on random arguments does not
// cover: in-place forms, memory, errors.
#include <doctest/doctest.h>

#include <limits>

#include "tandem/autograd/torch_names.h"
#include "tandem/tandem.h"
#include "tandem/tests/ops/values.h"

using namespace tandem;
using namespace tandem::testing;
namespace F = tandem::nn::functional;

namespace {
Tensor longs(const std::vector<int64_t>& v) { return tensor(v, TensorOptions(kLong)); }
bool same(const Tensor& a, const Tensor& b) { return a.dtype() == b.dtype() && a.sizes() == b.sizes() && equal(a, b); }
}  // namespace

TEST_CASE("unique: values, indices and counts") {
  const Tensor x = longs({3, 1, 2, 3, 1, 3});
  auto [values, inverse, counts] = _unique2(x, true, true, true);
  CHECK(same(values, longs({1, 2, 3})));
  CHECK(same(inverse, longs({2, 0, 1, 2, 0, 2})));
  CHECK(same(counts, longs({2, 1, 3})));
  CHECK(std::get<1>(_unique2(x)).numel() == 0);
  CHECK(same(std::get<0>(_unique(x)), longs({1, 2, 3})));
  auto [runs, places, lengths] = unique_consecutive(longs({1, 1, 2, 2, 2, 1}), true, true);
  CHECK(same(runs, longs({1, 2, 1})));
  CHECK(same(places, longs({0, 0, 1, 1, 1, 2})));
  CHECK(same(lengths, longs({2, 3, 1})));
  const Tensor rows = tensor({2.0, 1.0, 1.0, 5.0, 2.0, 1.0}).view({3, 2});
  auto [slices, which, often] = unique_dim(rows, 0, true, true, true);
  CHECK(equal(slices, tensor({1.0, 5.0, 2.0, 1.0}).view({2, 2})));
  CHECK(same(which, longs({1, 0, 1})));
  CHECK(same(often, longs({1, 2})));
  CHECK(std::get<0>(_unique2(empty({0}))).numel() == 0);
}

TEST_CASE("searchsorted, bucketize, isin") {
  const Tensor sorted = tensor({1.0, 3.0, 3.0, 5.0});
  const Tensor x = tensor({0.0, 1.0, 3.0, 6.0});
  CHECK(same(searchsorted(sorted, x), longs({0, 0, 1, 4})));
  CHECK(same(searchsorted(sorted, x, false, true), longs({0, 1, 3, 4})));
  CHECK(same(searchsorted(sorted, x, true, false, "right"), longs({0, 1, 3, 4}).to(kInt)));
  CHECK(searchsorted(sorted, Scalar(4)).item<int64_t>() == 3);
  CHECK(same(bucketize(x, sorted), longs({0, 0, 1, 4})));
  const Tensor mixed = tensor({3.0, 1.0, 5.0, 3.0});
  CHECK(same(searchsorted(mixed, x, false, false, nullopt, mixed.argsort()), longs({0, 0, 1, 4})));
  CHECK_THROWS_WITH_AS(searchsorted(sorted, x, false, true, "left"), doctest::Contains("contradicts"), Error);
  CHECK_THROWS_WITH_AS(searchsorted(zeros({2, 3}), zeros({3, 3})), doctest::Contains("before the last"), Error);
  CHECK(same(isin(longs({1, 2, 3}), longs({3, 1})), tensor({true, false, true})));
  CHECK(same(isin(longs({1, 2, 3}), longs({3, 1}), false, true), tensor({false, true, false})));
  CHECK(same(isin(longs({1, 2}), Scalar(2)), tensor({false, true})));
}

TEST_CASE("in-place comparisons and logic keep the dtype") {
  Tensor x = tensor({1.0F, 2.0F, 3.0F});
  CHECK(x.gt_(2).is_same(x));
  CHECK(equal(x, tensor({0.0F, 0.0F, 1.0F})));
  CHECK(equal(x.logical_or_(tensor({1, 0, 0})), tensor({1.0F, 0.0F, 1.0F})));
  CHECK(equal(x.logical_xor_(tensor({1, 1, 0})), tensor({0.0F, 1.0F, 1.0F})));
  CHECK(equal(x.logical_and_(tensor({1, 1, 0})), tensor({0.0F, 1.0F, 0.0F})));
  CHECK_THROWS_WITH_AS(x.eq_(zeros({2, 3})), doctest::Contains("does not fit"), Error);
  Tensor leaf = ones({2}, TensorOptions(kFloat).requires_grad(true));
  CHECK_THROWS_WITH_AS(leaf.eq_(1), doctest::Contains("leaf"), Error);
  Tensor y = leaf * 3;
  y.lt_(1);
  y.sum().backward();
  CHECK(equal(leaf.grad(), zeros({2})));
  CHECK(equal(longs({1, 2}).bitwise_left_shift_(2), longs({4, 8})));
}

TEST_CASE("aliases are the same operations") {
  const Tensor a = tensor({-1.5, 0.5}), b = tensor({2.0, 0.25});
  CHECK(equal(a.multiply(b), a * b));
  CHECK(equal(multiply(a, 2), a * 2));
  CHECK(equal(a.clone().divide_(b), a / b));
  CHECK(equal(a.subtract(b, 2), a - 2 * b));
  CHECK(equal(a.absolute(), a.abs()));
  CHECK(equal(a.greater(b), a > b));
  CHECK(equal(less_equal(a, 0), a <= 0));
  CHECK(equal(a.not_equal(b), a != b));
  CHECK(equal(arctan(a), a.atan()));
  CHECK(equal(a.fix(), a.trunc()));
  CHECK(equal(a.clone().clip_(0, 1), a.clamp(0, 1)));
  CHECK(broadcast_to(a, {3, 2}).sizes() == IntArrayRef({3, 2}));
  CHECK(equal(concat({a, b}), cat({a, b})));
  const Tensor m = arange(6).view({2, 3});
  CHECK(equal(m.swapaxes(0, 1), m.t()));
  CHECK(equal(m.moveaxis(0, 1), m.t()));
  CHECK(equal(std::get<0>(m.median(1)), longs({1, 4})));
  CHECK(equal(m.argwhere(), m.nonzero()));
  CHECK(arange(1, 2).is_nonzero());
}

TEST_CASE("resize_ and in-place views") {
  Tensor x = arange(6).to(kFloat);
  const Tensor before = x;
  x.resize_({2, 2});
  CHECK(equal(x, tensor({0.0F, 1.0F, 2.0F, 3.0F}).view({2, 2})));
  x.resize_({3, 3});
  CHECK(equal(x.flatten().narrow(0, 0, 6), arange(6).to(kFloat)));
  x.resize_as_(zeros({4}));
  CHECK(x.sizes() == IntArrayRef({4}));
  CHECK_THROWS_WITH_AS(ones({2}, TensorOptions(kFloat).requires_grad(true)).resize_({3}), doctest::Contains("gradient"),
                       Error);
  Tensor m = arange(6).view({2, 3});
  m.t_();
  CHECK(m.sizes() == IntArrayRef({3, 2}));
  m.swapaxes_(0, 1);
  CHECK(m.sizes() == IntArrayRef({2, 3}));
  Tensor square = zeros({3, 3});
  CHECK(square.fill_diagonal_(2).trace().item<float>() == 6);
  Tensor tall = zeros({7, 2}).fill_diagonal_(1, true);
  CHECK(tall.sum().item<float>() == 5);
  CHECK(tall[3][0].item<float>() == 1);
}

// Output i is the input at floor(i scale), or at floor((i + 1/2) scale) where the mode is exact.
TEST_CASE("nearest and exact nearest neighbours, of shorter and longer lines") {
  const Tensor line = arange(5, kFloat).view({1, 1, 5});
  const auto read = [&](nn::InterpolationMode mode, int64_t size) {
    return show(F::interpolate(line, F::InterpolateFuncOptions().size(std::vector<int64_t>{size}).mode(mode))[0][0]);
  };
  CHECK(read(kNearest, 3) == "[3] 0 1 3");
  CHECK(read(kNearestExact, 3) == "[3] 0 2 4");
  CHECK(read(kNearest, 2) == "[2] 0 2");
  CHECK(read(kNearestExact, 2) == "[2] 1 3");
  CHECK(read(kNearest, 8) == "[8] 0 0 1 1 2 3 3 4");
  CHECK(read(kNearestExact, 8) == "[8] 0 0 1 2 2 3 4 4");
  CHECK(read(kNearest, 1) == "[1] 0");
  CHECK(read(kNearestExact, 1) == "[1] 2");
}

TEST_CASE("errors name the operation") {
  CHECK_THROWS_WITH_AS(hsplit(zeros({2, 3}), 2), doctest::Contains("hsplit"), Error);
  CHECK_THROWS_WITH_AS(zeros({3}).vsplit(1), doctest::Contains("vsplit"), Error);
  CHECK_THROWS_WITH_AS(pad(zeros({1, 2, 3}), {3, 0}, "reflect"), doctest::Contains("less than the size"), Error);
  CHECK_THROWS_WITH_AS(pad(zeros({2, 3}), {1, 1}, "mirror"), doctest::Contains("mode"), Error);
  CHECK_THROWS_WITH_AS(constant_pad_nd(zeros({3}), {-2, -2}), doctest::Contains("removes more elements than there are"),
                       Error);
  CHECK_THROWS_WITH_AS(pixel_shuffle(zeros({1, 3, 2, 2}), 2), doctest::Contains("divide"), Error);
  CHECK_THROWS_WITH_AS(upsample_bilinear2d(zeros({1, 3, 4}), {2, 2}, false), doctest::Contains("[N, C]"), Error);
  CHECK_THROWS_WITH_AS(cdist(zeros({2, 3}), zeros({2, 4})), doctest::Contains("cdist"), Error);
  CHECK_THROWS_WITH_AS(prelu(zeros({2, 3}), zeros({2})), doctest::Contains("1 or 3 weights"), Error);
  CHECK_THROWS_WITH_AS(cross(zeros({2}), zeros({2})), doctest::Contains("size 3"), Error);
  CHECK_THROWS_WITH_AS(zeros({4}).masked_scatter_(ones({4}, kBool), ones({3})),
                       doctest::Contains("requires 4 elements"), Error);
  CHECK_THROWS_WITH_AS(select_scatter(zeros({2, 3}), zeros({2}), 0, 1), doctest::Contains("must be"), Error);
  CHECK_THROWS_WITH_AS(matrix_power(zeros({2, 2}), -1), doctest::Contains("singular"), Error);
  CHECK(equal(matrix_power(eye(2) * 2, -2), eye(2) / 4));
  CHECK_THROWS_WITH_AS(quantile(zeros({3}), 1.5), doctest::Contains("[0, 1]"), Error);
  CHECK(equal(matrix_power(arange(4).to(kFloat).view({2, 2}), 0), eye(2)));
}

TEST_CASE("pad with negative numbers: circular repeats what they leave, the other modes read the whole dimension") {
  const Tensor x = (counting({1, 5}, kDouble) + 1).requires_grad_();
  CHECK(show(pad(x, {-1, 2}, "circular")) == "[1, 6] 2 3 4 5 2 3");
  CHECK(show(pad(x, {3, -2}, "circular")) == "[1, 6] 1 2 3 1 2 3");
  CHECK(show(pad(x, {-2, -1}, "circular")) == "[1, 2] 3 4");
  CHECK(show(pad(x, {-4, -1}, "circular")) == "[1, 0]");
  CHECK(show(pad(x, {5, 5}, "circular")) == "[1, 15] 1 2 3 4 5 1 2 3 4 5 1 2 3 4 5");
  CHECK(show(pad(x, {-2, 3}, "reflect")) == "[1, 6] 3 4 5 4 3 2");
  CHECK(show(pad(x, {-6, 2}, "reflect")) == "[1, 1] 3");
  CHECK(show(pad(x, {3, -6}, "reflect")) == "[1, 2] 4 3");
  CHECK(show(pad(x, {-3, 2}, "replicate")) == "[1, 4] 4 5 5 5");
  CHECK(show(pad(x, {2, -4}, "replicate")) == "[1, 3] 1 1 1");
  using Pair = std::vector<int64_t>;
  for (const Pair& numbers : {Pair{3, -3}, {-1, 5}, {6, 0}, {-5, 1}})
    CHECK_THROWS_WITH_AS(pad(x, numbers, "circular"), doctest::Contains("more than once"), Error);
  CHECK_THROWS_WITH_AS(pad(x, {-6, 1}, "circular"), doctest::Contains("removes more"), Error);
  CHECK_THROWS_WITH_AS(pad(x, {-5, 0}, "reflect"), doctest::Contains("leaves no elements"), Error);
  const Tensor volume = counting({2, 2, 3, 4}, kDouble).requires_grad_();
  for (const char* mode : {"circular", "reflect", "replicate"})
    gradcheck([&](const Tensors& t) { return Tensors{pad(t[0], {-1, 2, 1, -1}, mode)}; }, {volume});
}

TEST_CASE("quantiles between an infinity and a number are that infinity") {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  const Tensor q = tensor({0.25, 0.5, 0.75}, kDouble), low = tensor({1.0, 2.0, -inf}, kDouble);
  const auto linear = [&](const Tensor& x) { return show(nanquantile(x, q)); };
  CHECK(linear(low) == "[3] -inf 1 1.5");
  CHECK(linear(tensor({nan, 1.0, 2.0, -inf}, kDouble)) == "[3] -inf 1 1.5");
  CHECK(linear(tensor({nan, 1.0, 2.0, inf}, kDouble)) == "[3] 1.5 2 inf");
  CHECK(linear(tensor({inf, 1.0, -inf, -inf, inf}, kDouble)) == "[3] -inf 1 inf");
  CHECK(linear(tensor({inf, inf, inf, inf}, kDouble)) == "[3] inf inf inf");
  CHECK(nanquantile(tensor({-inf, inf}, kDouble), 0.5).isnan().item<bool>());
  CHECK(show(quantile(low, q)) == "[3] -inf 1 1.5");
  CHECK(show(quantile(low, q, nullopt, false, "midpoint")) == "[3] -inf 1 1.5");
  CHECK(show(quantile(low, q, nullopt, false, "lower")) == "[3] -inf 1 1");
  CHECK(show(quantile(low, q, nullopt, false, "higher")) == "[3] 1 1 2");
  CHECK(show(quantile(low, q, nullopt, false, "nearest")) == "[3] -inf 1 2");
  CHECK(nanmedian(tensor({nan, 1.0, -inf, -inf}, kDouble)).item<double>() == -inf);
}

TEST_CASE("dimensions that quantile and diff accept") {
  // A 0-dim tensor has the dimensions of a vector.
  CHECK(quantile(full({}, 3.0), 0.5, 0).item<float>() == 3);
  CHECK(quantile(full({}, 3.0), 0.5, -1, true).dim() == 0);
  for (const int64_t dim : {-2, 1, 2}) CHECK_THROWS_AS(quantile(full({}, 3.0), 0.5, dim), Error);
  // Only a dimension that is used must exist.
  const Tensor x = ones({2, 3, 4});
  for (const int64_t dim : {-4, 2, 3}) CHECK((diff(x, 0, dim).sizes() == x.sizes()));
  for (const int64_t dim : {-4, 3}) {
    CHECK_THROWS_AS(diff(x, 1, dim), Error);
    CHECK_THROWS_AS(diff(x, 0, dim, x), Error);
  }
  CHECK((diff(x, 0, 2, ones({2, 3, 1})).sizes() == x.sizes()));
  CHECK_THROWS_WITH_AS(diff(x, 0, 2, ones({2, 2, 1})), doctest::Contains("prepend or append"), Error);
}

TEST_CASE("multi_margin_loss of huge numbers has the gradient that fits, not an infinity") {
  const float most = std::numeric_limits<float>::max();
  const Tensor x = tensor({-most, 0.0f}).reshape({1, 2}).requires_grad_();
  multi_margin_loss(x, zeros({1}, kLong), 2).backward();
  CHECK(x.grad()[0][0].item<float>() == -most);
  CHECK(x.grad()[0][1].item<float>() == most);
}
