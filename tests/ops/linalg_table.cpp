// Describes products of vectors and matrices.
#include "tandem/tests/ops/cases.h"
#include "tandem/tests/ops/operation_table.h"

namespace tandem::testing {
namespace {

std::vector<Operation> products() {
  return {
      {OPERATION(mm, T(CT, CT)),
       .examples = {{"mm",
                     "x0, x1",
                     {{real({3, 4}), real({4, 2})}, {real({0, 4}), real({4, 2})}, {real({3, 0}), real({0, 2})}}},
                    {"mm of integers",
                     "x0, x1",
                     {{integers({3, 4}, -5, 5), integers({4, 2}, -5, 5)},
                      {integers({3, 4}, 0, 5, kInt), integers({4, 2}, 0, 5, kInt)}},
                     false}}},
      {OPERATION(bmm, T(CT, CT)), .examples = {{"bmm", "x0, x1", {{real({2, 3, 4}), real({2, 4, 2})}}}}},
      {OPERATION(mv, T(CT, CT)), .examples = {{"mv", "x0, x1", {{real({3, 4}), real({4})}}}}},
      {OPERATION(dot, T(CT, CT)), .examples = {{"dot", "x0, x1", {{real({5}), real({5})}}}}},
      {OPERATION(vdot, T(CT, CT)), .examples = {{"vdot", "x0, x1", {{real({5}), real({5})}}}}},
      {OPERATION(outer, T(CT, CT)), .examples = {{"outer", "x0, x1", {{real({3}), real({4})}}}}},
      {OPERATION(inner, T(CT, CT)), .examples = {{"inner", "x0, x1", {{real({2, 3}), real({4, 3})}}}}},
      {OPERATION(matmul, T(CT, CT)), .examples = {{"matmul",
                                                   "x0, x1",
                                                   {{real({4}), real({4})},
                                                    {real({3, 4}), real({4})},
                                                    {real({4}), real({4, 2})},
                                                    {real({2, 3, 4}), real({4, 2})},
                                                    {real({2, 1, 3, 4}), real({5, 4, 2})},
                                                    {real({4}), real({2, 4, 3})},
                                                    {real({2, 3, 4}), real({4})}}}}},
      {OPERATION(matrix_power, T(CT, I)), .examples = {{"matrix_power", "x0, 3", {{real({3, 3})}}}}},
      {OPERATION(kron, T(CT, CT)), .examples = {{"kron", "x0, x1", {{real({2, 3}), real({2})}}}}},
      {OPERATION(cross, T(CT, CT, optional<I>)), .examples = {{"cross", "x0, x1, 1", {{real({2, 3}), real({2, 3})}}}}},
      {OPERATION(tensordot, T(CT, CT, Ints, Ints)), .torch = "lambda a, b, m, n: torch.tensordot(a, b, (m, n))",
       .examples = {{"tensordot", "x0, x1, [2, 0], [0, 1]", {{real({2, 3, 4}), real({4, 2, 2})}}}}},
      {OPERATION(einsum, T(std::string_view, TensorList)), .torch = "lambda e, x: torch.einsum(e, *x)"},
  };
}

std::vector<Operation> sums() {
  return {
      {OPERATION(addmm, T(CT, CT, CT, CS, CS)), WRITE(addmm, T(T, CT, CT, CS, CS)),
       .torch = "lambda x, a, b, p, q: torch.addmm(x, a, b, beta=p, alpha=q)",
       .examples = {{"addmm",
                     "x0, x1, x2, 0.5, 2",
                     {{real({3, 2}), real({3, 4}), real({4, 2})}, {real({2}), real({3, 4}), real({4, 2})}}}}},
      {OPERATION(baddbmm, T(CT, CT, CT, CS, CS)), WRITE(baddbmm, T(T, CT, CT, CS, CS)),
       .torch = "lambda x, a, b, p, q: torch.baddbmm(x, a, b, beta=p, alpha=q)",
       .examples = {{"baddbmm", "x0, x1, x2, 0.5, 2", {{real({2, 3, 2}), real({2, 3, 4}), real({2, 4, 2})}}}}},
      {OPERATION(addmv, T(CT, CT, CT, CS, CS)), WRITE(addmv, T(T, CT, CT, CS, CS)),
       .torch = "lambda x, a, b, p, q: torch.addmv(x, a, b, beta=p, alpha=q)",
       .examples = {{"addmv", "x0, x1, x2, 2, 0.5", {{real({2}), real({2, 3}), real({3})}}}}},
      {OPERATION(addr, T(CT, CT, CT, CS, CS)), WRITE(addr, T(T, CT, CT, CS, CS)),
       .torch = "lambda x, a, b, p, q: torch.addr(x, a, b, beta=p, alpha=q)",
       .examples = {{"addr", "x0, x1, x2, 2, 0.5", {{real({2, 3}), real({2}), real({3})}}}}},
      {OPERATION(linear, T(CT, CT, CT)), .torch = "F.linear",
       .examples = {{"linear",
                     "x0, x1, x2",
                     {{real({3, 4}), real({2, 4}), real({2})},
                      {real({2, 3, 4}), real({2, 4}), real({2})},
                      {real({4}), real({2, 4}), real({2})}}}}},
      {OPERATION(bilinear, T(CT, CT, CT, CT)), .torch = "F.bilinear",
       .examples = {{"bilinear", "x0, x1, x2, x3", {{real({2, 3}), real({2, 2}), real({4, 3, 2}), real({4})}}}}},
  };
}

}  // namespace

std::vector<Operation> linalg_operations() { return joined({products, sums}); }

}  // namespace tandem::testing
