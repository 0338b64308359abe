// Indexing: placement of dimensions, masks, writes, repeated positions, first and second gradients, error
// messages. Expected shapes and elements follow PyTorch.
#include "tandem/autograd/ops/index/index.h"
#include "tandem/autograd/ops.h"

#include <random>

#include "tandem/autograd/ops/index/index_add.h"
#include "tandem/autograd/ops/index/index_select.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/view/view.h"
#include "tandem/core/threads/parallel_for.h"
#include "tandem/tests/ops/values.h"

using namespace tandem;
using namespace tandem::indexing;
using namespace tandem::testing;

TEST_CASE("basic indices are views") {
  const Tensor x = counting({2, 3, 4});
  CHECK(show(x.index({1, 2})) == "[4] 20 21 22 23");
  CHECK(show(x.index({Slice(0, 1), Slice(None, None, 2), -1})) == "[1, 2] 3 11");
  CHECK(show(x.index({"...", 0})) == "[2, 3] 0 4 8 12 16 20");
  CHECK(show(x.index({Ellipsis, Slice(-1, None), 0})) == "[2, 1] 8 20");
  CHECK(x.index({None, 0, None}).sizes() == IntArrayRef({1, 1, 3, 4}));
  CHECK(x.index({Slice(), None, Slice()}).sizes() == IntArrayRef({2, 1, 3, 4}));
  CHECK(x.index({0, "..."}).storage() == x.storage());
  CHECK(x.index({"..."}).is_view());
  CHECK(show(x.index({indices({1})[0], 0, 0})) == "[] 12");
}

TEST_CASE("positions: placement of their dimensions") {
  const Tensor x = counting({2, 3, 4, 5}), at = indices({1, 0, 1}), other = indices({0, 2, 2}).view({3, 1});
  CHECK(show(x.index({at, 0, 0, 0})) == "[3] 60 0 60");
  CHECK(x.index({Slice(), at}).sizes() == IntArrayRef({2, 3, 4, 5}));
  CHECK(x.index({Slice(), at, other}).sizes() == IntArrayRef({2, 3, 3, 5}));
  CHECK(x.index({Slice(), at, Slice(), other}).sizes() == IntArrayRef({3, 3, 2, 4}));
  CHECK(x.index({at, Slice(), other}).sizes() == IntArrayRef({3, 3, 3, 5}));
  CHECK(x.index({0, Slice(), at, Slice(0, 2)}).sizes() == IntArrayRef({3, 3, 2}));
  CHECK(x.index({at, None, Slice(), at}).sizes() == IntArrayRef({3, 1, 3, 5}));
  CHECK(show(x.index({1, at, other, 0}).slice(0, 0, 1)) == "[1, 3] 80 60 80");
  CHECK(show(x.index({indices({-1, -2}).to(kInt), -1, -1, -1})) == "[2] 119 59");
  CHECK(show(counting({3})[indices({2, 0}).view({2, 1})]) == "[2, 1] 2 0");
}

TEST_CASE("a list of tensors: a 0-dim tensor also separates the others") {
  const Tensor x = counting({2, 3, 4}), one = indices({1})[0], both = indices({1, 2});
  CHECK(show(index(x, {one, Tensor(), both})) == "[2, 3] 13 17 21 14 18 22");
  CHECK(show(index(x, {one, both})) == "[2, 4] 16 17 18 19 20 21 22 23");
  CHECK(show(index(x, {one, indices({-1})[0], both})) == "[2] 21 22");
  CHECK(index(x, {Tensor(), one}).sizes() == IntArrayRef({2, 4}));
  CHECK(index(x, {mask_of({1, 1}), Tensor(), one}).sizes() == IntArrayRef({2, 3}));
  // Between braces it counts as an integer.
  CHECK(x.index({one, Slice(), both}).sizes() == IntArrayRef({3, 2}));
  Tensor y = zeros({2, 3, 4});
  y.index_put_({one, Tensor(), both}, counting({2, 3}), /*accumulate=*/false);
  CHECK(show(index(y, {one, Tensor(), both})) == "[2, 3] 0 1 2 3 4 5");
  y.index_put_({one, Tensor(), indices({1, 1})}, ones({2, 1}), /*accumulate=*/true);
  CHECK(show(y.index({1, Slice(), 1})) == "[3] 2 3 4");
  CHECK_THROWS_WITH_AS(index(x, {indices({2})[0]}), doctest::Contains("index 2 is out of bounds"), IndexError);
}

