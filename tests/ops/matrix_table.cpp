// Describes norms, products and functions of matrices.
#include "tandem/tests/ops/cases.h"
#include "tandem/tests/ops/operation_table.h"

namespace tandem::testing {
namespace {

using sv = std::string_view;
using MaybeInts = optional<IntArrayRef>;

std::vector<Operation> norms() {
  return {
      {OPERATION(linalg_vector_norm, T(CT, CS, MaybeInts, bool, MaybeType)),
       .torch = "lambda x, p, d, k, t: torch.linalg.vector_norm(x, p, d, k, dtype=t)",
       .examples = {{"linalg_vector_norm", "x0, 3, [-1], True, None", {{real({3, 4})}, {real({2, 3, 4})}}},
                    {"linalg_vector_norm all", "x0, 2, None, False, None", {{real({3, 4})}}}}},
      // PyTorch's has no gradient.
      {OPERATION(linalg__powsum, T(CT, CS, MaybeInts, bool, MaybeType)),
       .torch = "lambda x, p, d, k, t: torch.linalg._powsum(x, p, d, k, dtype=t)",
       .tests = {op("linalg__powsum", "x0.abs().pow(3).sum(-1, keepdim=True)",
                    [](const Tensors& x) { return linalg__powsum(x[0], 3, IntArrayRef{-1}, true); },
                    {{real({3, 4})}, {real({2, 3, 4})}, {real({2, 0})}}),
                 op("linalg__powsum all", "x0.abs().pow(2).sum()",
                    [](const Tensors& x) { return linalg__powsum(x[0]); }, {{real({3, 4})}, {real({})}}),
                 without_gradient(op("linalg__powsum 0", "torch.linalg._powsum(x0, 0, [1])",
                                     [](const Tensors& x) { return linalg__powsum(x[0].detach(), 0, IntArrayRef{1}); },
                                     {{real({3, 4})}}))}},
      {OPERATION(linalg_matrix_norm, T(CT, CS, Ints, bool, MaybeType), T(CT, sv, Ints, bool, MaybeType)),
       .torch = "lambda x, p, d, k, t: torch.linalg.matrix_norm(x, p, d, k, dtype=t)",
       .examples =
           {{"linalg_matrix_norm 1", "x0, 1, [-2, -1], False, None", {{distinct({3, 4})}, {distinct({2, 3, 4})}}},
            {"linalg_matrix_norm 2", "x0, 2, [0, 2], True, None", {{real({3, 2, 4})}}},
            {"linalg_matrix_norm -2", "x0, -2, [2, 0], False, None", {{real({3, 2, 4})}}},
            {"linalg_matrix_norm -1", "x0, -1, [1, 0], True, None", {{distinct({3, 4})}, {distinct({3, 2, 4})}}},
            {"linalg_matrix_norm fro", "x0, 'fro', [-2, -1], False, None", {{real({2, 3, 4})}}},
            {"linalg_matrix_norm nuc", "x0, 'nuc', [0, -1], True, None", {{real({3, 2, 4})}}}}},
      {OPERATION(linalg_norm, T(CT, const optional<Scalar>&, MaybeInts, bool, MaybeType),
                 T(CT, sv, MaybeInts, bool, MaybeType)),
       .torch = "lambda x, p, d, k, t: torch.linalg.norm(x, p, d, k, dtype=t)",
       .examples = {{"linalg_norm", "x0, None, None, False, None", {{real({2, 3, 4})}}},
                    {"linalg_norm matrix", "x0, 2, None, False, None", {{real({3, 4})}}},
                    {"linalg_norm vector", "x0, 1.5, [1], True, None", {{real({2, 3, 4})}}},
                    {"linalg_norm nuc", "x0, 'nuc', None, False, None", {{real({3, 4})}}}}},
      {OPERATION(nuclear_norm, T(CT, bool), T(CT, Ints, bool)), .torch = "torch._C._VariableFunctions.nuclear_norm",
       .examples = {{"nuclear_norm", "x0, True", {{real({3, 4})}}},
                    {"nuclear_norm dim", "x0, [0, 2], False", {{real({3, 2, 4})}}}}},
      {OPERATION(frobenius_norm, T(CT, Ints, bool)), .torch = "torch._C._VariableFunctions.frobenius_norm",
       .examples = {{"frobenius_norm", "x0, [0, 2], False", {{real({3, 2, 4})}}}}},
  };
}

std::vector<Operation> products() {
  return {
      {OPERATION(linalg_matrix_exp, T(CT)), .torch = "torch.linalg.matrix_exp",
       .tests = {{.name = "linalg_matrix_exp",
                  .torch = "torch.linalg.matrix_exp(x0)",
                  .fn = [](const Tensors& x) { return Tensors{linalg_matrix_exp(x[0])}; },
                  .cases = {{real({3, 3})}, {real({2, 2, 2}, -6, 6)}, {real({0, 2, 2})}, {real({2, 0, 0})}},
                  .tolerance32 = 1e-4,
                  .tolerance64 = 1e-10}}},
      {OPERATION(linalg_multi_dot, T(TensorList)), .torch = "torch.linalg.multi_dot",
       .examples = {{"linalg_multi_dot",
                     "[x0, x1, x2, x3]",
                     {{real({3}), real({3, 4}), real({4, 2}), real({2})},
                      {real({5, 3}), real({3, 4}), real({4, 2}), real({2, 6})}}}}},
      {OPERATION(linalg_vecdot, T(CT, CT, I)), .torch = "lambda x, y, d: torch.linalg.vecdot(x, y, dim=d)",
       .examples = {{"linalg_vecdot", "x0, x1, 0", {{real({3, 1}), real({3, 4})}}}}},
      {OPERATION(linalg_cross, T(CT, CT, I)), .torch = "lambda x, y, d: torch.linalg.cross(x, y, dim=d)",
       .examples = {{"linalg_cross", "x0, x1, -1", {{real({2, 3}), real({1, 3})}}}}},
      {OPERATION(linalg_vander, T(CT, optional<I>)), .torch = "lambda x, n: torch.linalg.vander(x, N=n)",
       .examples = {{"linalg_vander", "x0, 4", {{real({2, 3})}, {real({3})}}}}},
      {OPERATION(vander, T(CT, optional<I>, bool)),
       // PyTorch's own gradient of vander() fails.
       .torch = "lambda x, n, up: (lambda v: v if up else v.flip(-1))(torch.linalg.vander(x, N=n))",
       .examples = {{"vander", "x0, None, False", {{real({4})}}}, {"vander increasing", "x0, 3, True", {{real({4})}}}}},
      {OPERATION(linalg_tensorinv, T(CT, I)), .torch = "lambda x, i: torch.linalg.tensorinv(x, ind=i)",
       .examples = {{"linalg_tensorinv", "x0, 1", {{real({4, 2, 2})}}}}},
      {OPERATION(linalg_tensorsolve, T(CT, CT, MaybeInts)), .torch = "torch.linalg.tensorsolve",
       .examples = {{"linalg_tensorsolve", "x0, x1, [0]", {{real({2, 4, 2}), real({4})}}}}},
  };
}

}  // namespace

std::vector<Operation> matrix_operations() { return joined({norms, products}); }

}  // namespace tandem::testing
