// Shapes and views.
#include "tandem/tests/ops/cases.h"

namespace tandem::testing {

std::vector<OpTest> view_cases() {
  std::vector<OpTest> list;
  const auto give = [&](OpTest test) { list.push_back(std::move(test)); };
  give(op("view", "x0.reshape(6, 4)",
          [](const Tensors& x) {
            return x[0].reshape({6, 4});
          },
          {{real({2, 3, 4})}}));
  give(op("reshape -1", "x0.reshape(-1)", [](const Tensors& x) { return x[0].reshape(-1); },
          {{real({2, 3, 4})}}));
  give(op("flatten", "x0.flatten(1)", [](const Tensors& x) { return x[0].flatten(1); }, {{real({2, 3, 4})}}));
  give(op("unflatten", "x0.unflatten(2, (2, 2))",
          [](const Tensors& x) {
            return x[0].unflatten(2, {2, 2});
          },
          {{real({2, 3, 4})}}));
  give(op("transpose", "x0.transpose(0, 2)", [](const Tensors& x) { return x[0].transpose(0, 2); },
          {{real({2, 3, 4})}}));
  give(op("permute", "x0.permute(2, 0, 1)",
          [](const Tensors& x) {
            return x[0].permute({2, 0, 1});
          },
          {{real({2, 3, 4})}}));
  give(op("movedim", "x0.movedim(0, 2)", [](const Tensors& x) { return x[0].movedim(0, 2); },
          {{real({2, 3, 4})}}));
  give(op("select", "x0.select(1, -1)", [](const Tensors& x) { return x[0].select(1, -1); },
          {{real({2, 3, 4})}}));
  give(op("slice", "x0[:, 1:, ::2]", [](const Tensors& x) { return x[0].slice(1, 1).slice(2, 0, 4, 2); },
          {{real({2, 3, 4})}}));
  give(op("narrow", "x0.narrow(2, 1, 2)", [](const Tensors& x) { return x[0].narrow(2, 1, 2); },
          {{real({2, 3, 4})}}));
  give(op("unsqueeze", "x0.unsqueeze(-1)", [](const Tensors& x) { return x[0].unsqueeze(-1); },
          {{real({2, 3, 4})}}));
  give(op("expand", "x0.unsqueeze(0).expand(3, 2, 3, 4)",
          [](const Tensors& x) {
            return x[0].unsqueeze(0).expand({3, 2, 3, 4});
          },
          {{real({2, 3, 4})}}));
  give(op("expand -1", "x0[:, :1].expand(-1, 5, -1)",
          [](const Tensors& x) {
            return x[0].slice(1, 0, 1).expand({-1, 5, -1});
          },
          {{real({2, 3, 4})}}));
  give(op("unfold", "x0.unfold(2, 2, 1)", [](const Tensors& x) { return x[0].unfold(2, 2, 1); },
          {{real({2, 3, 4})}}));
  give(op("diagonal", "x0.diagonal(1, 1, 2)", [](const Tensors& x) { return x[0].diagonal(1, 1, 2); },
          {{real({2, 3, 4})}}));
  give(op("chunk", "x0.chunk(3, 2)[1]", [](const Tensors& x) { return x[0].chunk(3, 2)[1]; },
          {{real({2, 3, 4})}}));
  give(op("unbind", "x0.unbind(1)[2]", [](const Tensors& x) { return x[0].unbind(1)[2]; },
          {{real({2, 3, 4})}}));
  give(op("repeat", "x0.repeat(2, 1, 2)",
          [](const Tensors& x) {
            return x[0].repeat({2, 1, 2});
          },
          {{real({2, 3, 4})}}));
  give(op("repeat_interleave", "x0.repeat_interleave(2, 1)",
          [](const Tensors& x) { return x[0].repeat_interleave(2, 1); }, {{real({2, 3, 4})}}));
  give(op("flip", "x0.flip(0, 2)", [](const Tensors& x) { return x[0].flip({0, 2}); }, {{real({2, 3, 4})}}));
  give(op("roll", "x0.roll(1, 2)", [](const Tensors& x) { return x[0].roll(1, 2); }, {{real({2, 3, 4})}}));
  give(op("roll all", "x0.roll(5)", [](const Tensors& x) { return x[0].roll(5); }, {{real({2, 3, 4})}}));
  give(op("tril", "x0.tril(1)", [](const Tensors& x) { return x[0].tril(1); }, {{real({2, 3, 4})}}));
  give(op("triu", "x0.triu(-1)", [](const Tensors& x) { return x[0].triu(-1); }, {{real({2, 3, 4})}}));
  give(op("contiguous", "x0.transpose(0, 1).contiguous()",
          [](const Tensors& x) { return x[0].transpose(0, 1).contiguous(); }, {{real({2, 3, 4})}}));
  give(op("clone", "x0.clone()", [](const Tensors& x) { return x[0].clone(); }, {{real({2, 3, 4})}}));
  give(op("to", "x0.double()", [](const Tensors& x) { return x[0].to(kDouble); }, {{real({2, 3, 4})}}));
  give(op("squeeze", "x0.squeeze()", [](const Tensors& x) { return x[0].squeeze(); }, {{real({1, 3, 1})}}));
  give(op("squeeze 0", "x0.squeeze(0)", [](const Tensors& x) { return x[0].squeeze(0); },
          {{real({1, 3, 1})}}));
  give(op("t", "x0.t()", [](const Tensors& x) { return x[0].t(); }, {{real({2, 3})}, {real({3})}}));
  give(op("cat", "torch.cat([x0, x1], 1)",
          [](const Tensors& x) {
            return cat({x[0], x[1]}, 1);
          },
          {{real({2, 3}), real({2, 1})}, {real({2, 0}), real({2, 2})}}));
  give(op("stack", "torch.stack([x0, x1], 1)",
          [](const Tensors& x) {
            return stack({x[0], x[1]}, 1);
          },
          {{real({2, 3}), real({2, 3})}, {real({4}), real({4})}}));
  give({.name = "split",
        .torch = "x0.split([1, 3, 2], 1)",
        .fn =
            [](const Tensors& x) {
              return x[0].split({1, 3, 2}, 1);
            },
        .cases = {{real({2, 6})}}});
  give({.name = "write through views",
        .torch = "writes(x0, x1)",
        .fn =
            [](const Tensors& x) {
              Tensor y = x[0] * 1;
              y.select(0, 1).mul_(x[1]);
              y.transpose(0, 1).slice(0, 1, 3).add_(x[1].sum());
              y[0].copy_(x[1] * 2);
              return Tensors{y * y};
            },
        .cases = {{real({3, 4}), real({4})}}});
  return list;
}

}  // namespace tandem::testing