TEST_CASE("masks") {
  const Tensor x = counting({2, 3});
  const Tensor mask = mask_of({0, 1, 1, 1, 0, 0}).view({2, 3});
  CHECK(show(x.index({mask})) == "[3] 1 2 3");
  CHECK(show(x.index({mask.to(kByte)})) == "[3] 1 2 3");
  CHECK(show(x.index({mask_of({0, 1})})) == "[1, 3] 3 4 5");
  CHECK(show(x.index({Slice(), mask_of({1, 0, 1})})) == "[2, 2] 0 2 3 5");
  CHECK(show(counting({2, 3, 2}).index({mask, Slice(1, 2)})) == "[3, 1] 3 5 7");
  CHECK(show(x.index({true})) == "[1, 2, 3] 0 1 2 3 4 5");
  CHECK(show(x.index({false})) == "[0, 2, 3]");
  CHECK(show(x.masked_select(mask_of({1, 0, 1}))) == "[4] 0 2 3 5");
  CHECK(show(x.masked_select(mask_of({0, 0, 0}))) == "[0]");
  CHECK(show(counting({}).masked_select(mask_of({1, 1}))) == "[2] 0 0");
  CHECK(show(mask.nonzero()) == "[3, 2] 0 1 0 2 1 0");
  CHECK(show(mask.t().nonzero()) == "[3, 2] 0 1 1 0 2 0");
  CHECK(counting({}).nonzero().sizes() == IntArrayRef({0, 0}));
}

TEST_CASE("writes") {
  Tensor x = zeros({2, 3});
  x.index_put_({0, Slice(1, None)}, 7);
  CHECK(show(x) == "[2, 3] 0 7 7 0 0 0");
  x.index_put_({"...", 0}, counting({2}) + 1);
  CHECK(show(x) == "[2, 3] 1 7 7 2 0 0");
  x.index_put_({x == 7}, -1);
  CHECK(show(x) == "[2, 3] 1 -1 -1 2 0 0");
  x.index_put_({indices({1, 0}), indices({2, 2})}, counting({2}) + 5);
  CHECK(show(x) == "[2, 3] 1 -1 6 2 0 5");
  x.index_put_({Slice(), indices({0, 0})}, counting({2}));
  CHECK(show(x) == "[2, 3] 1 -1 6 1 0 5");  // the last of two writes wins
  x.index_put_({indices({1, 1, 1})}, counting({1, 3}), /*accumulate=*/true);
  CHECK(show(x) == "[2, 3] 1 -1 6 1 3 11");
  x.index_put_({Tensor(), indices({0})}, full({}, 9.0), /*accumulate=*/false);
  CHECK(show(x) == "[2, 3] 9 -1 6 9 3 11");
  x.index_put_({"..."}, counting({1, 1, 3}));
  CHECK(show(x) == "[2, 3] 0 1 2 0 1 2");
  x[0] = 4;
  x[1] = counting({3});
  x.index({Slice(), 0}) = 8.5;
  CHECK(show(x) == "[2, 3] 8.5 4 4 8.5 1 2");
  x.t().index_put_({indices({0, 2})}, 0);
  CHECK(show(x) == "[2, 3] 0 4 0 0 1 0");
}

TEST_CASE("writes with values that share the memory") {
  Tensor x = counting({4});
  x.index_put_({indices({0, 1, 2})}, x.slice(0, 1));
  CHECK(show(x) == "[4] 1 2 3 3");
  x.slice(0, 1).copy_(x.slice(0, 0, 3));
  CHECK(show(x) == "[4] 1 1 2 3");
  Tensor m = counting({2, 2});
  m.copy_(m.t());
  CHECK(show(m) == "[2, 2] 0 2 1 3");
  x.slice(0, 0, 3).add_(x.slice(0, 1));
  CHECK(show(x) == "[4] 2 3 5 3");
}

