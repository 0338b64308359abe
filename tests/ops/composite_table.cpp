// Describes diagonals, joins, statistics, and searching.
#include "tandem/tests/ops/cases.h"
#include "tandem/tests/ops/operation_table.h"

namespace tandem::testing {
namespace {

using Three = std::tuple<T, T, T>;

std::vector<Operation> diagonals() {
  return {
      {OPERATION(diag, T(CT, I)), .examples = {{"diag", "x0, 1", {{real({4})}}}}},
      {OPERATION(diag_embed, T(CT, I, I, I)), .examples = {{"diag_embed", "x0, -1, -2, -1", {{real({2, 3})}}}}},
      {OPERATION(diagflat, T(CT, I))},
      {OPERATION(trace, T(CT)), .examples = {{"trace", "x0", {{real({3, 4})}}}}},
      {.name = "fill_diagonal", WRITE(fill_diagonal, T(T, CS, bool))},
      {OPERATION(diagonal_scatter, T(CT, CT, I, I, I)),
       .examples = {{"diagonal_scatter", "x0, x1, 1, 0, 1", {{real({3, 4}), real({3})}}}}},
      {OPERATION(select_scatter, T(CT, CT, I, I)),
       .examples = {{"select_scatter", "x0, x1, 1, 2", {{real({3, 4}), real({3})}}}}},
      {OPERATION(slice_scatter, T(CT, CT, I, optional<I>, optional<I>, I)),
       .examples = {{"slice_scatter", "x0, x1, 1, 0, 4, 2", {{real({3, 4}), real({3, 2})}}}}},
      {OPERATION(tril_indices, T(I, I, I))},
      {OPERATION(triu_indices, T(I, I, I))},
  };
}

std::vector<Operation> joins() {
  return {
      {OPERATION(atleast_1d, T(CT))},
      {OPERATION(atleast_2d, T(CT))},
      {OPERATION(atleast_3d, T(CT))},
      {OPERATION(column_stack, T(TensorList)), .examples = {{"column_stack", "[x0, x1]", {{real({3}), real({3, 2})}}}}},
      {OPERATION(dstack, T(TensorList)), .examples = {{"dstack", "[x0, x1]", {{real({3}), real({3})}}}}},
      {OPERATION(block_diag, T(TensorList)), .torch = "lambda x: torch.block_diag(*x)",
       .examples = {{"block_diag", "[x0, x1]", {{real({2, 3}), real({2})}}}}},
      {OPERATION(broadcast_tensors, Tensors(TensorList)), .torch = "lambda x: torch.broadcast_tensors(*x)"},
      {OPERATION(cartesian_prod, T(TensorList)), .torch = "lambda x: torch.cartesian_prod(*x)",
       .examples = {{"cartesian_prod", "[x0, x1]", {{real({2}), real({3})}}}}},
      {OPERATION(combinations, T(CT, I, bool)), .examples = {{"combinations", "x0, 2, False", {{real({4})}}}}},
      {OPERATION(hsplit, Tensors(CT, I), Tensors(CT, Ints))},
      {OPERATION(vsplit, Tensors(CT, I), Tensors(CT, Ints))},
      {OPERATION(dsplit, Tensors(CT, I), Tensors(CT, Ints))},
  };
}

std::vector<Operation> statistics() {
  return {
      {OPERATION(nanmean, T(CT, Ints, bool, MaybeType)),
       .torch = "lambda x, n, keep, t: torch.nanmean(x, n or None, keep, dtype=t)",
       .examples = {{"nanmean", "x0, [1], False, None", {{real({2, 5})}}}}},
      {OPERATION(diff, T(CT, I, I, CT, CT)), .torch = "lambda x, k, n, a, b: torch.diff(x, k, n, prepend=a, append=b)",
       .examples = {{"diff", "x0, 2, 1, None, None", {{real({2, 5})}}}}},
      {OPERATION(dist, T(CT, CT, CS)), .examples = {{"dist", "x0, x1, 2", {{real({2, 3}), real({3}, 2, 3)}}}}},
      {OPERATION(histc, T(CT, I, CS, CS))},
      {OPERATION(quantile, T(CT, double, optional<I>, bool), T(CT, CT, optional<I>, bool)),
       .examples = {{"quantile", "x0, 0.3, 1, False", {{distinct({2, 5})}}}}},
      {.name = "mode",
       .overloads =
           [](Table& table, const std::string& name) {
             give<T(CT, I, bool)>(table, name, [](CT x, I dim, bool keep) { return std::get<0>(mode(x, dim, keep)); });
           },
       .torch = "lambda x, n, keep: torch.mode(x, n, keep)[0]",
       .examples = {{"mode", "x0, 1, False", {{distinct({2, 5})}}}}},
      {OPERATION(cov, T(CT, I)), .torch = "lambda x, c: torch.cov(x, correction=c)",
       .examples = {{"cov", "x0, 1", {{real({3, 5})}}}}},
      {OPERATION(corrcoef, T(CT))},
  };
}

std::vector<Operation> searches() {
  return {
      {OPERATION(searchsorted, T(CT, CT, bool, bool)),
       .torch = "lambda s, x, i, r: torch.searchsorted(s, x, out_int32=i, right=r)"},
      {OPERATION(bucketize, T(CT, CT, bool, bool)),
       .torch = "lambda x, s, i, r: torch.bucketize(x, s, out_int32=i, right=r)"},
      {OPERATION(isin, T(CT, CT, bool, bool)),
       .torch = "lambda x, y, u, i: torch.isin(x, y, assume_unique=u, invert=i)"},
      {OPERATION(_unique, std::tuple<T, T>(CT, bool, bool)), .torch = "lambda x, s, i: torch.unique(x, s, i)",
       .examples = {{"_unique", "x0, True, True", {{integers({3, 4}, 0, 5)}}, false}}},
      {OPERATION(_unique2, Three(CT, bool, bool, bool))},
      {OPERATION(unique_dim, Three(CT, I, bool, bool, bool))},
      {OPERATION(unique_consecutive, Three(CT, bool, bool, optional<I>))},
  };
}

}  // namespace

std::vector<Operation> composite_operations() { return joined({diagonals, joins, statistics, searches}); }

}  // namespace tandem::testing
