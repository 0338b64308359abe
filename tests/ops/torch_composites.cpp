// Composites: elementwise functions, diagonals, joins, statistics, sorting, products.
#include "tandem/tests/ops/torch_table.h"

#define BOTH(f, ...)                                   \
  table.give<T(CT __VA_OPT__(, ) __VA_ARGS__)>(#f, f); \
  table.write<__VA_ARGS__>(#f "_", &T::f##_)
#define ONE(f) table.give<T(CT)>(#f, f)
#define TWO(f) table.give<T(CT, CT)>(#f, f)

namespace tandem::testing {
namespace {

void add_elementwise(Table& table) {
  table.write<CT, CT>("clamp_", &T::clamp_);
  BOTH(clamp_min, CT);
  BOTH(clamp_max, CT);
  TWO(prelu);
  table.give<T(CT, I)>("glu", glu);
}

void add_diagonals(Table& table) {
  table.give<T(CT, I)>("diag", diag);
  table.give<T(CT, I, I, I)>("diag_embed", diag_embed);
  table.give<T(CT, I)>("diagflat", diagflat);
  ONE(trace);
  table.write<CS, bool>("fill_diagonal_", &T::fill_diagonal_);
  table.give<T(CT, CT, I, I, I)>("diagonal_scatter", diagonal_scatter);
  table.give<T(CT, CT, I, I)>("select_scatter", select_scatter);
  table.give<T(CT, CT, I, optional<I>, optional<I>, I)>("slice_scatter", slice_scatter);
  table.add("tril_indices", std::type_identity<T(I, I, I)>(),
            [](I r, I c, I o) { return tril_indices(r, c, o); });
  table.add("triu_indices", std::type_identity<T(I, I, I)>(),
            [](I r, I c, I o) { return triu_indices(r, c, o); });
}

void add_joins(Table& table) {
  ONE(atleast_1d);
  ONE(atleast_2d);
  ONE(atleast_3d);
  table.give<T(TensorList)>("column_stack", column_stack);
  table.give<T(TensorList)>("dstack", dstack);
  table.give<T(TensorList)>("block_diag", block_diag);
  table.give<Tensors(TensorList)>("broadcast_tensors", broadcast_tensors);
  table.give<T(TensorList)>("cartesian_prod", cartesian_prod);
  table.give<T(CT, I, bool)>("combinations", combinations);
  table.give<Tensors(CT, I)>("hsplit", hsplit);
  table.give<Tensors(CT, Ints)>("hsplit", hsplit);
  table.give<Tensors(CT, I)>("vsplit", vsplit);
  table.give<Tensors(CT, Ints)>("vsplit", vsplit);
  table.give<Tensors(CT, I)>("dsplit", dsplit);
  table.give<Tensors(CT, Ints)>("dsplit", dsplit);
  table.give<T(CT, CT, CT)>("masked_scatter", masked_scatter);
  table.write<CT, CT>("masked_scatter_", &T::masked_scatter_);
  table.give<T(CT, I, CT, CT)>("index_fill", index_fill);
  table.write<I, CT, CT>("index_fill_", &T::index_fill_);
}

void add_statistics(Table& table) {
  using Type = optional<ScalarType>;
  table.give<T(CT, Ints, bool, Type)>("nanmean", nanmean);
  table.give<T(CT, I, I, CT, CT)>("diff", diff);
  table.give<T(CT, CT, CS)>("dist", dist);
  table.give<T(CT, I, CS, CS)>("histc", histc);
  table.give<T(CT, double, optional<I>, bool)>("quantile", quantile);
  table.give<T(CT, CT, optional<I>, bool)>("quantile", quantile);
  table.add("mode", std::type_identity<T(T, I, bool)>(),
            [](CT x, I dim, bool keep) { return std::get<0>(mode(x, dim, keep)); });
  table.give<T(CT, I)>("cov", cov);
  ONE(corrcoef);
  table.write<I, Type>("cumsum_", &T::cumsum_);
  table.write<I, Type>("cumprod_", &T::cumprod_);
  table.add("searchsorted", std::type_identity<T(T, T, bool, bool)>(),
            [](CT sorted, CT x, bool i32, bool right) { return searchsorted(sorted, x, i32, right); });
  table.give<T(CT, CT, bool, bool)>("bucketize", bucketize);
  table.give<T(CT, CT, bool, bool)>("isin", isin);
  using Three = std::tuple<T, T, T>;
  table.give<Three(CT, bool, bool, bool)>("_unique2", _unique2);
  table.give<Three(CT, I, bool, bool, bool)>("unique_dim", unique_dim);
  table.give<Three(CT, bool, bool, optional<I>)>("unique_consecutive", unique_consecutive);
}

void add_products(Table& table) {
  table.give<T(CT, CT, Ints, Ints)>("tensordot", tensordot);
  TWO(inner);
  TWO(kron);
  table.give<T(CT, CT, optional<I>)>("cross", cross);
  BOTH(addmv, CT, CT, CS, CS);
  BOTH(addr, CT, CT, CS, CS);
  table.write<CT, CT, CS, CS>("baddbmm_", &T::baddbmm_);
  table.give<T(CT, I)>("matrix_power", matrix_power);
  table.give<T(CT, CT, CT, CT)>("bilinear", bilinear);
}

}  // namespace

void add_composites(Table& table) {
  add_elementwise(table);
  add_diagonals(table);
  add_joins(table);
  add_statistics(table);
  add_products(table);
}

}  // namespace tandem::testing
