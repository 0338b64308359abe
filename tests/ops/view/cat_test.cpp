// Joining, repeating and rotating: elements of counted tensors, first and second gradients, error messages.
#include "tandem/autograd/ops/view/cat.h"

#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/view/flip.h"
#include "tandem/autograd/ops/view/repeat.h"
#include "tandem/autograd/ops/view/tril.h"
#include "tandem/autograd/ops/view/view.h"
#include "tandem/tests/ops/values.h"

using namespace tandem;
using namespace tandem::testing;

TEST_CASE("cat and stack") {
  const Tensor a = counting({2, 2}), b = counting({2, 1}) + 10;
  CHECK(show(cat({a, b}, 1)) == "[2, 3] 0 1 10 2 3 11");
  CHECK(show(cat({a, a.t()})) == "[4, 2] 0 1 2 3 0 2 1 3");
  CHECK(show(stack({a, a + 4}, -1)) == "[2, 2, 2] 0 4 1 5 2 6 3 7");
  CHECK(show(stack({counting({}), counting({})})) == "[2] 0 0");
  CHECK(show(cat({empty_raw({0}, kFloat, Device(kCPU, 0)), a})) == show(a));
  CHECK(((cat({counting({2}, kInt), counting({1}, kDouble)}).dtype() == kDouble)));
  CHECK(show(hstack({counting({2}), counting({1})})) == "[3] 0 1 0");
  CHECK(show(vstack({counting({2}), counting({2})})) == "[2, 2] 0 1 0 1");
  CHECK(show(meshgrid({counting({2}), counting({3})})[1]) == "[2, 3] 0 1 2 0 1 2");
  CHECK(show(meshgrid({counting({2}), counting({3})}, "xy")[0]) == "[3, 2] 0 1 0 1 0 1");
  CHECK_THROWS_WITH_AS(cat({a, counting({3, 3})}), doctest::Contains("sizes differ in dimensions other than 0"), Error);
  CHECK_THROWS_WITH_AS(stack({a, b}), doctest::Contains("tensor 1 [2, 1] float32 cpu"), Error);
  CHECK_THROWS_WITH_AS(cat({counting({})}), doctest::Contains("use stack"), Error);
  CHECK_THROWS_AS(cat(std::vector<Tensor>()), Error);
}

