// Reductions, scans, softmax, sorting.
#include <limits>

#include "tandem/tests/ops/cases.h"

namespace tandem::testing {

std::vector<OpTest> reduce_cases() {
  std::vector<OpTest> list;
  const auto give = [&](OpTest test) { list.push_back(std::move(test)); };
  give(op("sum", "x0.sum()", [](const Tensors& x) { return x[0].sum(); },
          {{real({3, 4, 5})}, {real({1, 6, 2})}}));
  give(op("sum 1", "x0.sum(1)", [](const Tensors& x) { return x[0].sum(1); },
          {{real({3, 4, 5})}, {real({1, 6, 2})}}));
  give(op("sum 0 2 keep", "x0.sum((0, 2), True)",
          [](const Tensors& x) {
            return x[0].sum({0, 2}, true);
          },
          {{real({3, 4, 5})}, {real({1, 6, 2})}}));
  give(op("sum -1", "x0.sum(-1)", [](const Tensors& x) { return x[0].sum(-1); },
          {{real({3, 4, 5})}, {real({1, 6, 2})}}));
  give(op("mean", "x0.mean()", [](const Tensors& x) { return x[0].mean(); },
          {{real({3, 4, 5})}, {real({1, 6, 2})}}));
  give(op("mean 0 1", "x0.mean((0, 1))",
          [](const Tensors& x) {
            return x[0].mean({0, 1});
          },
          {{real({3, 4, 5})}, {real({1, 6, 2})}}));
  give(op("var", "x0.var()", [](const Tensors& x) { return x[0].var(); },
          {{real({3, 4, 5})}, {real({1, 6, 2})}}));
  give(op("var 1 2", "x0.var((1, 2), unbiased=False, keepdim=True)",
          [](const Tensors& x) {
            return x[0].var({1, 2}, false, true);
          },
          {{real({3, 4, 5})}, {real({1, 6, 2})}}));
  give(op("std 1", "x0.std(1)", [](const Tensors& x) { return x[0].std(IntArrayRef{1}); },
          {{real({3, 4, 5})}, {real({1, 6, 2})}}));
  give(op("logsumexp", "torch.logsumexp(x0, (1, 2))",
          [](const Tensors& x) {
            return x[0].logsumexp({1, 2});
          },
          {{real({3, 4, 5})}, {real({1, 6, 2})}}));
  give(op("softmax", "torch.softmax(x0, 1)", [](const Tensors& x) { return x[0].softmax(1); },
          {{real({3, 4, 5})}, {real({1, 6, 2})}}));
  give(op("softmax -1", "torch.softmax(x0, -1)", [](const Tensors& x) { return x[0].softmax(-1); },
          {{real({3, 4, 5})}, {real({1, 6, 2})}}));
  give(op("log_softmax", "torch.log_softmax(x0, 1)", [](const Tensors& x) { return x[0].log_softmax(1); },
          {{real({3, 4, 5})}, {real({1, 6, 2})}}));
  give(op("log_softmax -1", "torch.log_softmax(x0, -1)",
          [](const Tensors& x) { return x[0].log_softmax(-1); }, {{real({3, 4, 5})}, {real({1, 6, 2})}}));
  give(op("cumsum", "torch.cumsum(x0, 1)", [](const Tensors& x) { return x[0].cumsum(1); },
          {{real({3, 4, 5})}, {real({1, 6, 2})}}));
  give(op("cumsum -1", "torch.cumsum(x0, -1)", [](const Tensors& x) { return x[0].cumsum(-1); },
          {{real({3, 4, 5})}, {real({1, 6, 2})}}));
  give(op("prod", "x0.prod()", [](const Tensors& x) { return x[0].prod(); },
          {{distinct({3, 4, 5})}, {distinct({1, 6, 2})}}));
  give(op("prod 1", "x0.prod(1)", [](const Tensors& x) { return x[0].prod(1); },
          {{distinct({3, 4, 5})}, {distinct({1, 6, 2})}}));
  give(op("cumprod", "torch.cumprod(x0, 1)", [](const Tensors& x) { return x[0].cumprod(1); },
          {{distinct({3, 4, 5})}, {distinct({1, 6, 2})}}));
  give(op("norm", "x0.norm()", [](const Tensors& x) { return x[0].norm(); },
          {{distinct({3, 4, 5})}, {distinct({1, 6, 2})}}));
  give(op("norm 1 dim", "x0.norm(1, (1,))", [](const Tensors& x) { return x[0].norm(Scalar(1), {1}); },
          {{distinct({3, 4, 5})}, {distinct({1, 6, 2})}}));
  give(op("norm 3", "x0.norm(3, (0, 2))",
          [](const Tensors& x) {
            return x[0].norm(Scalar(3), {0, 2});
          },
          {{distinct({3, 4, 5})}, {distinct({1, 6, 2})}}));
  give(op("max", "x0.max()", [](const Tensors& x) { return x[0].max(); },
          {{distinct({3, 4, 5})}, {distinct({1, 6, 2})}}));
  give(op("min", "x0.min()", [](const Tensors& x) { return x[0].min(); },
          {{distinct({3, 4, 5})}, {distinct({1, 6, 2})}}));
  give(op("amax", "x0.amax((0, 2))",
          [](const Tensors& x) {
            return x[0].amax({0, 2});
          },
          {{distinct({3, 4, 5})}, {distinct({1, 6, 2})}}));
  give(op("amin", "x0.amin((1,), True)", [](const Tensors& x) { return x[0].amin({1}, true); },
          {{distinct({3, 4, 5})}, {distinct({1, 6, 2})}}));
  give(op("norm inf", "x0.norm(float('inf'), (1,))",
          [](const Tensors& x) { return x[0].norm(Scalar(std::numeric_limits<double>::infinity()), {1}); },
          {{distinct({3, 4, 5})}, {distinct({1, 6, 2})}}));
  give(op("max values", "x0.max(1)[0]", [](const Tensors& x) { return std::get<0>(x[0].max(1)); },
          {{distinct({3, 4, 5})}, {distinct({1, 6, 2})}}));
  give(op("min values", "x0.min(-1, True)[0]",
          [](const Tensors& x) { return std::get<0>(x[0].min(-1, true)); },
          {{distinct({3, 4, 5})}, {distinct({1, 6, 2})}}));
  give(op("sort values", "x0.sort(1)[0]", [](const Tensors& x) { return std::get<0>(x[0].sort(1)); },
          {{distinct({3, 4, 5})}, {distinct({1, 6, 2})}}));
  give(op("sort descending", "x0.sort(-1, True)[0]",
          [](const Tensors& x) { return std::get<0>(x[0].sort(-1, true)); },
          {{distinct({3, 4, 5})}, {distinct({1, 6, 2})}}));
  give(op("topk values", "x0.topk(2, 1)[0]", [](const Tensors& x) { return std::get<0>(x[0].topk(2, 1)); },
          {{distinct({3, 4, 5})}, {distinct({1, 6, 2})}}));
  give(op("topk smallest", "x0.topk(2, -1, False)[0]",
          [](const Tensors& x) { return std::get<0>(x[0].topk(2, -1, false)); },
          {{distinct({3, 4, 5})}, {distinct({1, 6, 2})}}));
  give(without_gradient(op("argmax", "x0.argmax()", [](const Tensors& x) { return x[0].argmax(); },
                           {{distinct({3, 4, 5})}, {distinct({1, 6, 2})}})));
  give(without_gradient(op("argmax 1", "x0.argmax(1)", [](const Tensors& x) { return x[0].argmax(1); },
                           {{distinct({3, 4, 5})}, {distinct({1, 6, 2})}})));
  give(without_gradient(op("argmin -1", "x0.argmin(-1, True)",
                           [](const Tensors& x) { return x[0].argmin(-1, true); },
                           {{distinct({3, 4, 5})}, {distinct({1, 6, 2})}})));
  give(without_gradient(op("max indices", "x0.max(1)[1]",
                           [](const Tensors& x) { return std::get<1>(x[0].max(1)); },
                           {{distinct({3, 4, 5})}, {distinct({1, 6, 2})}})));
  give(without_gradient(op("argsort", "x0.argsort(1)", [](const Tensors& x) { return x[0].argsort(1); },
                           {{distinct({3, 4, 5})}, {distinct({1, 6, 2})}})));
  give(without_gradient(op("sort indices", "x0.sort(-1, True)[1]",
                           [](const Tensors& x) { return std::get<1>(x[0].sort(-1, true)); },
                           {{distinct({3, 4, 5})}, {distinct({1, 6, 2})}})));
  give(without_gradient(op("topk indices", "x0.topk(2, 1)[1]",
                           [](const Tensors& x) { return std::get<1>(x[0].topk(2, 1)); },
                           {{distinct({3, 4, 5})}, {distinct({1, 6, 2})}})));
  give(without_gradient(op("all", "x0.all()", [](const Tensors& x) { return x[0].all(); },
                           {{booleans({3, 4})}, {booleans({1, 4})}, {integers({2, 3}, 0, 2)}})));
  give(without_gradient(op("any 1", "x0.any(1)", [](const Tensors& x) { return x[0].any(1); },
                           {{booleans({3, 4})}, {booleans({1, 4})}, {integers({2, 3}, 0, 2)}})));
  give(without_gradient(op("all 0", "x0.all(0)", [](const Tensors& x) { return x[0].all(0); },
                           {{booleans({3, 4})}, {booleans({1, 4})}, {integers({2, 3}, 0, 2)}})));
  give(without_gradient(op("sum of bool", "x0.sum(1)", [](const Tensors& x) { return x[0].sum(1); },
                           {{booleans({3, 4})}, {booleans({1, 4})}, {integers({2, 3}, 0, 2)}})));
  give(without_gradient(op("count_nonzero", "torch.count_nonzero(x0)",
                           [](const Tensors& x) { return x[0].count_nonzero(); },
                           {{booleans({3, 4})}, {booleans({1, 4})}, {integers({2, 3}, 0, 2)}})));
  give(without_gradient(op("cumsum of integers", "x0.cumsum(0)",
                           [](const Tensors& x) { return x[0].cumsum(0); },
                           {{integers({3, 4}, 1, 5)}, {integers({6}, 1, 5, kByte)}})));
  give(without_gradient(op("prod of integers", "x0.prod()", [](const Tensors& x) { return x[0].prod(); },
                           {{integers({3, 4}, 1, 5)}, {integers({6}, 1, 5, kByte)}})));
  give(without_gradient(op("max of integers", "x0.max()", [](const Tensors& x) { return x[0].max(); },
                           {{integers({3, 4}, 1, 5)}, {integers({6}, 1, 5, kByte)}})));
  give(without_gradient(op("mean as float64", "x0.mean(dtype=torch.float64)",
                           [](const Tensors& x) { return x[0].mean(kDouble); },
                           {{integers({3, 4}, 1, 5)}, {integers({6}, 1, 5, kByte)}})));
  give(op("sum of nothing", "x0.sum(1)", [](const Tensors& x) { return x[0].sum(1); }, {{real({3, 0})}}));
  return list;
}

}  // namespace tandem::testing
