// embedding: rows, the padding row, repeated indices.
#include "tandem/autograd/ops/nn/embedding.h"

#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/view/view.h"
#include "tandem/tests/ops/values.h"

using namespace tandem;
using namespace tandem::testing;

TEST_CASE("embedding reads rows") {
  const Tensor w = counting({3, 2});
  CHECK(show(embedding(w, indices({2, 0, 2, 1}).view({2, 2}))) == "[2, 2, 2] 4 5 0 1 4 5 2 3");
  CHECK(show(embedding(w, indices({}))) == "[0, 2]");
  CHECK_THROWS_WITH_AS(embedding(w, indices({3})),
                       doctest::Contains("embedding: index 3 is out of bounds for dimension 0 with size 3"),
                       IndexError);
  CHECK_THROWS_WITH_AS(embedding(w, counting({2})), doctest::Contains("int64 or int32"), Error);
  CHECK_THROWS_WITH_AS(embedding(w, indices({0}), 3), doctest::Contains("padding_idx 3"), Error);
}

TEST_CASE("the padding row has no gradient; gradients can be scaled by frequency") {
  Tensor w = zeros({3, 2}, requires_grad());
  const Tensor at = indices({1, 2, 1, 0});
  (embedding(w, at, 2) * (counting({4, 2}) + 1)).sum().backward();
  CHECK(show(w.grad()) == "[3, 2] 7 8 6 8 0 0");
  w.mutable_grad().reset();
  (embedding(w, at, -1, /*scale_grad_by_freq=*/true) * (counting({4, 2}) + 1)).sum().backward();
  CHECK(show(w.grad()) == "[3, 2] 7 8 3 4 3 4");
}

TEST_CASE("embedding: first and second gradients, threads") {
  run_all({
      {.name = "embedding",
       .torch = "torch.nn.functional.embedding(x1, x0)",
       .fn =
           [](const Tensors& x) {
             const Tensor y = embedding(x[1], x[0]);
             return Tensors{y * y};
           },
       .cases = {{integers({2, 3}, 0, 4), real({4, 2})}, {integers({0}, 0, 4), real({4, 2})}}},
      {.name = "embedding with padding",
       .torch = "",
       .fn =
           [](const Tensors& x) {
             const Tensor y = embedding(x[1], indices({0, 3, 3}).to(x[1].device()), -1);
             return Tensors{y * y};
           },
       .cases = {{integers({1}, 0, 4), real({4, 2})}}},
  });
}