TEST_CASE("many small parts and one large part match separate copies") {
  std::vector<Tensor> parts;
  for (int64_t i = 0; i < 300; ++i) parts.push_back(counting({1 + i % 3, 157}) + i);
  for (const int64_t dim : {0, 1}) {
    if (dim == 1)
      for (Tensor& p : parts) p = p.t();
    const Tensor all = cat(parts, dim);
    int64_t start = 0, wrong = 0;
    for (const Tensor& p : parts) {
      const int64_t length = p.size(dim);
      wrong += values(all.narrow(dim, start, length)) != values(p) ? 1 : 0;
      start += length;
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("repeat, tile and repeat_interleave") {
  const Tensor x = counting({2, 2});
  CHECK(show(x.repeat({2, 2})) == "[4, 4] 0 1 0 1 2 3 2 3 0 1 0 1 2 3 2 3");
  CHECK(show(counting({2}).repeat({2, 1})) == "[2, 2] 0 1 0 1");
  CHECK(x.repeat({1, 1}).storage() != x.storage());
  CHECK(x.unsqueeze(0).repeat({3, 1, 1}).is_contiguous());
  CHECK(x.repeat({0, 1}).sizes() == IntArrayRef({0, 2}));
  CHECK(show(tile(x, {2})) == "[2, 4] 0 1 0 1 2 3 2 3");
  CHECK(show(x.repeat_interleave(2)) == "[8] 0 0 1 1 2 2 3 3");
  CHECK(show(x.repeat_interleave(2, 0)) == "[4, 2] 0 1 0 1 2 3 2 3");
  CHECK(show(repeat_interleave(x, indices({0, 3}), 1)) == "[2, 3] 1 1 1 3 3 3");
  CHECK_THROWS_WITH_AS(x.repeat({2}), doctest::Contains("fewer numbers"), Error);
  CHECK_THROWS_WITH_AS(x.repeat({-1, 1}), doctest::Contains("negative"), Error);
  CHECK_THROWS_WITH_AS(repeat_interleave(x, indices({1, 2, 3}), 0), doctest::Contains("3 repeats for dimension 0"),
                       Error);
}

TEST_CASE("flip, roll and rot90") {
  const Tensor x = counting({2, 3});
  CHECK(show(x.flip({1})) == "[2, 3] 2 1 0 5 4 3");
  CHECK(show(x.t().flip({0, 1})) == "[3, 2] 5 2 4 1 3 0");
  CHECK(show(flipud(x)) == "[2, 3] 3 4 5 0 1 2");
  CHECK(show(x.roll({1})) == "[2, 3] 5 0 1 2 3 4");
  CHECK(show(x.roll({-1, 1}, {1, 0})) == "[2, 3] 4 5 3 1 2 0");
  CHECK(show(rot90(x)) == "[3, 2] 2 5 1 4 0 3");
  CHECK(show(rot90(x, -1)) == "[3, 2] 3 0 4 1 5 2");
  CHECK(show(rot90(x, 2)) == "[2, 3] 5 4 3 2 1 0");
  CHECK_THROWS_WITH_AS(x.flip({0, 0}), doctest::Contains("twice"), Error);
  CHECK(show(x.tril()) == "[2, 3] 0 0 0 3 4 0");
  CHECK(show(x.triu(1)) == "[2, 3] 0 1 2 0 0 5");
  CHECK(show(x.t().tril(-1)) == "[3, 2] 0 0 1 0 2 5");
  CHECK(show(counting({2, 2, 2}).triu()) == "[2, 2, 2] 0 1 0 3 4 5 0 7");
  CHECK_THROWS_WITH_AS(counting({3}).tril(), doctest::Contains("at least 2 dimensions"), Error);
}

TEST_CASE("joining and rotating: first and second gradients, strides, threads") {
  const auto weigh = [](const Tensor& t) { return Tensors{t * t}; };
  run_all({
      {.name = "cat",
       .torch = "torch.cat([x0, x1], 1)",
       .fn =
           [=](const Tensors& x) {
             return weigh(cat({x[0], x[1]}, 1));
           },
       .cases = {{real({2, 3}), real({2, 1})}, {real({2, 0}), real({2, 2})}, {constant({2, 1}), real({2, 2})}}},
      {.name = "cat of one tensor twice",
       .torch = "torch.cat([x0, x0])",
       .fn =
           [=](const Tensors& x) {
             return weigh(cat({x[0], x[0]}));
           },
       .cases = {{real({2, 3})}}},
      {.name = "stack",
       .torch = "torch.stack([x0, x1], -1)",
       .fn =
           [=](const Tensors& x) {
             return weigh(stack({x[0], x[1]}, -1));
           },
       .cases = {{real({2, 3}), real({2, 3})}, {testing::real({}), testing::real({})}}},
      {.name = "repeat",
       .torch = "x0.repeat(2, 1, 3)",
       .fn =
           [=](const Tensors& x) {
             return weigh(x[0].repeat({2, 1, 3}));
           },
       .cases = {{real({2, 2})}, {real({1, 2})}}},
      {.name = "repeat_interleave",
       .torch = "x0.repeat_interleave(2, 1)",
       .fn = [=](const Tensors& x) { return weigh(x[0].repeat_interleave(2, 1)); },
       .cases = {{real({2, 3})}}},
      {.name = "flip",
       .torch = "x0.flip(0, 1)",
       .fn =
           [=](const Tensors& x) {
             return weigh(x[0].flip({0, 1}));
           },
       .cases = {{real({2, 3})}, {real({3, 1, 2})}, {real({0, 2})}}},
      {.name = "roll",
       .torch = "x0.roll((1, -1), (0, 1))",
       .fn =
           [=](const Tensors& x) {
             return weigh(x[0].roll({1, -1}, {0, 1}));
           },
       .cases = {{real({2, 3})}}},
      {.name = "tril",
       .torch = "x0.tril(1)",
       .fn = [=](const Tensors& x) { return weigh(x[0].tril(1)); },
       .cases = {{real({3, 4})}, {real({2, 2, 3})}}},
      {.name = "triu",
       .torch = "x0.triu(-1)",
       .fn = [=](const Tensors& x) { return weigh(x[0].triu(-1)); },
       .cases = {{real({4, 3})}}},
  });
}

TEST_CASE("cat of only empty vectors accepts any dimension") { CHECK(cat({zeros({0})}, 3).numel() == 0); }
