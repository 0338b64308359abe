// Views: geometry and elements of counted tensors, first and second gradients, error messages.
#include "tandem/autograd/ops/view/view.h"

#include <limits>

#include "tandem/autograd/engine.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/tests/ops/values.h"

using namespace tandem;
using namespace tandem::testing;

TEST_CASE("select, slice and narrow") {
  const Tensor x = counting({3, 4});
  CHECK(show(x[1]) == "[4] 4 5 6 7");
  CHECK(show(x[-1]) == "[4] 8 9 10 11");
  CHECK(show(x.select(1, 2)) == "[3] 2 6 10");
  CHECK(show(x[1][2]) == "[] 6");
  CHECK(show(x.slice(1, 1, 3)) == "[3, 2] 1 2 5 6 9 10");
  CHECK(show(x.slice(0, -2)) == "[2, 4] 4 5 6 7 8 9 10 11");
  CHECK(show(x.slice(1, nullopt, nullopt, 3)) == "[3, 2] 0 3 4 7 8 11");
  CHECK(show(x.slice(0, 2, 1)) == "[0, 4]");
  CHECK(show(x.slice(0, -100, 100)) == show(x));
  CHECK(show(x.slice(0, 1, 3, std::numeric_limits<int64_t>::max())) == "[1, 4] 4 5 6 7");
  CHECK(show(x.narrow(0, 1, 1)) == "[1, 4] 4 5 6 7");
  CHECK(show(x.narrow(1, -1, 1)) == "[3, 1] 3 7 11");
  CHECK(x[1].storage() == x.storage());
  CHECK_THROWS_WITH_AS(x[3], doctest::Contains("select: index 3 is out of bounds for dimension 0 with size 3"),
                       IndexError);
  CHECK_THROWS_WITH_AS(x.select(1, -5), doctest::Contains("index -5 is out of bounds for dimension 1 with size 4"),
                       IndexError);
  CHECK_THROWS_WITH_AS(x[0][0][0], doctest::Contains("0-dim tensor"), IndexError);
  CHECK_THROWS_WITH_AS(x.slice(0, 0, 1, 0), doctest::Contains("step must be positive"), Error);
  CHECK_THROWS_WITH_AS(x.narrow(1, 2, 3), doctest::Contains("start 2 and length 3 exceed dimension 1 of size 4"),
                       Error);
  CHECK_THROWS_AS(x.narrow(1, 5, 0), IndexError);
}

TEST_CASE("moving dimensions") {
  const Tensor x = counting({2, 3, 4});
  CHECK(show(x.permute({2, 0, 1}).slice(0, 0, 1)) == "[1, 2, 3] 0 4 8 12 16 20");
  CHECK(x.permute({2, 0, 1}).strides() == IntArrayRef({1, 12, 4}));
  CHECK(x.movedim(0, 2).sizes() == IntArrayRef({3, 4, 2}));
  CHECK(movedim(x, {0, 1}, {-1, 0}).sizes() == IntArrayRef({3, 4, 2}));
  CHECK(x.transpose(-1, 0).sizes() == IntArrayRef({4, 3, 2}));
  CHECK(x.unsqueeze(1).sizes() == IntArrayRef({2, 1, 3, 4}));
  CHECK(x.unsqueeze(-1).sizes() == IntArrayRef({2, 3, 4, 1}));
  CHECK(x.unsqueeze(1).squeeze().sizes() == x.sizes());
  CHECK(x.unsqueeze(1).unsqueeze(0).squeeze({0, 2}).sizes() == x.sizes());
  CHECK(x.unsqueeze(1).squeeze({0, -3}).sizes() == x.sizes());
  CHECK(x.unsqueeze(1).squeeze(0).sizes() == IntArrayRef({2, 1, 3, 4}));
  CHECK(x.flatten(1).sizes() == IntArrayRef({2, 12}));
  CHECK(x.flatten(0, 1).sizes() == IntArrayRef({6, 4}));
  CHECK(counting({}).flatten().sizes() == IntArrayRef({1}));
  CHECK(x.unflatten(2, {-1, 2}).sizes() == IntArrayRef({2, 3, 2, 2}));
  CHECK_THROWS_WITH_AS(x.permute({0, 1}), doctest::Contains("must name each of the 3 dimensions"), Error);
  CHECK_THROWS_WITH_AS(x.permute({0, 1, 1}), doctest::Contains("appears twice"), Error);
  CHECK_THROWS_AS(x.transpose(0, 3), IndexError);
  CHECK_THROWS_WITH_AS(x.unflatten(2, {3, 2}), doctest::Contains("does not hold 4"), Error);
  CHECK_THROWS_WITH_AS(x.transpose(0, 1).view({24}), doctest::Contains("use reshape"), Error);
}

