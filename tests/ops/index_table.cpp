// Describes reads and writes by index.
#include "tandem/tests/ops/cases.h"
#include "tandem/tests/ops/operation_table.h"

namespace tandem::testing {
namespace {

T bag(CT weight, CT indices, CT offsets, bool scale, I mode, bool sparse, CT weights, bool last, optional<I> padding) {
  return std::get<0>(embedding_bag(weight, indices, offsets, scale, mode, sparse, weights, last, padding));
}
T renormed(T weight, CT indices, double max_norm, double norm_type) {
  return embedding_renorm_(weight, indices, max_norm, norm_type);
}

OpTest renorm_test() {
  OpTest test = without_gradient(op("embedding_renorm", "torch.ops.aten.embedding_renorm(x0, x1, 0.5, 2.0)",
                                    [](const Tensors& x) { return embedding_renorm(x[0].detach(), x[1], 0.5, 2); },
                                    {{real({5, 3}), integers({2, 4}, 0, 3)}, {real({5, 3}), integers({0}, 0, 3)}}));
  test.refusals = {{[](Device d) {
                      const Tensor weight = ones({2, 2}).to(d).requires_grad_();
                      return Tensors{embedding_renorm(weight, zeros({1}, kLong).to(d), 0.5, 2)};
                    },
                    "no gradient"}};
  return test;
}

using namespace indexing;

const std::vector<OpTest> kBrackets = {
    op("index tensor", "x0[x1]", [](const Tensors& x) { return x[0].index({x[1]}); },
       {{real({3, 4}), integers({5}, -3, 3)}, {real({3, 4}), integers({2, 2}, 0, 3)}}),
    op("index mask", "x0[x1]", [](const Tensors& x) { return x[0].index({x[1]}); },
       {{real({3, 4}), booleans({3})}, {real({3, 4}), booleans({3, 4})}}),
    op("index mixed", "x0[:, x1, None, 1:]",
       [](const Tensors& x) {
         return x[0].index({Slice(), x[1], None, Slice(1, nullopt)});
       },
       {{real({2, 3, 4}), integers({5}, 0, 3)}}),
    op("index two", "x0[x1, :, x2]",
       [](const Tensors& x) {
         return x[0].index({x[1], Slice(), x[2]});
       },
       {{real({3, 2, 4}), integers({5}, 0, 3), integers({5}, 0, 4)}}),
    op("index ellipsis", "x0[..., -1, ::2]",
       [](const Tensors& x) {
         return x[0].index({Ellipsis, -1, Slice(nullopt, nullopt, 2)});
       },
       {{real({2, 3, 4})}}),
};

std::vector<Operation> brackets() {
  return {
      {.name = "index",
       .overloads =
           [](Table& table, const std::string& name) {
             give<T(CT, TensorList)>(table, name, [](CT x, TensorList at) { return index(x, at); });
             give<T(CT, Indices)>(table, name, [](CT x, const Indices& at) { return x.index(at); });
           },
       .torch = "lambda x, at: x[tuple(at)]",
       .tests = kBrackets},
      {OPERATION(index_put, T(CT, TensorList, CT, bool)),
       WRITE(index_put, T(T, TensorList, CT, bool), T(T, Indices, CT)), .torch = "torch.ops.aten.index_put",
       .tests = {op("index_put_", "put(x0, x1)",
                    [](const Tensors& x) {
                      Tensor y = x[0] * 1;
                      y.index_put_({Slice(1, 3), Slice(nullopt, nullopt, 2)}, x[1]);
                      return y;
                    },
                    {{real({3, 4}), real({2})}})}},
      {OPERATION(masked_select, T(CT, CT)),
       .examples = {{"masked_select", "x0, x1", {{real({3, 4}), booleans({3, 4})}}}}},
      {OPERATION(masked_scatter, T(CT, CT, CT)), WRITE(masked_scatter, T(T, CT, CT)),
       .tests = {op("masked_scatter", "torch.masked_scatter(x0, x1 > 0, x2)",
                    [](const Tensors& x) { return masked_scatter(x[0], x[1] > 0, x[2]); },
                    {{real({3, 4}), constant({3, 4}, -1, 1), real({12})}})}},
      {OPERATION(take, T(CT, CT)), .examples = {{"take", "x0, x1", {{real({3, 4}), integers({2, 3}, 0, 12)}}}}},
      {OPERATION(nonzero, T(CT)), .examples = {{"nonzero", "x0", {{booleans({3, 4})}}, false}}},
      {OPERATION(argwhere, T(CT)), .examples = {{"argwhere", "x0", {{booleans({3, 4})}}, false}}},
  };
}

std::vector<Operation> dimensions() {
  return {
      {OPERATION(index_select, T(CT, I, CT)),
       .examples = {{"index_select", "x0, 1, x1", {{real({2, 4, 3}), integers({5}, 0, 4)}}}}},
      {OPERATION(index_add, T(CT, I, CT, CT, CS)), WRITE(index_add, T(T, I, CT, CT, CS)),
       .torch = "lambda x, n, i, s, a: torch.index_add(x, n, i, s, alpha=a)",
       .examples = {{"index_add", "x0, 0, x1, x2, 2", {{real({4, 3}), integers({5}, 0, 4), real({5, 3})}}}}},
      {OPERATION(index_copy, T(CT, I, CT, CT)), WRITE(index_copy, T(T, I, CT, CT))},
      {OPERATION(index_fill, T(CT, I, CT, CS), T(CT, I, CT, CT)), WRITE(index_fill, T(T, I, CT, CS), T(T, I, CT, CT))},
      {OPERATION(gather, T(CT, I, CT)),
       .examples = {{"gather", "x0, 1, x1", {{real({3, 4}), integers({3, 6}, 0, 4)}}}}},
      {OPERATION(scatter, T(CT, I, CT, CT), T(CT, I, CT, CS)), WRITE(scatter, T(T, I, CT, CT), T(T, I, CT, CS)),
       .examples = {{"scatter number", "x0, 1, x1, 2.5", {{real({3, 4}), integers({3, 2}, 0, 4)}}}},
       .tests = {op("scatter", "torch.scatter(x0, 1, torch.tensor([[0, 2], [3, 1], [1, 0]]), x1)",
                    [](const Tensors& x) {
                      return x[0].scatter(1, tensor({{0, 2}, {3, 1}, {1, 0}}).to(x[0].device()), x[1]);
                    },
                    {{real({3, 4}), real({3, 2})}})}},
      {OPERATION(scatter_add, T(CT, I, CT, CT)), WRITE(scatter_add, T(T, I, CT, CT)),
       .examples = {{"scatter_add", "x0, 1, x1, x2", {{real({3, 4}), integers({3, 6}, 0, 4), real({3, 6})}}}}},
      {OPERATION(take_along_dim, T(CT, CT, optional<I>))},
      {OPERATION(one_hot, T(CT, I)), .torch = "F.one_hot",
       .examples = {{"one_hot", "x0, 6", {{integers({2, 3}, 0, 6)}}, false}}},
      {OPERATION(embedding, T(CT, CT, I, bool, bool)),
       .examples = {{"embedding", "x0, x1, -1, False, False", {{real({5, 3}), integers({2, 4}, 0, 5)}}}}},
      {.name = "embedding_bag",
       .overloads = GIVE(bag, T(CT, CT, CT, bool, I, bool, CT, bool, optional<I>)),
       .torch = "lambda w, i, o, s, m, *rest: torch.embedding_bag(w, i, o, s, m, *rest)[0]",
       .tests = {op("embedding_bag sum", "torch.embedding_bag(x0, x1, x2.cumsum(0), per_sample_weights=x3)[0]",
                    [](const Tensors& x) { return bag(x[0], x[1], x[2].cumsum(0), false, 0, false, x[3], false, {}); },
                    {{real({5, 3}), integers({6}, 0, 5), integers({3}, 0, 1), real({6})}}),
                 op("embedding_bag mean", "F.embedding_bag(x1, x0, padding_idx=2)",
                    [](const Tensors& x) {
                      return nn::functional::embedding_bag(x[1], x[0],
                                                           nn::functional::EmbeddingBagFuncOptions().padding_idx(2));
                    },
                    {{real({5, 3}), integers({4, 2}, 0, 5)}}),
                 op("embedding_bag max", "F.embedding_bag(x1, x0, mode='max')",
                    [](const Tensors& x) {
                      return nn::functional::embedding_bag(x[1], x[0],
                                                           nn::functional::EmbeddingBagFuncOptions().mode(kMax));
                    },
                    {{distinct({5, 3}), integers({4, 3}, 0, 5)}})}},
      {OPERATION(embedding_renorm, T(CT, CT, double, double)), .in_place = GIVE(renormed, T(T, CT, double, double)),
       .torch = "torch.ops.aten.embedding_renorm", .tests = {renorm_test()}},
  };
}

}  // namespace

std::vector<Operation> index_operations() { return joined({brackets, dimensions}); }

}  // namespace tandem::testing