TEST_CASE("writes to self-overlapping tensors throw") {
  Tensor x = counting({5});
  CHECK_THROWS_WITH_AS(x.unfold(0, 3, 1).mul_(2), doctest::Contains("overlaps itself"), Error);
  CHECK_THROWS_WITH_AS(x.as_strided({2, 2}, {1, 1}).zero_(), doctest::Contains("overlaps itself"), Error);
  CHECK_THROWS_WITH_AS(x.slice(0, 0, 1).expand({4}).index_put_({indices({0})}, 1), doctest::Contains("overlaps itself"),
                       Error);
  x.unfold(0, 2, 2).mul_(2);  // adjacent windows do not overlap
  CHECK(show(x) == "[5] 0 2 4 6 4");
  Tensor six = counting({6});
  six.as_strided({2, 2}, {3, 2}, 0).mul_(10);  // strides that do not nest, but no shared elements
  CHECK(show(six) == "[6] 0 1 20 30 4 50");
}

TEST_CASE("along one dimension") {
  Tensor x = counting({3, 2});
  CHECK(show(x.index_select(0, indices({2, 2, 0}))) == "[3, 2] 4 5 4 5 0 1");
  CHECK(show(x.t().index_select(0, indices({1}))) == "[1, 3] 1 3 5");
  CHECK(show(x.index_add(1, indices({1, 1}), counting({3, 2}), 2)) == "[3, 2] 0 3 2 13 4 23");
  CHECK(show(index_copy(x, 0, indices({1}), counting({1, 2}))) == "[3, 2] 0 1 0 1 4 5");
  CHECK(show(index_copy(counting({3}), 0, indices({1}), full({}, 7.0))) == "[3] 0 7 2");  // one element
  CHECK(show(index_fill(x, 1, indices({-1}), 9)) == "[3, 2] 0 9 2 9 4 9");
  CHECK(show(x.take(indices({-1, 0}).view({2, 1}))) == "[2, 1] 5 0");
  CHECK(show(bincount(indices({1, 3, 1}))) == "[4] 0 2 0 1");
  CHECK(show(bincount(indices({1, 0}), counting({2}) + 0.5, 3)) == "[3] 1.5 0.5 0");
  x.index_fill_(0, indices({0}), -1).index_copy_(0, indices({2}), zeros({1, 2}));
  CHECK(show(x) == "[3, 2] -1 -1 2 3 0 0");
}

TEST_CASE("out-of-range and mismatched indices throw") {
  const Tensor x = counting({2, 3, 4});
  CHECK_THROWS_WITH_AS(x.index({Slice(), 3}), doctest::Contains("index 3 is out of bounds for dimension 1 with size 3"),
                       IndexError);
  CHECK_THROWS_WITH_AS(x.index({0, Slice(), 4}),
                       doctest::Contains("index 4 is out of bounds for dimension 2 with size 4"), IndexError);
  CHECK_THROWS_WITH_AS(x.index({Slice(), -4}),
                       doctest::Contains("index -4 is out of bounds for dimension 1 with size 3"), IndexError);
  CHECK(show(x.index({-2, -3})) == "[4] 0 1 2 3");
  CHECK_THROWS_WITH_AS(x.index({0, indices({0, -4})}),
                       doctest::Contains("index: index -4 is out of bounds for dimension 1 with size 3"), IndexError);
  CHECK_THROWS_WITH_AS(x.index({0, 0, 0, 0}), doctest::Contains("too many indices for tensor of dimension 3: 4"),
                       IndexError);
  CHECK_THROWS_WITH_AS(x.index({"...", "..."}), doctest::Contains("at most one ellipsis"), IndexError);
  CHECK_THROWS_WITH_AS(x.index({"x"}), doctest::Contains("Expected \"...\" to represent"), Error);
  CHECK_THROWS_WITH_AS(x.index({mask_of({1, 0, 1})}), doctest::Contains("mask [3] does not fit the tensor [2, 3, 4]"),
                       IndexError);
  CHECK_THROWS_WITH_AS(x.index({indices({0, 1}), indices({0, 1, 2})}), doctest::Contains("do not broadcast"), Error);
  CHECK_THROWS_WITH_AS(x.index({counting({2})}), doctest::Contains("must be int64, int32, bool or uint8"), IndexError);
  CHECK_THROWS_WITH_AS(Slice(0, 1, 0), doctest::Contains("step cannot be zero"), Error);
  Tensor y = counting({2, 3});
  CHECK_THROWS_WITH_AS(y.index_put_({indices({0})}, counting({2})), doctest::Contains("broadcast"), Error);
  CHECK_THROWS_WITH_AS(y.index_select(0, indices({-1})),
                       doctest::Contains("index_select: index -1 is out of bounds for dimension 0 with size 2"),
                       IndexError);
  CHECK_THROWS_WITH_AS(y.index_add_(1, indices({3}), counting({2, 1})), doctest::Contains("index 3"), IndexError);
  CHECK_THROWS_WITH_AS(y.take(indices({6})), doctest::Contains("take: index 6"), IndexError);
  for (const ScalarType type : {kFloat, kBool, kByte}) {
    const Tensor wrong = zeros({1, 1}, type);
    CHECK_THROWS_WITH_AS(y.take(wrong), doctest::Contains("take: expected an int64 or int32 index"), Error);
    CHECK_THROWS_WITH_AS(y.put(wrong, ones({1, 1})), doctest::Contains("put: expected an int64 index"), Error);
    CHECK_THROWS_WITH_AS(y.gather(0, wrong), doctest::Contains("gather: expected an int64 or int32 index"), Error);
    CHECK_THROWS_WITH_AS(y.index_select(0, wrong[0]), doctest::Contains("index_select: expected a 1-D int64 or int32"),
                         Error);
  }
  CHECK_THROWS_WITH_AS(y.masked_select(indices({1})), doctest::Contains("expected a bool mask"), Error);
}