TEST_CASE("unfold and diagonal") {
  const Tensor x = counting({7});
  CHECK(counting({4}).unfold(0, 0, 9).sizes() == IntArrayRef({1, 0}));
  CHECK(counting({4}).unfold(0, 2, INT64_MAX).sizes() == IntArrayRef({1, 2}));
  CHECK(show(x.unfold(0, 3, 2)) == "[3, 3] 0 1 2 2 3 4 4 5 6");
  CHECK(show(counting({2, 4}).unfold(1, 2, 2)) == "[2, 2, 2] 0 1 2 3 4 5 6 7");
  CHECK_THROWS_WITH_AS(x.unfold(0, 8, 1), doctest::Contains("window 8 is larger than dimension 0 of size 7"), Error);
  const Tensor m = counting({3, 4});
  CHECK(show(m.diagonal()) == "[3] 0 5 10");
  CHECK(show(m.diagonal(2)) == "[2] 2 7");
  CHECK(show(m.diagonal(-1)) == "[2] 4 9");
  CHECK(show(m.diagonal(9)) == "[0]");
  CHECK(show(counting({2, 3, 2}).diagonal(1, 2, 0)) == "[3, 1] 6 8 10");
  CHECK_THROWS_WITH_AS(m.diagonal(0, 1, -1), doctest::Contains("both are 1"), Error);
}

TEST_CASE("splitting") {
  const Tensor x = counting({7, 2});
  const auto sizes_of = [](const std::vector<Tensor>& pieces, int64_t dim) {
    std::vector<int64_t> out;
    for (const Tensor& p : pieces) out.push_back(p.size(dim));
    return out;
  };
  using Sizes = std::vector<int64_t>;
  CHECK(sizes_of(x.split(3), 0) == Sizes{3, 3, 1});
  CHECK(sizes_of(x.split({2, 5}), 0) == Sizes{2, 5});
  CHECK(show(x.split({2, 5})[1].slice(0, 0, 1)) == "[1, 2] 4 5");
  CHECK(sizes_of(x.chunk(3), 0) == Sizes{3, 3, 1});
  CHECK(sizes_of(counting({10}).chunk(8), 0) == Sizes{2, 2, 2, 2, 2});
  CHECK(sizes_of(counting({0, 2}).chunk(3), 0) == Sizes{0, 0, 0});
  CHECK(sizes_of(tensor_split(x, 3), 0) == Sizes{3, 2, 2});
  CHECK(sizes_of(tensor_split(x, IntArrayRef({1, 4})), 0) == Sizes{1, 3, 3});
  CHECK(show(x.unbind(1)[1]) == "[7] 1 3 5 7 9 11 13");
  CHECK_THROWS_WITH_AS(x.split({2, 4}), doctest::Contains("add up to 6, but dimension 0 has size 7"), Error);
  CHECK_THROWS_WITH_AS(x.chunk(0), doctest::Contains("at least 1 chunk"), Error);
}

TEST_CASE("a view as another dtype shares the bytes") {
  Tensor x = counting({2, 2});
  CHECK(x.view(kInt)[0][1].item<int>() == 0x3f800000);
  CHECK(x.view(kByte).sizes() == IntArrayRef({2, 8}));
  CHECK(x.view(kDouble).sizes() == IntArrayRef({2, 1}));
  CHECK(show(x.view(kByte).view(kFloat)) == show(x));
  x.view(kInt)[0].copy_(full({2}, 0x40000000, TensorOptions(kInt)));
  CHECK(show(x) == "[2, 2] 2 2 2 3");
  CHECK_THROWS_WITH_AS(counting({3}).view(kDouble), doctest::Contains("are not divisible by 2"), Error);
  CHECK_THROWS_WITH_AS(x.t().view(kByte), doctest::Contains("stride 1"), Error);
}

TEST_CASE("in-place changes of geometry") {
  Tensor leaf = counting({2, 3}).requires_grad_();
  CHECK_THROWS_WITH_AS(leaf.transpose_(0, 1), doctest::Contains("leaf"), Error);
  Tensor y = leaf * 1;
  Tensor row = y[1];
  y.transpose_(0, 1).unsqueeze_(0);
  CHECK(show(y) == "[1, 3, 2] 0 3 1 4 2 5");
  y.squeeze_();
  CHECK(y.sizes() == IntArrayRef({3, 2}));
  y[2].mul_(10);
  (y * y).sum().backward();
  CHECK(show(leaf.grad()) == "[2, 3] 0 2 400 6 8 1000");
  CHECK(show(row) == "[3] 3 4 50");
  leaf.mutable_grad().reset();
  row.sum().backward();
  CHECK(show(leaf.grad()) == "[2, 3] 0 0 0 1 1 10");
  Tensor plain = counting({2, 1});
  CHECK(plain.squeeze_(1).sizes() == IntArrayRef({2}));
}

TEST_CASE("an in-place change of a saved tensor's shape is detected") {
  Tensor x = counting({2, 3}).requires_grad_();
  Tensor y = x * 2, z = y * y;
  y.transpose_(0, 1);
  CHECK_THROWS_WITH_AS(z.sum().backward(), doctest::Contains("overwritten by transpose_"), Error);
}

