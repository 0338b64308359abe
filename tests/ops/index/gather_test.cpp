// gather, scatter, scatter_add and functions built on them: naive references, first and second gradients,
// error messages.
#include "tandem/autograd/ops/index/gather.h"

#include <random>

#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops/index/scatter_reduce.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/view/view.h"
#include "tandem/core/threads/parallel_for.h"
#include "tandem/tests/ops/values.h"

using namespace tandem;
using namespace tandem::testing;

namespace {

// Elements (a, i, b) of a row-major tensor viewed as [outer, size of dim, inner].
struct Three {
  explicit Three(const Tensor& t, int64_t dim) : size(t.size(dim)) {
    for (int64_t d = 0; d < dim; ++d) outer *= t.size(d);
    for (int64_t d = dim + 1; d < t.dim(); ++d) inner *= t.size(d);
  }
  std::size_t at(int64_t a, int64_t i, int64_t b) const { return static_cast<std::size_t>((a * size + i) * inner + b); }
  int64_t outer = 1, size, inner = 1;
};

}  // namespace

TEST_CASE("gather and scatter match loops for any dimension and strides") {
  std::mt19937 random(7);
  for (int trial = 0; trial < 60; ++trial) {
    const auto pick = [&](int64_t low, int64_t high) {
      return std::uniform_int_distribution<int64_t>(low, high)(random);
    };
    std::vector<int64_t> sizes{pick(1, 6), pick(1, 40), pick(1, 6)};
    const int64_t dim = pick(0, 2), count = pick(1, 30);
    Tensor x = counting(sizes, kDouble);
    sizes[static_cast<std::size_t>(dim)] = count;
    Tensor index = empty_raw(sizes, kLong, Device(kCPU, 0)), source = counting(sizes, kDouble) + 0.5;
    for (int64_t i = 0; i < index.numel(); ++i) index.data_ptr<int64_t>()[i] = pick(0, x.size(dim) - 1);
    const Three big(x, dim), small(index, dim);
    const auto xs = values(x), at = values(index), from = values(source);
    std::vector<double> read(at.size()), written = xs, added = xs;
    for (int64_t a = 0; a < small.outer; ++a)
      for (int64_t i = 0; i < count; ++i)
        for (int64_t b = 0; b < small.inner; ++b) {
          const std::size_t s = small.at(a, i, b), l = big.at(a, static_cast<int64_t>(at[s]), b);
          read[s] = xs[l];
          written[l] = from[s];
          added[l] += from[s];
        }
    const auto turned = [](const Tensor& t) { return t.permute({2, 0, 1}).contiguous().permute({1, 2, 0}); };
    CHECK(values(x.gather(dim, index)) == read);
    CHECK(values(turned(x).gather(dim, turned(index))) == read);
    CHECK(values(x.scatter(dim, index, source)) == written);
    CHECK(values(x.scatter_add(dim, turned(index), source)) == added);
    CHECK(values(turned(x).scatter_add_(dim, index, turned(source))) == added);
    CHECK(values(turned(x).scatter_(dim, index, source)) == written);
  }
}

TEST_CASE("an index smaller than the tensor, 0-dim tensors, empty tensors") {
  const Tensor x = counting({3, 4}), at = indices({2, 0, 1, 1}).view({2, 2});
  CHECK(show(x.gather(1, at)) == "[2, 2] 2 0 5 5");
  CHECK(show(x.gather(0, at.to(kInt))) == "[2, 2] 8 1 4 5");
  CHECK(show(x.scatter(1, at, 9)) == "[3, 4] 9 1 9 3 4 9 6 7 8 9 10 11");
  CHECK(show(x.scatter(1, at, x)) == "[3, 4] 1 1 0 3 4 5 6 7 8 9 10 11");
  CHECK(show(counting({}).gather(0, indices({0})[0])) == "[] 0");
  CHECK(show(x.gather(0, indices({}).view({0, 4}))) == "[0, 4]");
  CHECK(show(x.scatter_add(0, indices({}).view({0, 4}), x)) == show(x));
}