TEST_CASE("large reads and masks, on any number of threads") {
  const int before = get_num_threads();
  const Tensor x = counting({500, 211}, kDouble), rows = arange(0, 1000, TensorOptions(kLong)).slice(0, 0, nullopt, 2);
  std::vector<double> first;
  for (const int threads : {1, 4}) {
    set_num_threads(threads);
    const Tensor picked = x.index({indices({499, 3, 250}), Slice(5, None)});
    CHECK(values(picked[1]) == values(x[3].slice(0, 5)));
    CHECK(values(x.index_select(0, (rows / 2).to(kLong))) == values(x));
    const Tensor mask = x > 1000.5;
    CHECK(mask.nonzero().size(0) == 500 * 211 - 1001);
    CHECK(values(x.index({mask})) == values(x.view({-1}).slice(0, 1001)));
    CHECK(values(x.t().masked_select(mask.t())) == values(x.t().contiguous().masked_select(mask.t())));
    Tensor sums = zeros({7, 33});
    const Tensor source = counting({4000, 33}) * 0.37;
    Tensor at = empty_raw({4000}, kLong, Device(kCPU, 0));
    for (int64_t i = 0; i < 4000; ++i) at.data_ptr<int64_t>()[i] = i * i % 7;
    sums.index_add_(0, at, source);
    if (threads == 1) first = values(sums);
    CHECK(values(sums) == first);
  }
  set_num_threads(before);
}

