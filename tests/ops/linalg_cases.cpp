// Matrix products.
#include "tandem/tests/ops/cases.h"

namespace tandem::testing {

std::vector<OpTest> linalg_cases() {
  std::vector<OpTest> list;
  const auto give = [&](OpTest test) { list.push_back(std::move(test)); };
  give(op("mm", "torch.mm(x0, x1)", [](const Tensors& x) { return mm(x[0], x[1]); },
          {{real({3, 4}), real({4, 2})}, {real({0, 4}), real({4, 2})}, {real({3, 0}), real({0, 2})}}));
  give(op("bmm", "torch.bmm(x0, x1)", [](const Tensors& x) { return bmm(x[0], x[1]); },
          {{real({2, 3, 4}), real({2, 4, 2})}}));
  give(op("mv", "torch.mv(x0, x1)", [](const Tensors& x) { return mv(x[0], x[1]); },
          {{real({3, 4}), real({4})}}));
  give(op("dot", "torch.dot(x0, x1)", [](const Tensors& x) { return dot(x[0], x[1]); },
          {{real({5}), real({5})}}));
  give(op("outer", "torch.outer(x0, x1)", [](const Tensors& x) { return outer(x[0], x[1]); },
          {{real({3}), real({4})}}));
  give(op("addmm", "torch.addmm(x0, x1, x2, beta=0.5, alpha=2)",
          [](const Tensors& x) { return addmm(x[0], x[1], x[2], 0.5, 2); },
          {{real({3, 2}), real({3, 4}), real({4, 2})}, {real({2}), real({3, 4}), real({4, 2})}}));
  give(op("matmul", "torch.matmul(x0, x1)", [](const Tensors& x) { return matmul(x[0], x[1]); },
          {{real({4}), real({4})},
           {real({3, 4}), real({4})},
           {real({4}), real({4, 2})},
           {real({2, 3, 4}), real({4, 2})},
           {real({2, 1, 3, 4}), real({5, 4, 2})},
           {real({4}), real({2, 4, 3})},
           {real({2, 3, 4}), real({4})}}));
  give(op("linear", "F.linear(x0, x1, x2)", [](const Tensors& x) { return linear(x[0], x[1], x[2]); },
          {{real({3, 4}), real({2, 4}), real({2})},
           {real({2, 3, 4}), real({2, 4}), real({2})},
           {real({4}), real({2, 4}), real({2})}}));
  give(op("baddbmm", "torch.baddbmm(x0, x1, x2, beta=0.5, alpha=2)",
          [](const Tensors& x) { return baddbmm(x[0], x[1], x[2], 0.5, 2); },
          {{real({2, 3, 2}), real({2, 3, 4}), real({2, 4, 2})}}));
  give(without_gradient(op("mm of integers", "torch.mm(x0, x1)",
                           [](const Tensors& x) { return mm(x[0], x[1]); },
                           {{integers({3, 4}, -5, 5), integers({4, 2}, -5, 5)},
                            {integers({3, 4}, 0, 5, kInt), integers({4, 2}, 0, 5, kInt)}})));
  return list;
}

}  // namespace tandem::testing