TEST_CASE("a tensor without dimensions takes any number of indices, all of them 0") {
  const Tensor number = full({}, 3.0), at = indices({0, 0}), src = counting({2}) + 4;
  CHECK(show(number.scatter_add(0, at, src)) == "[] 12");
  CHECK(show(number.scatter_reduce(0, at, src, "sum")) == "[] 12");
  CHECK(show(number.scatter_reduce(0, at, src, "prod")) == "[] 60");
  CHECK(show(number.scatter_reduce(0, at, src, "mean")) == "[] 4");
  CHECK(show(number.scatter_reduce(0, at, src, "amax")) == "[] 5");
  CHECK(show(number.scatter_reduce(0, at, src, "amin", false)) == "[] 4");
  CHECK(show(number.gather(0, at)) == "[2] 3 3");
  CHECK_THROWS_WITH_AS(number.scatter_reduce(0, indices({0, 1}), src, "sum"), doctest::Contains("index 1"), IndexError);
}

TEST_CASE("segment_reduce refuses lengths and offsets that do not fit the data") {
  const Tensor data = counting({2, 3}), lengths = indices({1, 2, 3, 0}).view({2, 2}), none;
  const auto refused = [&](const Tensor& given, int64_t axis, const char* message) {
    CHECK_THROWS_WITH_AS(segment_reduce(data, "sum", given, none, none, axis), doctest::Contains(message), Error);
  };
  CHECK(show(segment_reduce(data, "sum", lengths, none, none, 1)) == "[2, 2] 0 3 12 0");
  CHECK(show(segment_reduce(data, "sum", none, none, indices({0, 1, 3, 0, 3, 3}).view({2, 3}), 1)) ==
        "[2, 2] 0 3 12 0");
  refused(indices({1, 2}).view({1, 2}), 1, "sizes differ at dimension 0");
  refused(lengths.repeat({2, 1}), 1, "sizes differ at dimension 0");
  refused(lengths, 0, "integers with 1 dimensions");
  refused(indices({3}), 1, "integers with 2 dimensions");
  refused(lengths.to(kFloat), 1, "must be integers");
  refused(lengths.to(kBool), 1, "must be integers");
  refused(indices({3, -1}), 0, "must not be negative");
  refused(indices({1, 2}), 0, "must add up to 2");
  CHECK_THROWS_WITH_AS(segment_reduce(data, "sum", lengths, lengths, none, 1), doctest::Contains("not supported"),
                       Error);
  CHECK_THROWS_WITH_AS(segment_reduce(data, "sum", none, none, none, 1), doctest::Contains("either"), Error);
  CHECK_THROWS_WITH_AS(segment_reduce(data, "sum", lengths, none, lengths, 1), doctest::Contains("either"), Error);
  CHECK_THROWS_WITH_AS(segment_reduce(data.to(kLong), "sum", lengths, none, none, 1), doctest::Contains("floating"),
                       Error);
  CHECK_THROWS_WITH_AS(segment_reduce(data, "median", lengths, none, none, 1), doctest::Contains("\"median\""), Error);
}

TEST_CASE("one_hot and take_along_dim") {
  CHECK(show(one_hot(indices({1, 0, 2}))) == "[3, 3] 0 1 0 1 0 0 0 0 1");
  CHECK(show(one_hot(indices({1, 0}).view({2, 1}), 2)) == "[2, 1, 2] 0 1 1 0");
  CHECK(((one_hot(indices({1}), 5).dtype() == kLong)));
  CHECK_THROWS_WITH_AS(one_hot(indices({3}), 3), doctest::Contains("index 3 is out of bounds"), IndexError);
  CHECK_THROWS_AS(one_hot(indices({-1}), 3), IndexError);
  CHECK(show(take_along_dim(counting({2, 3}), indices({2, 0}).view({1, 2}), 1)) == "[2, 2] 2 0 5 3");
  CHECK(show(take_along_dim(counting({2, 3}), indices({5, 1}))) == "[2] 5 1");
}

