// Reads and writes by index.
#include "tandem/tests/ops/cases.h"

namespace tandem::testing {

std::vector<OpTest> index_cases() {
  std::vector<OpTest> list;
  const auto give = [&](OpTest test) { list.push_back(std::move(test)); };
  using namespace indexing;
  give(op("index_select", "torch.index_select(x0, 1, x1)",
          [](const Tensors& x) { return x[0].index_select(1, x[1]); },
          {{real({2, 4, 3}), integers({5}, 0, 4)}}));
  give(op("index_add", "torch.index_add(x0, 0, x1, x2, alpha=2)",
          [](const Tensors& x) { return x[0].index_add(0, x[1], x[2], 2); },
          {{real({4, 3}), integers({5}, 0, 4), real({5, 3})}}));
  give(op("gather", "torch.gather(x0, 1, x1)", [](const Tensors& x) { return x[0].gather(1, x[1]); },
          {{real({3, 4}), integers({3, 6}, 0, 4)}}));
  give(op("scatter number", "torch.scatter(x0, 1, x1, 2.5)",
          [](const Tensors& x) { return x[0].scatter(1, x[1], 2.5); },
          {{real({3, 4}), integers({3, 2}, 0, 4)}}));
  give(op("scatter_add", "torch.scatter_add(x0, 1, x1, x2)",
          [](const Tensors& x) { return x[0].scatter_add(1, x[1], x[2]); },
          {{real({3, 4}), integers({3, 6}, 0, 4), real({3, 6})}}));
  give(op("take", "torch.take(x0, x1)", [](const Tensors& x) { return x[0].take(x[1]); },
          {{real({3, 4}), integers({2, 3}, 0, 12)}}));
  give(op("masked_select", "torch.masked_select(x0, x1)",
          [](const Tensors& x) { return x[0].masked_select(x[1]); }, {{real({3, 4}), booleans({3, 4})}}));
  give(op("index tensor", "x0[x1]", [](const Tensors& x) { return x[0].index({x[1]}); },
          {{real({3, 4}), integers({5}, -3, 3)}, {real({3, 4}), integers({2, 2}, 0, 3)}}));
  give(op("index mask", "x0[x1]", [](const Tensors& x) { return x[0].index({x[1]}); },
          {{real({3, 4}), booleans({3})}, {real({3, 4}), booleans({3, 4})}}));
  give(op("index mixed", "x0[:, x1, None, 1:]",
          [](const Tensors& x) {
            return x[0].index({Slice(), x[1], None, Slice(1, nullopt)});
          },
          {{real({2, 3, 4}), integers({5}, 0, 3)}}));
  give(op("index two", "x0[x1, :, x2]",
          [](const Tensors& x) {
            return x[0].index({x[1], Slice(), x[2]});
          },
          {{real({3, 2, 4}), integers({5}, 0, 3), integers({5}, 0, 4)}}));
  give(op("index ellipsis", "x0[..., -1, ::2]",
          [](const Tensors& x) {
            return x[0].index({Ellipsis, -1, Slice(nullopt, nullopt, 2)});
          },
          {{real({2, 3, 4})}}));
  give(op("embedding", "F.embedding(x1, x0)", [](const Tensors& x) { return embedding(x[0], x[1]); },
          {{real({5, 3}), integers({2, 4}, 0, 5)}}));
  give(without_gradient(op("one_hot", "F.one_hot(x0, 6)", [](const Tensors& x) { return one_hot(x[0], 6); },
                           {{integers({2, 3}, 0, 6)}})));
  give(without_gradient(op("nonzero", "torch.nonzero(x0)", [](const Tensors& x) { return x[0].nonzero(); },
                           {{booleans({3, 4})}})));
  give({.name = "scatter",
        .torch = "torch.scatter(x0, 1, torch.tensor([[0, 2], [3, 1], [1, 0]]), x1)",
        .fn =
            [](const Tensors& x) {
              return Tensors{x[0].scatter(1, tensor({{0, 2}, {3, 1}, {1, 0}}).to(x[0].device()), x[1])};
            },
        .cases = {{real({3, 4}), real({3, 2})}}});
  give({.name = "index_put_",
        .torch = "put(x0, x1)",
        .fn =
            [](const Tensors& x) {
              Tensor y = x[0] * 1;
              y.index_put_({Slice(1, 3), Slice(nullopt, nullopt, 2)}, x[1]);
              return Tensors{y};
            },
        .cases = {{real({3, 4}), real({2})}}});
  return list;
}

}  // namespace tandem::testing