TEST_CASE("views: first and second gradients, strides, threads") {
  const auto weigh = [](const Tensor& t) { return Tensors{t * t}; };
  run_all({
      {.name = "view",
       .torch = "x0.view(2, 6)",
       .fn =
           [=](const Tensors& x) {
             return weigh(x[0].reshape({2, 6}));
           },
       .cases = {{real({3, 4})}}},
      {.name = "flatten",
       .torch = "x0.flatten(1)",
       .fn = [=](const Tensors& x) { return weigh(x[0].flatten(1)); },
       .cases = {{real({2, 3, 2})}, {real({2, 0, 2})}}},
      {.name = "unflatten",
       .torch = "x0.unflatten(0, (2, -1))",
       .fn =
           [=](const Tensors& x) {
             return weigh(x[0].unflatten(0, {2, -1}));
           },
       .cases = {{real({4, 2})}}},
      {.name = "select",
       .torch = "x0.select(1, -2)",
       .fn = [=](const Tensors& x) { return weigh(x[0].select(1, -2)); },
       .cases = {{real({3, 4})}, {real({2, 2, 3})}}},
      {.name = "slice",
       .torch = "x0[:, 1:4:2]",
       .fn = [=](const Tensors& x) { return weigh(x[0].slice(1, 1, 4, 2)); },
       .cases = {{real({3, 4})}, {real({2, 6, 2})}, {real({2, 1})}}},
      {.name = "narrow",
       .torch = "x0.narrow(0, 1, 2)",
       .fn = [=](const Tensors& x) { return weigh(x[0].narrow(0, 1, 2)); },
       .cases = {{real({3, 4})}}},
      {.name = "permute",
       .torch = "x0.permute(2, 0, 1)",
       .fn =
           [=](const Tensors& x) {
             return weigh(x[0].permute({2, 0, 1}));
           },
       .cases = {{real({2, 3, 2})}}},
      {.name = "transpose",
       .torch = "x0.transpose(0, -1)",
       .fn = [=](const Tensors& x) { return weigh(x[0].transpose(0, -1)); },
       .cases = {{real({2, 3, 2})}}},
      {.name = "squeeze",
       .torch = "x0.squeeze()",
       .fn = [=](const Tensors& x) { return weigh(x[0].squeeze()); },
       .cases = {{real({1, 3, 1})}, {real({1, 1})}}},
      {.name = "squeeze dim",
       .torch = "x0.squeeze(1)",
       .fn = [=](const Tensors& x) { return weigh(x[0].squeeze(1)); },
       .cases = {{real({1, 1, 3})}, {real({2, 3})}}},
      {.name = "unsqueeze",
       .torch = "x0.unsqueeze(1)",
       .fn = [=](const Tensors& x) { return weigh(x[0].unsqueeze(1)); },
       .cases = {{real({2, 3})}}},
      {.name = "expand",
       .torch = "x0.expand(2, 3, 4)",
       .fn =
           [=](const Tensors& x) {
             return weigh(x[0].expand({2, 3, 4}));
           },
       .cases = {{real({3, 1})}, {real({3, 4})}}},
      {.name = "unfold",
       .torch = "x0.unfold(0, 3, 1)",
       .fn = [=](const Tensors& x) { return weigh(x[0].unfold(0, 3, 1)); },
       .cases = {{real({5, 2})}, {real({3})}}},
      {.name = "unfold step",
       .torch = "x0.unfold(1, 2, 3)",
       .fn = [=](const Tensors& x) { return weigh(x[0].unfold(1, 2, 3)); },
       .cases = {{real({2, 7})}}},
      {.name = "diagonal",
       .torch = "x0.diagonal(1, 0, -1)",
       .fn = [=](const Tensors& x) { return weigh(x[0].diagonal(1, 0, -1)); },
       .cases = {{real({3, 4})}, {real({3, 2, 3})}, {real({2, 1})}}},
      {.name = "split",
       .torch = "[p * p for p in x0.split(2)]",
       .fn =
           [](const Tensors& x) {
             Tensors out;
             for (const Tensor& p : x[0].split(2)) out.push_back(p * p);
             return out;
           },
       .cases = {{real({5, 2})}}},
      {.name = "one piece of a chunk",
       .torch = "x0.chunk(3, 1)[1]",
       .fn = [=](const Tensors& x) { return weigh(x[0].chunk(3, 1)[1]); },
       .cases = {{real({2, 5})}}},
      {.name = "unbind",
       .torch = "x0.unbind(1)[0] * x0.unbind(1)[2]",
       .fn =
           [](const Tensors& x) {
             const auto p = x[0].unbind(1);
             return Tensors{p[0] * p[2]};
           },
       .cases = {{real({2, 3})}}},
      {.name = "as_strided",
       .torch = "x0.as_strided((3, 2), (2, 1), 1)",
       .fn =
           [=](const Tensors& x) {
             return weigh(x[0].as_strided({3, 2}, {2, 1}, 1));
           },
       .cases = {{real({8})}},
       .noncontiguous = false},
  });
}

TEST_CASE("ravel copies a tensor with gaps") {
  const Tensor x = arange(6);
  CHECK(ravel(x).storage() == x.storage());
  CHECK(ravel(x.slice(0, 0, 6, 2)).stride(0) == 1);
  CHECK(x.slice(0, 0, 6, 2).ravel().storage() != x.storage());
}