TEST_CASE("gather and scatter reject mismatched arguments") {
  const Tensor x = counting({3, 4});
  CHECK_THROWS_WITH_AS(x.gather(1, indices({4}).view({1, 1})),
                       doctest::Contains("gather: index 4 is out of bounds for dimension 1 with size 4"), IndexError);
  CHECK_THROWS_WITH_AS(x.scatter(0, indices({-1}).view({1, 1}), 0), doctest::Contains("index -1"), IndexError);
  CHECK_THROWS_WITH_AS(x.gather(1, indices({1})), doctest::Contains("as many dimensions"), Error);
  CHECK_THROWS_WITH_AS(x.gather(0, counting({1, 1})), doctest::Contains("int64 or int32"), Error);
  CHECK_THROWS_WITH_AS(x.gather(0, indices({0, 0, 0, 0, 0}).view({1, 5})), doctest::Contains("larger than the tensor"),
                       Error);
  CHECK_THROWS_WITH_AS(x.scatter(0, indices({0, 0}).view({1, 2}), counting({1, 1})),
                       doctest::Contains("larger than src"), Error);
  CHECK_THROWS_WITH_AS(x.scatter(0, indices({0}).view({1, 1}), counting({1, 1}, kDouble)), doctest::Contains("dtypes"),
                       Error);
  CHECK_THROWS_WITH_AS(counting({1, 4}).expand({3, 4}).scatter_(0, indices({0}).view({1, 1}), 0),
                       doctest::Contains("overlaps itself"), Error);
}

TEST_CASE("gather and scatter: first and second gradients, strides, threads") {
  const auto weigh = [](const Tensor& t) { return Tensors{t * t}; };
  run_all({
      {.name = "gather",
       .torch = "x0.gather(1, x1)",
       .fn = [=](const Tensors& x) { return weigh(x[0].gather(1, x[1])); },
       .cases = {{real({3, 4}), integers({3, 2}, 0, 4)},
                 {real({3, 4}), integers({2, 7}, 0, 4)},
                 {real({2, 3, 2}), integers({2, 2, 1}, 0, 3)},
                 {real({2, 3}), integers({0, 1}, 0, 3)}}},
      {.name = "gather 0",
       .torch = "x0.gather(0, x1)",
       .fn = [=](const Tensors& x) { return weigh(x[0].gather(0, x[1])); },
       .cases = {{real({3, 4}), integers({5, 4}, 0, 3)}, {real({4}), integers({6}, 0, 4)}}},
      {.name = "scatter",
       .torch = "x0.scatter(1, x1, x2)",
       .fn =
           [=](const Tensors& x) {
             return weigh(x[0].scatter(1, indices({2, 0}).view({2, 1}).to(x[0].device()), x[1]));
           },
       .cases = {{real({2, 4}), real({2, 1})}, {real({3, 3}), real({3, 2})}}},
      {.name = "scatter a number",
       .torch = "x0.scatter(1, x1, 3.0)",
       .fn = [=](const Tensors& x) { return weigh(x[0].scatter(1, x[1], 3.0)); },
       .cases = {{real({3, 4}), integers({3, 2}, 0, 4)}}},
      {.name = "scatter_add",
       .torch = "x0.scatter_add(0, x1, x2)",
       .fn = [=](const Tensors& x) { return weigh(x[0].scatter_add(0, x[1], x[2])); },
       .cases = {{real({3, 2}), integers({4, 2}, 0, 3), real({4, 2})}}},
      {.name = "scatter_add_ into a view",
       .torch = "",
       .fn =
           [=](const Tensors& x) {
             Tensor y = x[0] * 2;
             y.t().scatter_add_(0, x[1], x[2]);
             return weigh(y);
           },
       .cases = {{real({2, 3}), integers({4, 2}, 0, 3), real({4, 2})}}},
  });
}

TEST_CASE("gradients at repeated indices have the same bits on any number of threads") {
  const int before = get_num_threads();
  std::vector<std::vector<double>> got;
  for (const int threads : {1, 2, 5}) {
    set_num_threads(threads);
    Tensor x = full({300, 64}, 1.0, requires_grad()), at = empty_raw({900, 64}, kLong, Device(kCPU, 0));
    for (int64_t i = 0; i < at.numel(); ++i) at.data_ptr<int64_t>()[i] = (i * 7919) % 11;
    const Tensor weights = counting({900, 64}) * 0.001 + 0.1;
    (x.gather(0, at) * weights).sum().backward();
    got.push_back(values(x.grad()));
  }
  set_num_threads(before);
  CHECK(got[0] == got[1]);
  CHECK(got[0] == got[2]);
}