TEST_CASE("indexing: first and second gradients, strides, threads") {
  const auto weigh = [](const Tensor& t) { return Tensors{t * t}; };
  const auto written = [](const Tensors& x, auto&& write) {
    Tensor y = x[0] * 2;
    write(y, x[1]);
    return Tensors{y * y};
  };
  run_all({
      {.name = "index",
       .torch = "x0[[1, 0, 1], :, [2, 2, 0]]",
       .fn =
           [=](const Tensors& x) {
             return weigh(x[0].index({indices({1, 0, 1}), Slice(), indices({2, 2, 0})}));
           },
       .cases = {{real({2, 2, 3})}, {real({2, 1, 3, 2})}}},
      {.name = "index with a mask and a slice",
       .torch = "x0[[True, False, True], 1:]",
       .fn =
           [=](const Tensors& x) {
             return weigh(x[0].index({mask_of({1, 0, 1}), Slice(1, None)}));
           },
       .cases = {{real({3, 3})}}},
      {.name = "index with repeats",
       .torch = "x0[[0, 0, 1, 0]]",
       .fn =
           [=](const Tensors& x) {
             return weigh(x[0].index({indices({0, 0, 1, 0})}));
           },
       .cases = {{real({2, 3})}, {real({2})}}},
      {.name = "masked_select",
       .torch = "x0.masked_select(x1)",
       .fn = [=](const Tensors& x) { return weigh(x[0].masked_select(x[1])); },
       .cases = {{real({2, 3}), booleans({3})}, {real({3}), booleans({2, 3})}}},
      {.name = "take",
       .torch = "x0.take(x1)",
       .fn = [=](const Tensors& x) { return weigh(x[0].take(x[1])); },
       .cases = {{real({2, 3}), integers({4}, -6, 6)}}},
      {.name = "index_select",
       .torch = "x0.index_select(1, x1)",
       .fn = [=](const Tensors& x) { return weigh(x[0].index_select(1, x[1])); },
       .cases = {{real({2, 3}), integers({4}, 0, 3)}}},
      {.name = "index_add",
       .torch = "x0.index_add(0, torch.tensor([1, 1, 0]), x1, alpha=2)",
       .fn =
           [=](const Tensors& x) {
             return weigh(x[0].index_add(0, indices({1, 1, 0}).to(x[0].device()), x[1], 2));
           },
       .cases = {{real({2, 3}), real({3, 3})}}},
      {.name = "index_copy",
       .torch = "x0.index_copy(0, torch.tensor([1, 0]), x1)",
       .fn =
           [=](const Tensors& x) {
             return weigh(index_copy(x[0], 0, indices({1, 0}).to(x[0].device()), x[1]));
           },
       .cases = {{real({3, 2}), real({2, 2})}}},
      {.name = "index_fill",
       .torch = "x0.index_fill(1, torch.tensor([1]), 2.0)",
       .fn = [=](const Tensors& x) { return weigh(index_fill(x[0], 1, indices({1}).to(x[0].device()), 2.0)); },
       .cases = {{real({2, 3})}}},
      {.name = "index_put",
       .torch = "x0.index_put((torch.tensor([1, 0]),), x1)",
       .fn =
           [=](const Tensors& x) {
             return weigh(index_put(x[0], {indices({1, 0})}, x[1]));
           },
       .cases = {{real({2, 3}), real({3})}, {real({2, 3}), real({2, 1})}, {real({2, 3}), testing::real({})}}},
      {.name = "index_put accumulate",
       .torch = "x0.index_put((torch.tensor([1, 1]),), x1, True)",
       .fn =
           [=](const Tensors& x) {
             return weigh(index_put(x[0], {indices({1, 1})}, x[1], true));
           },
       .cases = {{real({2, 3}), real({2, 3})}}},
      {.name = "x[1:] = y",
       .torch = "",
       .fn =
           [=](const Tensors& x) {
             return written(x, [](Tensor& y, const Tensor& v) { y.index_put_({Slice(1, None)}, v); });
           },
       .cases = {{real({3, 2}), real({2, 2})}, {real({3, 2}), real({2})}}},
      {.name = "x[[0, 2], 1] = y through a transposed view",
       .torch = "",
       .fn =
           [=](const Tensors& x) {
             return written(x, [](Tensor& y, const Tensor& v) { y.t().index_put_({indices({0, 2}), 1}, v); });
           },
       .cases = {{real({2, 3}), real({2})}}},
  });
}

TEST_CASE("index_copy and index_fill of a 0-dim tensor; adding bools") {
  Tensor number = zeros({});
  number.index_fill_(0, indices({0}), 2);
  CHECK(number.item<float>() == 2);
  CHECK(index_fill(number, -1, indices({}), 5).item<float>() == 2);
  CHECK(index_copy(number, 0, indices({0}), ones({1})).item<float>() == 1);
  const Tensor no = mask_of({0, 0, 0}), yes = mask_of({1, 1});
  CHECK(show(index_add(no, 0, indices({1, 1}), yes)) == "[3] 0 1 0");
  CHECK(show(scatter_add(no, 0, indices({2, 2}), yes)) == "[3] 0 0 1");
}
